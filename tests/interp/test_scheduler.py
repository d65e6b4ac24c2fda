"""The order of program instances, waiting, deadlock, and what leaves a launch."""

import contextvars
import itertools
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest

from blockstep.interp.scheduler import Deadlock, Scheduler, program_order

Program = tuple[int, int, int]


class Machine:
    """A memory of integers whose accesses tell the scheduler what a real machine would."""

    def __init__(self, grid: Program, words: int = 8, **how: object) -> None:
        self.scheduler = Scheduler(grid, **how)  # type: ignore[arg-type]
        self.memory = [0] * words
        self.trace: list[Program] = []

    @property
    def pid(self) -> int:
        return self.scheduler.program[0]

    def run(self, kernel: Callable[["Machine"], None]) -> None:
        def instance(program: Program) -> None:
            self.trace.append(program)
            kernel(self)

        self.scheduler.run(instance)

    def _site(self) -> object:
        frame = sys._getframe(2)
        return frame.f_code, frame.f_lasti

    def _atomic(self, at: int, new: int, site: object, op: str, operands: object) -> int:
        old = self.memory[at]
        self.memory[at] = new
        self.scheduler.note_event(site, old != new, (at, old, operands), op, at)
        return old

    def cas(self, at: int, compare: int, value: int) -> int:
        old = self.memory[at]
        new = value if old == compare else old
        return self._atomic(at, new, self._site(), "atomic_cas", (compare, value))

    def add(self, at: int, value: int) -> int:
        return self._atomic(at, self.memory[at] + value, self._site(), "atomic_add", value)

    def xchg(self, at: int, value: int) -> int:
        return self._atomic(at, value, self._site(), "atomic_xchg", value)

    def load(self, at: int) -> int:
        value = self.memory[at]
        self.scheduler.note_load(self._site(), lambda: (at, value), "load", at)
        return value

    def volatile(self, at: int) -> int:
        value = self.memory[at]
        self.scheduler.note_event(self._site(), False, (at, value), "load", at)
        return value

    def store(self, at: int, value: int) -> None:
        if not self.scheduler.precise or self.memory[at] != value:
            self.scheduler.changed()
        self.memory[at] = value


# The order.


def test_seed_0_runs_the_ids_in_order_and_x_fastest() -> None:
    machine = Machine((2, 2, 2))
    machine.run(lambda m: None)
    assert machine.trace == [p[::-1] for p in itertools.product(range(2), repeat=3)]


def test_seed_1_is_the_reverse_and_other_seeds_differ() -> None:
    orders = [tuple(program_order(30, seed).tolist()) for seed in range(20)]
    assert orders[1] == orders[0][::-1]
    assert len(set(orders)) == 20


@pytest.mark.parametrize("count", [1, 2, 3, 17, 64, 1000, 65536, 65537, 100_003])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 2**40])
def test_every_seed_is_a_permutation(count: int, seed: int) -> None:
    assert (np.sort(program_order(count, seed)) == np.arange(count)).all()


def test_a_permuted_launch_runs_each_instance_once() -> None:
    machine = Machine((30, 20, 2), seed=5)
    machine.run(lambda m: None)
    assert len(machine.trace) == 1200
    assert set(machine.trace) == set(itertools.product(range(30), range(20), range(2)))


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_a_huge_grid_is_never_listed(seed: int) -> None:
    began = time.perf_counter()
    machine = Machine((2**31 - 1, 65535, 65535), seed=seed, limit=3)
    machine.run(lambda m: None)
    assert len(set(machine.trace)) == 3
    assert time.perf_counter() - began < 1


def test_the_order_of_a_part_is_a_part_of_the_order() -> None:
    whole = program_order(100_000, 9)
    assert (program_order(100_000, 9, 777, 1000) == whole[777:1000]).all()


def test_only_the_chosen_instances_run() -> None:
    machine = Machine((2**21 + 1, 1, 1), only=[(2097152, 0, 0), (0, 0, 0), (0, 0, 0)])
    machine.run(lambda m: None)
    assert machine.trace == [(0, 0, 0), (2097152, 0, 0)]
    assert machine.scheduler.total == 2


def test_a_chosen_instance_outside_the_grid_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\(4, 0, 0\) is outside grid \(4, 1, 1\)"):
        Machine((4, 1, 1), only=[(4, 0, 0)])


def test_an_empty_choice_runs_nothing() -> None:
    machine = Machine((4, 1, 1), only=[])
    machine.run(lambda m: None)
    assert machine.trace == []


# Waiting.

SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_spin_lock_lets_everyone_through(seed: int) -> None:
    def kernel(m: Machine) -> None:
        while m.cas(0, 0, 1) == 1:
            pass
        value = m.load(1)
        m.add(2, 0)  # gives others no chance: it does not repeat
        m.store(1, value + 1)
        m.xchg(0, 0)

    machine = Machine((16, 1, 1), seed=seed)
    machine.run(kernel)
    assert machine.memory[:2] == [0, 16]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_lock_held_by_a_waiting_instance_is_waited_for(seed: int) -> None:
    def kernel(m: Machine) -> None:
        while m.cas(0, 0, 1) == 1:
            pass
        m.add(1, 1)
        while m.pid == 0 and m.volatile(2) < 4:  # the holder waits until all others have come
            pass
        m.xchg(0, 0)

    def outer(m: Machine) -> None:
        m.add(2, 1)
        kernel(m)

    machine = Machine((4, 1, 1), seed=seed)
    machine.run(outer)
    assert machine.memory[:3] == [0, 4, 4]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ticket_lock_serves_in_order_of_tickets(seed: int) -> None:
    served: list[int] = []

    def kernel(m: Machine) -> None:
        ticket = m.add(0, 1)
        while m.volatile(1) != m.memory[3] - ticket:
            pass
        served.append(ticket)
        m.add(1, 1)

    machine = Machine((8, 1, 1), seed=seed)
    machine.memory[3] = 7  # the last ticket is served first
    machine.run(kernel)
    assert served == list(range(8))[::-1]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("spin", ["cas", "add", "xchg", "volatile", "load"])
def test_a_handshake_where_program_0_waits_for_program_1(seed: int, spin: str) -> None:
    read: dict[str, Callable[[Machine], int]] = {
        "cas": lambda m: m.cas(0, 5, 5),
        "add": lambda m: m.add(0, 0),
        "xchg": lambda m: m.xchg(0, m.memory[0]),
        "volatile": lambda m: m.volatile(0),
        "load": lambda m: m.load(0),
    }

    def kernel(m: Machine) -> None:
        if m.pid == 0:
            while read[spin](m) == 0:
                pass
            m.store(1, m.load(2) + 1)
        elif m.pid == 1:
            m.store(2, 41)
            m.xchg(0, 1)

    machine = Machine((3, 1, 1), seed=seed)
    machine.run(kernel)
    assert machine.memory[1] == 42


@pytest.mark.parametrize("seed", SEEDS)
def test_ping_pong_where_each_waits_for_the_other(seed: int) -> None:
    def kernel(m: Machine) -> None:
        for turn in range(5):
            while m.add(0, 0) != 2 * turn + m.pid:
                pass
            m.add(0, 1)

    machine = Machine((2, 1, 1), seed=seed)
    machine.run(kernel)
    assert machine.memory[0] == 10


@pytest.mark.parametrize("seed", SEEDS)
def test_a_grid_barrier_of_64_instances_three_times(seed: int) -> None:
    def kernel(m: Machine) -> None:
        for turn in range(3):
            m.add(1 + turn, 1)
            m.add(0, 1)
            while m.cas(0, -1, -1) < 64 * (turn + 1):
                pass
            assert m.memory[1 + turn] == 64

    machine = Machine((64, 1, 1), seed=seed)
    machine.run(kernel)
    assert machine.memory[:4] == [192, 64, 64, 64]


def test_5000_instances_can_wait_at_once() -> None:
    def kernel(m: Machine) -> None:
        m.add(0, 1)
        while m.volatile(0) < 5000:
            pass

    machine = Machine((5000, 1, 1))
    machine.run(kernel)
    assert machine.memory[0] == 5000


def test_a_spin_on_a_plain_load_that_counts_its_turns_ends() -> None:
    def kernel(m: Machine) -> None:
        turns = 0
        while m.pid == 0 and m.load(0) == 0:
            turns += 1
        m.store(0, 1)

    Machine((2, 1, 1)).run(kernel)


def test_loading_the_same_value_in_a_loop_is_not_waiting() -> None:
    def kernel(m: Machine) -> None:
        total = 0
        for _step in range(2000):
            total += m.load(0)

    machine = Machine((4, 1, 1))
    machine.run(kernel)
    assert machine.trace == [(p, 0, 0) for p in range(4)]


def test_a_spin_that_writes_each_turn_gives_way_too() -> None:
    def kernel(m: Machine) -> None:
        while m.pid == 0:  # take one lock, fail at the other, give the first back
            m.cas(0, 0, 1)
            if m.cas(1, 1, 2) == 1:
                break
            m.xchg(0, 0)
        while m.pid == 1 and m.load(1) == 0:
            m.add(2, 1)
        if m.pid == 2:
            m.store(1, 1)

    machine = Machine((3, 1, 1))
    machine.run(kernel)
    assert machine.memory[1] == 2


def test_a_spin_that_stores_the_same_each_turn_ends() -> None:
    def kernel(m: Machine) -> None:
        while m.pid == 0 and m.load(0) == 0:
            m.store(1, 7)
        m.store(0, 1)

    Machine((2, 1, 1)).run(kernel)


def test_who_waits_keeps_its_program_and_context() -> None:
    variable = contextvars.ContextVar("variable", default="outside")

    def kernel(m: Machine) -> None:
        mine = m.scheduler.program
        assert variable.get() == "launch"
        m.add(0, 1)
        while m.volatile(0) < 3:
            pass
        assert m.scheduler.program == mine

    variable.set("launch")
    Machine((3, 1, 1)).run(kernel)


# Deadlock.


def test_two_that_wait_for_each_other_are_a_deadlock_with_who_waits_for_what() -> None:
    def kernel(m: Machine) -> None:
        while m.volatile(1 - m.pid) == 0:
            pass
        m.store(m.pid, 1)

    with pytest.raises(Deadlock) as caught:
        Machine((2, 1, 1)).run(kernel)
    assert caught.value.certain
    assert [(w.program, w.op, w.address) for w in caught.value.waiting] == [
        ((0, 0, 0), "load", 1),
        ((1, 0, 0), "load", 0),
    ]


def test_one_instance_alone_that_never_gets_its_lock_is_a_deadlock() -> None:
    def kernel(m: Machine) -> None:
        while m.cas(0, 1, 0) == 0:
            pass

    with pytest.raises(Deadlock) as caught:
        Machine((1, 1, 1)).run(kernel)
    assert caught.value.certain


def test_a_plain_load_that_nobody_answers_is_a_deadlock() -> None:
    def kernel(m: Machine) -> None:
        while m.load(0) == 0:
            pass

    with pytest.raises(Deadlock, match=r"waits: \(0, 0, 0\), \(1, 0, 0\)"):
        Machine((2, 1, 1)).run(kernel)


def test_a_barrier_that_one_instance_never_reaches_is_a_deadlock_of_the_others() -> None:
    def kernel(m: Machine) -> None:
        if m.pid == 2:
            return
        m.add(0, 1)
        while m.volatile(0) < 5:
            pass

    with pytest.raises(Deadlock) as caught:
        Machine((5, 1, 1), seed=4).run(kernel)
    assert [w.program[0] for w in caught.value.waiting] == [0, 1, 3, 4]


def test_a_spin_that_gives_up_by_itself_is_not_a_deadlock() -> None:
    def kernel(m: Machine) -> None:
        for _turn in range(500):
            if m.volatile(0) == 1:
                return
        m.store(1 + m.pid, 1)

    machine = Machine((2, 1, 1))
    machine.run(kernel)
    assert machine.memory[1:3] == [1, 1]


def test_a_spin_that_counts_for_ever_is_given_up() -> None:
    def kernel(m: Machine) -> None:
        turns = 0
        while m.volatile(0) == 0:
            turns += 1

    with pytest.raises(Deadlock) as caught:
        Machine((2, 1, 1)).run(kernel)
    assert not caught.value.certain


def test_a_deadlock_is_raised_inside_a_kernel_that_waits() -> None:
    def kernel(m: Machine) -> None:
        while m.volatile(0) == 0:
            pass

    with pytest.raises(Deadlock) as caught:
        Machine((3, 1, 1)).run(kernel)
    assert "kernel" in [entry.name for entry in caught.traceback]


# Exceptions.


@pytest.mark.parametrize("bad", range(4))
def test_an_exception_leaves_as_itself_and_names_its_instance(bad: int) -> None:
    error = LookupError("mine")
    ended: list[int] = []

    def kernel(m: Machine) -> None:
        pid = m.pid
        try:
            m.add(0, 1)
            while m.volatile(0) < 4:
                pass
            if pid == bad:
                raise error
            while m.volatile(1) == 0:
                pass
        finally:
            ended.append(pid)

    machine = Machine((4, 1, 1))
    with pytest.raises(LookupError) as caught:
        machine.run(kernel)
    assert caught.value is error
    assert error.__context__ is None
    assert machine.scheduler.program == (bad, 0, 0)
    assert sorted(ended) == [0, 1, 2, 3]  # no stack is left behind
    assert caught.traceback[-1].name == "kernel"


def test_an_exception_before_anyone_waited_stops_the_launch() -> None:
    def kernel(m: Machine) -> None:
        if m.pid == 2:
            raise ZeroDivisionError

    machine = Machine((9, 1, 1))
    with pytest.raises(ZeroDivisionError):
        machine.run(kernel)
    assert machine.trace[-1] == (2, 0, 0)


@pytest.mark.parametrize("waiting", [False, True])
def test_control_c_interrupts_a_long_launch_in_the_kernel(waiting: bool) -> None:
    def kernel(m: Machine) -> None:
        while waiting and m.pid == 0 and m.volatile(0) == 0:
            pass
        for _step in range(1000):
            m.add(1, 1)

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            Machine((10**6, 1, 1)).run(kernel)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_instance_that_never_waits_costs_about_a_microsecond() -> None:
    scheduler = Scheduler((100_000, 1, 1))
    began = time.perf_counter()
    scheduler.run(lambda program: None)
    assert time.perf_counter() - began < 0.5  # 5 us each, for slow machines
