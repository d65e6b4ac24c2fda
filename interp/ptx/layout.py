"""Where a kernel's variables lie: offsets in shared and local memory and among the parameters.

Shared variables come in the order of the text, the ones without a length (dynamic shared memory)
behind all others. Addresses are those of the variable's own state space.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from blockstep.interp.ptx.isa.registry import WIDTH
from blockstep.interp.ptx.memory import LOCAL_BASE, SHARED_BASE
from blockstep.interp.ptx.syntax import Function, Module, Symbol, Variable

_DYNAMIC_ALIGNMENT = 16


def nbytes(variable: Variable) -> int:
    """The length of a variable; 0 for one whose length the launch says."""
    return (variable.count or 0) * max(WIDTH.get(variable.type, 8) // 8, 1)


@dataclass(slots=True)
class Layout:
    """`shared` and `local` are lengths without the dynamic part; `places` has (space, address)."""

    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    globals: dict[str, Variable] = field(default_factory=dict)
    parameters: list[tuple[Variable, int]] = field(default_factory=list)
    parameter_bytes: int = 0
    shared: int = 0
    local: int = 0

    @staticmethod
    def of(module: Module, entry: Function, own: list[Variable]) -> Layout:
        """The layout of a kernel with its variables and those of what it calls."""
        made = Layout()
        variables = [*module.variables, *own]
        for variable in variables:
            if variable.space in ("global", "const"):
                made.globals[variable.name] = variable
        for variable in sorted(variables, key=lambda v: v.count is None):
            if variable.space == "shared":
                made.shared = made._put(variable, made.shared, "shared", SHARED_BASE)
        for variable in own:
            if variable.space == "local":
                made.local = made._put(variable, made.local, "local", LOCAL_BASE)
        for variable in entry.parameters:
            size = made.parameter_bytes
            end = made._put(variable, size, "param", 0)
            made.parameters.append((variable, made.places[variable.name][1]))
            made.parameter_bytes = end
        return made

    def _put(self, variable: Variable, end: int, space: str, base: int) -> int:
        alignment = variable.alignment
        if space == "shared" and variable.count is None:
            alignment = max(alignment, _DYNAMIC_ALIGNMENT)
        start = -(-end // alignment) * alignment
        self.places[variable.name] = (space, base + start)
        return start + nbytes(variable)

    def address(self, symbol: Symbol) -> int | None:
        """The address of a variable that is not in global memory."""
        found = self.places.get(symbol.name)
        return None if found is None else found[1] + symbol.offset
