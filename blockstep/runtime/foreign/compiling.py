"""From a bound launch to Triton's code for it: from memory, from disk, or compiled.

The key is the request, whole, with what Triton says of itself (version, place, the settings in its
environment that change code) and the script that it runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from blockstep.compiler import store
from blockstep.language.function import JITFunction
from blockstep.runtime.arguments import Bound
from blockstep.runtime.foreign.binary import binary_of
from blockstep.runtime.foreign.failures import RefusedByTriton
from blockstep.runtime.foreign.process import Process, default_python
from blockstep.runtime.foreign.request import request_for
from blockstep.runtime.gpu.binary import Binary

VARIABLE = "BLOCKSTEP_TRITON"
"""The environment variable that names the interpreter."""


_TELLING = ("error:", "note: Pipeline failed", "Assertion", "UNREACHABLE", "LLVM ERROR")
MOST_TOLD = 4  # lines of what the compiler said, which may be a whole module


class Triton:
    """The Triton of one interpreter: `python`, or what BLOCKSTEP_TRITON names, or this one."""

    def __init__(self, python: str | None = None, process: Process | None = None) -> None:
        chosen = python or os.environ.get(VARIABLE) or default_python()
        self.process = process or Process(chosen)
        self._made: dict[str, dict[str, Any]] = {}

    @property
    def version(self) -> str:
        """Of Triton. Raises NoTriton."""
        self.process.start()
        return str(self.process.hello["version"])

    def compile(self, function: JITFunction, bound: Bound, options: Mapping[str, Any]) -> Binary:
        """The code for these arguments and launch options, for `target.current()`.

        Raises NoTriton, NotCarried, and RefusedByTriton for what Triton does not compile."""
        request, left = request_for(function, bound, options)
        self.process.start()
        text = json.dumps(request, sort_keys=True)
        asked = self.process.script.read_bytes()  # another one may answer otherwise
        hello = json.dumps(self.process.hello, sort_keys=True)
        key = store.key_of({"request": text, "triton": hello, "asked": asked})
        answer = self._made.get(key) or self._load(key)
        if answer is None:
            answer = self.process.ask(request)
            if "error" in answer:
                raise RefusedByTriton(_refusal(function, answer, left))
            parts = {"ptx": answer["ptx"].encode()}
            kept = {k: v for k, v in answer.items() if k != "ptx"}
            store.current().save(key, store.Entry(kept, parts))
        self._made[key] = answer
        return binary_of(answer, bound)

    def _load(self, key: str) -> dict[str, Any] | None:
        entry = store.current().load(key)
        if entry is None:
            return None
        return {**entry.metadata, "ptx": entry.parts["ptx"].decode()}


def _refusal(function: JITFunction, answer: Mapping[str, Any], left: Mapping[str, str]) -> str:
    lines = [f"Triton does not compile {function.__name__}: {answer['error']}"]
    said = answer.get("said", "").splitlines()
    lines += [line for line in said if any(sign in line for sign in _TELLING)][:MOST_TOLD]
    for name, why in left.items():
        if name in answer["error"]:
            lines.append(f"`{name}` could not be told to Triton's process: {why}")
    return "\n".join(lines)
