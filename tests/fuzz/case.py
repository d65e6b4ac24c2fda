"""A fuzzed kernel as a script that stands alone, and what running it on every machine gives."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.agreement.agree import Outcome, agree

HEAD = '''"""{title}"""

import ml_dtypes
import numpy as np

import blockstep as triton
import blockstep.language as tl
from tests.agreement.agree import Empty, agree


@triton.jit
def add(x, y):
    return x + y


@triton.jit
def least(x, y):
    return tl.where(x < y, x, y)


@triton.jit
def second(x, y):
    return y


@triton.jit
def mixed(x, y):
    return x + y - x * y


@triton.jit
def guarded(x, y, on):
    if on:
        return x
    return y


@triton.jit
def turned(x, y, n):
    for i in range(n):
        if i % 2 == 0:
            x, y = y, x
    return x


'''
TAIL = """

if __name__ == "__main__":
    print(agree(kernel, GRID, *arguments(), batch=BATCH, seed=SEED))
"""
CLIMBING = """

if __name__ == "__main__":
    given = [np.zeros(a.shape, a.dtype) if isinstance(a, Empty) else a for a in arguments()]
    climb = triton.verify(kernel, given, grid=GRID, **LAUNCH)
    print(climb, *climb.findings, sep="\\n")
    raise SystemExit(climb.disagrees)
"""


@dataclass(frozen=True, slots=True)
class Case:
    """Source text of a kernel named `kernel`, its grid and how its arguments are made. With launch
    options it is a case for the ladder."""

    kernel: str
    grid: tuple[int, ...]
    arguments: tuple[str, ...]  # lines of `arguments()` in order, the last one returns
    batch: int | None = None
    seed: int = 0
    launch: tuple[tuple[str, Any], ...] = ()

    def script(self, title: str = "A kernel that the fuzzer wrote.") -> str:
        """A runnable file."""
        made = "".join(f"    {line}\n" for line in self.arguments)
        return (
            HEAD.format(title=title)
            + f"{self.kernel}\n\nGRID = {self.grid!r}\nBATCH = {self.batch!r}\n"
            + f"SEED = {self.seed}\nLAUNCH = {dict(self.launch)!r}\n\n\n"
            + f"def arguments():\n    random = np.random.default_rng(1)\n{made}"
            + (CLIMBING if self.launch else TAIL)
        )

    def run(self) -> Outcome:
        """Runs it on every machine; raises Disagreement."""
        return run_script(self.script())


def loaded(script: str) -> dict[str, Any]:
    """The names of a script; its lines can be shown in messages."""
    name = f"<fuzzed {hash(script) & 0xFFFFFFFF:08x}>"
    linecache.cache[name] = (len(script), None, script.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "fuzzed", "__file__": name}
    try:
        exec(compile(script, name, "exec"), names)
    except BaseException:
        del linecache.cache[name]
        raise
    names["__forget__"] = lambda: linecache.cache.pop(name, None)
    return names


def run_script(script: str) -> Outcome:
    """Runs a script's kernel on every machine; raises Disagreement."""
    names = loaded(script)
    try:
        with np.errstate(all="ignore"):
            arguments: Sequence[Any] = names["arguments"]()
        order = {"batch": names["BATCH"], "seed": names.get("SEED", 0)}
        return agree(names["kernel"], names["GRID"], *arguments, **order)
    finally:
        names["__forget__"]()
