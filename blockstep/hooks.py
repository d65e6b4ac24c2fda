"""What knobs hold besides plain values: chains of hooks, the times of a compilation, a toolkit
program."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class HookChain(Generic[F]):
    """Functions called one after the other (last added first, if `reversed`)."""

    def __init__(self, reversed: bool = False) -> None:
        self.calls: list[F] = []
        self.reversed = reversed

    def add(self, func: F) -> None:
        """Append `func`, once."""
        if func not in self.calls:
            self.calls.append(func)

    def remove(self, func: F) -> None:
        """Take `func` out, if it is there."""
        if func in self.calls:
            self.calls.remove(func)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        for call in self.calls[::-1] if self.reversed else list(self.calls):
            call(*args, **kwargs)


@dataclass(frozen=True)
class CompileTimes:
    """Microseconds of one compilation: first IR, each (stage, time), storing the results."""

    ir_initialization: int
    lowering_stages: list[tuple[str, int]]
    store_results: int

    @property
    def total_lowering(self) -> int:
        return sum(time for _, time in self.lowering_stages)

    @property
    def total(self) -> int:
        return self.ir_initialization + self.total_lowering + self.store_results


@dataclass(frozen=True)
class NvidiaTool:
    """A program of the CUDA toolkit and the release it says it is of."""

    path: str
    version: str

    @staticmethod
    @functools.lru_cache
    def from_path(path: str) -> NvidiaTool | None:
        """The tool at `path`, or None if it does not run or names no release."""
        try:
            text = subprocess.check_output([path, "--version"], stderr=subprocess.STDOUT, text=True)
        except (subprocess.CalledProcessError, OSError):
            return None
        release = re.search(r"release (\d+\.\d+)", text)
        return NvidiaTool(path, release.group(1)) if release else None
