"""Times of a function whose work runs on a device: events around each call, a cold L2 before it.

`do_bench` of `blockstep.testing` comes here when the function turns out to launch on a device
(`launches_on_device`). The procedure is `triton.testing.do_bench`'s: an estimate from five calls,
`warmup` ms of calls, then `rep` ms of timed ones.

Invariant: what is timed is only what the function enqueues; the flush before it and the events are
in the same stream, so nothing overlaps, and the host waits once, at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from blockstep import knobs
from blockstep.hooks import HookChain
from blockstep.runtime.gpu.driver import Driver
from blockstep.runtime.gpu.streams import current_stream, torch_stream

ESTIMATES = 5
FLUSH = 2  # times the L2
MOST_RUNS = 10_000


def launches_on_device(fn: Callable[[], Any]) -> bool:
    """Calls `fn` once; whether its work is a device's.

    It is if a kernel of ours was launched there; it is not if all of ours were interpreted. Where
    none of ours was launched, torch may have: then it is if torch uses a device."""
    places: list[bool] = []
    chain = knobs.runtime.launch_enter_hook
    if not isinstance(chain, HookChain):  # a function that the program put in its place
        fn()
        return torch_stream() is not None

    def note(told: Any) -> None:
        places.append(told.data["function"] is not None)

    chain.add(note)
    try:
        fn()
    finally:
        chain.remove(note)
    return any(places) if places else torch_stream() is not None


class Timer:
    """Times calls on the current device and the current stream, in milliseconds."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._api = driver, driver.api
        now = driver.current()
        self._ordinal = 0 if now is None else now[1]

    def __call__(
        self, fn: Callable[[], Any], warmup: float, rep: float, before: Callable[[], None]
    ) -> list[float]:
        """Milliseconds of each call of `fn`, which was called already; `before` is called, untimed,
        before each."""
        with self._driver.entered(self._ordinal), self._flush() as flush:
            self._wait()

            def prepare() -> None:
                before()
                flush()

            estimate = sum(self._timed(fn, ESTIMATES, prepare)) / ESTIMATES
            for _ in range(runs(warmup, estimate)):
                fn()
            return self._timed(fn, runs(rep, estimate), prepare)

    def _wait(self) -> None:
        self._driver.call("waiting for the device", self._api.cuCtxSynchronize)

    def _timed(self, fn: Callable[[], Any], count: int, prepare: Callable[[], None]) -> list[float]:
        call, api = self._driver.call, self._api
        tried = "timing a function"
        pairs = []
        try:
            for _ in range(count):
                prepare()
                pair = (
                    call(tried, api.cuEventCreate, 0), call(tried, api.cuEventCreate, 0),
                )  # fmt: skip
                pairs.append(pair)
                stream = current_stream(self._ordinal, ())
                call(tried, api.cuEventRecord, pair[0], stream)
                fn()
                call(tried, api.cuEventRecord, pair[1], stream)
            self._wait()
            return [float(call(tried, api.cuEventElapsedTime, *pair)) for pair in pairs]
        finally:
            for event in (event for pair in pairs for event in pair):
                api.cuEventDestroy(event)

    @contextmanager
    def _flush(self) -> Iterator[Callable[[], None]]:
        """A function that writes more than the L2 holds, so that no argument is in it."""
        call, api = self._driver.call, self._api
        size = FLUSH * self._driver.device(self._ordinal).l2
        buffer = call("allocating the memory that flushes the L2", api.cuMemAlloc, max(size, 1))

        def flush() -> None:
            stream = current_stream(self._ordinal, ())
            call("flushing the L2", api.cuMemsetD8Async, buffer, 0, size, stream)

        try:
            yield flush
        finally:
            api.cuMemFree(buffer)


def runs(budget: float, estimate: float) -> int:
    """How many calls take about `budget` ms."""
    return max(1, min(MOST_RUNS, int(budget / max(estimate, 1e-6))))


def graph_times(fn: Callable[[], Any], rep: float, before: Callable[[], None]) -> list[float]:
    """Milliseconds of a call inside a CUDA graph of many: what is left without the host's part.

    torch makes the graph: it has the stream that a capture needs."""
    torch = sys.modules["torch"]
    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(ESTIMATES):
            fn()
        end.record()
        torch.cuda.synchronize()
        count = runs(rep, start.elapsed_time(end) / ESTIMATES)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(count):
                before()
                fn()
        torch.cuda.synchronize()
        times = []
        for _ in range(10):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / count)
        return times
