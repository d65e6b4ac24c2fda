"""Processes that work through numbered tasks; one that ends or takes too long costs its task alone.

A worker gets one task at a time, so the parent always knows what a dead one was doing. Workers are
forked where that is possible: they start in a moment with all modules imported.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

LOOK = 0.5  # seconds between looks at what takes too long


@dataclass(frozen=True, slots=True)
class Lost:
    """A task without a result: it took too long, or its process ended."""

    too_long: bool
    text: str


@dataclass(slots=True, eq=False)
class Worker:
    """A process, what it does and until when it may."""

    process: Any
    pipe: Connection
    task: Any = None
    until: float = float("inf")

    @property
    def idle(self) -> bool:
        return self.until == float("inf")

    def give(self, task: Any, seconds: float) -> None:
        """Sends a task."""
        self.task, self.until = task, time.monotonic() + seconds
        self.pipe.send(task)

    def end(self) -> str:
        """Ends the process; how it ended."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()
        code = self.process.exitcode
        return f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"


def _goes_on(result: Any) -> bool:
    return False


def results(
    work: Callable[[Any], Any], tasks: Iterator[Any], jobs: int, seconds: float, end: float,
    spent: Callable[[Any], bool] = _goes_on,
) -> Generator[tuple[Any, Any], None, None]:  # fmt: skip
    """Each task with `work(task)` or a Lost, in the order in which they are done. After `end` (of
    `time.monotonic()`) no task is begun; each has so many seconds. A worker whose result says that
    it is spent is replaced."""
    workers: list[Worker] = []
    try:
        for _ in range(jobs):
            workers.append(_started(work))
        for worker in workers:
            _next(worker, tasks, seconds, end)
        while any(not worker.idle for worker in workers):
            for worker in _ready(workers):
                task, found = worker.task, _result(worker)
                if isinstance(found, Lost) or spent(found):
                    if not isinstance(found, Lost):
                        worker.end()
                    workers[workers.index(worker)] = worker = _started(work)
                _next(worker, tasks, seconds, end)
                yield task, found
    finally:
        for worker in workers:
            worker.end()


def _next(worker: Worker, tasks: Iterator[Any], seconds: float, end: float) -> None:
    worker.until = float("inf")
    if time.monotonic() < end:
        for task in tasks:
            worker.give(task, seconds)
            return


def _ready(workers: list[Worker]) -> list[Worker]:
    """Those that have a result, have ended or have had their time."""
    busy = [worker for worker in workers if not worker.idle]
    told = wait([worker.pipe for worker in busy], LOOK)
    now = time.monotonic()
    return [worker for worker in busy if worker.pipe in told or now > worker.until]


def _result(worker: Worker) -> Any:
    try:
        if worker.pipe.poll():
            return worker.pipe.recv()
    except (EOFError, OSError):
        return Lost(False, worker.end())
    worker.end()
    return Lost(True, "")


def _started(work: Callable[[Any], Any]) -> Worker:
    method = "fork" if hasattr(os, "fork") else "spawn"
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(work, theirs), daemon=True)
    process.start()
    theirs.close()
    return Worker(process, ours)


def _serve(work: Callable[[Any], Any], pipe: Connection) -> None:
    """What a worker does until the parent closes the pipe."""
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        pipe.send(work(task))


__all__ = ["Lost", "results"]
