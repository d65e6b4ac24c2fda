"""`Run`: the launch once, in a thread of its own that waits wherever the session stands.

The thread has a copy of the context. Whoever asks for `go` waits until the kernel stops or is over;
Ctrl-C there only asks the kernel to stop at its line.
"""

from __future__ import annotations

import contextvars
import queue
import sys
import threading
from collections.abc import Callable

from blockstep import diagnostics, target
from blockstep.debugger.history import History
from blockstep.debugger.moments import Moment
from blockstep.debugger.points import Points
from blockstep.debugger.recording import Recorder
from blockstep.findings import Event, Finding
from blockstep.interp.checkers import checkers_for
from blockstep.interp.followed import FollowedMachine
from blockstep.interp.grid.checks import UNJUDGED
from blockstep.interp.grid.plan import Refused
from blockstep.interp.marks import KIND_OF
from blockstep.interp.scheduler import Program, Scheduler
from blockstep.options import Options
from blockstep.runtime import execution, gridded, session
from blockstep.runtime.ladder.launch import Launch

_PATIENCE = (
    0.25  # seconds between two looks whether somebody pressed Ctrl-C, where waiting ignores it
)


class Abandoned(BaseException):
    """Ends a kernel that nobody wants to go on with."""


class Run:
    """One run, from the instance `first` on (None: from the beginning). Those before it run first, not
    recorded, on the grid machine where it takes the launch. `wants` says at which moments to stop."""

    def __init__(
        self, launch: Launch, seed: int, first: Program | None, judged: bool, history: History,
        points: Points, wants: Callable[[Moment], bool],
    ) -> None:  # fmt: skip
        self.launch, self.seed, self.first, self.judged = launch, seed, first, judged
        self.history = history
        self.recorder = Recorder(history, points, self._arrive, wants)
        self.findings: list[Finding] = []
        self.error: BaseException | None = None
        self.over = False
        self.because = ""  # why the instances before did not run on the grid machine
        self.before: tuple[Program, ...] = ()
        self._events: queue.SimpleQueue[Moment | None] = queue.SimpleQueue()
        self._orders: queue.SimpleQueue[bool] = queue.SimpleQueue()  # True: go on; False: end
        self._thread: threading.Thread | None = None

    def go(self) -> Moment | None:
        """Lets the kernel run until it stops: the moment, or None at the end of the launch."""
        if self._thread is None:
            context = contextvars.copy_context()
            self._thread = threading.Thread(
                target=context.run, args=(self._run,), name="blockstep kernel", daemon=True
            )
            self._thread.start()
        else:
            self._orders.put(True)
        return self._wait()

    def _wait(self) -> Moment | None:
        while True:
            try:
                return self._events.get(timeout=_PATIENCE)
            except queue.Empty:
                continue
            except KeyboardInterrupt:
                self.interrupt()

    def interrupt(self) -> None:
        """Asks the kernel to stop at its line. May be called from any thread."""
        self.recorder.interrupted = True

    def close(self) -> None:
        """Ends the kernel where it stands, if it has not ended."""
        thread = self._thread
        if thread is not None and thread.is_alive() and not self.over:
            self._orders.put(False)
            thread.join()

    # In the thread of the kernel.

    def _arrive(self, moment: Moment) -> None:
        self._events.put(moment)
        if not self._orders.get():
            raise Abandoned

    def _run(self) -> None:
        try:
            only = self._before()
            self._execute(only)
        except Abandoned:
            return
        except BaseException as error:  # noqa: BLE001  (told to whoever waits)
            self.error = error
        finally:
            sys.settrace(None)
            self.over = True
            self._events.put(None)

    def _before(self) -> list[Program] | None:
        """Runs what comes before the first instance; the instances that are left (None: all)."""
        if self.first is None:
            return None
        every = list(Scheduler(self.launch.grid, seed=self.seed)._fresh)
        at = every.index(self.first)
        self.before = tuple(every[:at])
        if not at:
            return None
        if self.seed == 0 and self._on_grid(self.first):
            return every[at:]
        self._execute(every[:at], records=False)
        return every[at:]

    def _on_grid(self, first: Program) -> bool:
        launch = self.launch
        checks = gridded.checks_of(self._session()) if self.judged else UNJUDGED
        try:
            gridded.on_grid(
                launch.function, launch.bound, launch.grid, checks, 0,
                int(launch.told["num_warps"]), before=first,
            )  # fmt: skip
        except Refused as refused:
            self.because = str(refused)
            return False
        return True

    def _session(self) -> session.Session:
        options = Options(
            machine="step", judged=self.judged,
            programs=None if self.first is None else (self.first,),
        )  # fmt: skip
        return session.make(options)

    def _execute(self, only: list[Program] | None, records: bool = True) -> None:
        launch, current = self.launch, self._session()
        scheduler = Scheduler(launch.grid, seed=self.seed)
        if only is not None:
            scheduler.total, scheduler._fresh = len(only), iter(only)

        def judge(event: Event) -> None:
            found = diagnostics.record(current.report, event)
            if found is not None:
                self.findings.append(found)
                if records:
                    self.recorder.found_one(found)

        wants = current.report.wants
        machine = FollowedMachine(
            launch.kernel, launch.grid, launch.bound.space, scheduler, target.current(),
            int(launch.told["num_warps"]), (), judge, launch.host, launch.number,
            frozenset(m for m, kind in KIND_OF.items() if wants(kind)),
            bool(launch.told["debug"] and launch.told["sanitize_overflow"]),
        )  # fmt: skip
        checkers = checkers_for(wants if self.judged else _nothing, current.outputs)
        machine.checkers = [*checkers, self.recorder] if records else checkers
        self.recorder.scheduler = scheduler
        with session.using(current):
            if records:
                sys.settrace(self.recorder.trace)
            try:
                execution.execute(machine, launch.function.body, launch.bound, current)
            finally:
                sys.settrace(None)
        if not records:
            self.recorder.done.update(only or ())


def _nothing(kind: str) -> bool:
    return False


__all__ = ["Abandoned", "Run"]
