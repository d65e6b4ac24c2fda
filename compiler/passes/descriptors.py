"""What every descriptor has: its last stride is 1."""

from __future__ import annotations

import re
from dataclasses import dataclass

from blockstep.compiler.passes.fuel import left, spend
from blockstep.ir import Function, Operation
from blockstep.language.op import OPS

_STRIDE = re.compile(r"(.+)\.stride(\d+)")


@dataclass(frozen=True)
class Descriptors:
    """Replaces the last stride of each descriptor that the host passed by the number."""

    name: str = "descriptors"

    def apply(self, function: Function) -> None:
        """Parameters `x`, `x.shape0` … `x.stride0` … are those of the descriptor `x`."""
        names = {p.name for p in function.parameters}
        for parameter in function.parameters:
            match = _STRIDE.fullmatch(parameter.name)
            if match is None or not {match[1], f"{match[1]}.shape{match[2]}"} <= names:
                continue
            if f"{match[1]}.stride{int(match[2]) + 1}" not in names and parameter.uses and left():
                told = {"type": parameter.type, "value": 1}
                one = Operation(OPS["constant"], [], [parameter.type], told)
                one.insert_before(function.body.operations[0])
                parameter.replace_with(one.results[0])
                spend(one)
