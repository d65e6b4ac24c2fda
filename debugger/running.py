"""`Run`: the launch once, in a thread of its own that waits wherever the session stands.

The thread has a copy of the context. Whoever asks for `go` waits until the kernel stops or is over.
"""

from __future__ import annotations

import contextvars
import itertools
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from blockstep import diagnostics, target
from blockstep.debugger.history import History
from blockstep.debugger.moments import Moment
from blockstep.debugger.points import Points
from blockstep.debugger.recording import Abandoned, Recorder
from blockstep.debugger.shortcut import Shortcut
from blockstep.debugger.straying import Straying
from blockstep.findings import Event, Finding
from blockstep.interp.checkers import checkers_for
from blockstep.interp.followed import FollowedMachine
from blockstep.interp.marks import KIND_OF
from blockstep.interp.scheduler import Program, Scheduler
from blockstep.options import Options
from blockstep.runtime import execution, session
from blockstep.runtime.ladder.launch import Launch

_PATIENCE = 0.25  # seconds between two looks whether somebody pressed Ctrl-C


class Run:
    """One run, recorded from the instance `first` on (None: from the beginning). `shortcut` may run those
    before it at once. `wants` says at which moments to stop."""

    def __init__(
        self, launch: Launch, seed: int, first: Program | None, judged: bool, history: History,
        points: Points, wants: Callable[[Moment], bool], shortcut: Shortcut,
    ) -> None:  # fmt: skip
        self.launch, self.seed, self.first, self.judged = launch, seed, first, judged
        self.history = history
        self.recorder = Recorder(history, points, self._arrive, wants, first)
        self.findings: list[Finding] = []
        self.error: BaseException | None = None
        self.over = False
        self.straying: Straying | None = None
        if points.error is not None:
            self.straying = Straying(lambda: points.error, self.recorder.strayed)
        self.before: tuple[Program, ...] = ()  # those that ran on the grid machine
        self._shortcut = shortcut
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
            except queue.Empty:  # on some systems only then is a signal looked at
                continue

    def interrupt(self) -> None:
        """Asks the kernel to stop at its line. May be called from any thread."""
        self.recorder.interrupted = True

    def close(self) -> None:
        """Ends the kernel where it stands, or at its next operation, if it has not ended."""
        thread = self._thread
        if thread is not None and thread.is_alive():
            self.recorder.ended = True
            self._orders.put(False)
            thread.join()

    # In the thread of the kernel.

    def _arrive(self, moment: Moment) -> None:
        self._events.put(moment)
        if not self._orders.get():
            raise Abandoned

    def _run(self) -> None:
        try:
            self._execute(self._before())
        except Abandoned:
            return
        except BaseException as error:  # noqa: BLE001  (told to whoever waits)
            self.error = error
        finally:
            sys.settrace(None)
            self.over = True
            self._events.put(None)

    def _before(self) -> Iterator[Program] | None:
        """Runs what comes before the first instance on the grid machine, if that can be: the instances
        that are left (None: all)."""
        if self.first is None or self.seed or self.straying is not None:
            return None
        if not self._shortcut.reach(self.first, self._is_wanted):
            return None
        order = Scheduler(self.launch.grid)._fresh
        self.before = tuple(itertools.takewhile(lambda program: program != self.first, order))
        return itertools.chain((self.first,), order)

    def _is_wanted(self) -> bool:
        """Whether somebody wants the kernel to stop or to end."""
        return self.recorder.interrupted or self.recorder.ended

    def _session(self) -> session.Session:
        programs = (self.first,) if self.before and self.first else None
        return session.make(Options(machine="step", judged=self.judged, programs=programs))

    def _execute(self, only: Iterator[Program] | None) -> None:
        launch, current = self.launch, self._session()
        scheduler = Scheduler(launch.grid, seed=self.seed)
        if only is not None:
            scheduler.total -= len(self.before)
            scheduler._fresh = only

        def judge(event: Event) -> None:
            found = diagnostics.record(current.report, event)
            if found is not None:
                self.findings.append(found)
                self.recorder.found_one(found)

        wants = current.report.wants
        machine = FollowedMachine(
            launch.kernel, launch.grid, launch.bound.space, scheduler, target.current(),
            int(launch.told["num_warps"]), (), judge, launch.host, launch.number,
            frozenset(m for m, kind in KIND_OF.items() if wants(kind)),
            bool(launch.told["debug"] and launch.told["sanitize_overflow"]),
        )  # fmt: skip
        checkers = checkers_for(wants if self.judged else _nothing, current.outputs)
        following = [self.straying] if self.straying is not None else []
        machine.checkers = [*checkers, *following, self.recorder]
        self.recorder.scheduler = scheduler
        with session.using(current):
            sys.settrace(self.recorder.trace)
            try:
                with self._halting():
                    execution.execute(machine, launch.function.body, launch.bound, current)
            finally:
                sys.settrace(None)

    @contextmanager
    def _halting(self) -> Iterator[None]:
        """`breakpoint()` in the kernel stops the session, at the next line."""
        before, kernel = sys.breakpointhook, threading.current_thread()

        def hook(*args: Any, **kwargs: Any) -> Any:
            if threading.current_thread() is not kernel:
                return before(*args, **kwargs)
            return self.recorder.halt()

        sys.breakpointhook = hook
        try:
            yield
        finally:
            if sys.breakpointhook is hook:
                sys.breakpointhook = before


def _nothing(kind: str) -> bool:
    """Memory is kept safe, and the kernel's own assertions hold, whatever is judged."""
    return False


__all__ = ["Abandoned", "Run"]
