"""Source places as LLVM metadata text: which line of Python an instruction comes from.

The compile unit asks for directives only, so PTX gets `.file` and `.loc` and none of the sections
that describe variables and types. The invariant: a node is written once, however often it is used.
A place inside a called function carries the calls that led there in `inlinedAt`; the `.loc` of
PTX names the innermost place, which is what profilers and debuggers show.
"""

from __future__ import annotations

import os
import re

from blockstep.ir import Location

COLUMN_LIMIT = (1 << 16) - 1  # what LLVM keeps of a column
_UNWRITABLE = re.compile(r"[^ !#-\[\]-~]")  # in `.file`: the assembler takes ASCII and no escapes
_UNIT = (
    'distinct !DICompileUnit(language: DW_LANG_Python, file: {file}, producer: "blockstep", '
    "isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)"
)
_FUNCTION = (
    "distinct !DISubprogram(name: {name}, scope: {file}, file: {file}, line: {line}, "
    "type: {type}, scopeLine: {line}, unit: {unit}, "
    "spFlags: DISPFlagDefinition | DISPFlagOptimized)"
)


class DebugInfo:
    """The metadata of one module with one kernel, `name`, defined in `file` at `line`.

    Numbers of nodes begin at `first`, for a text that has metadata of its own."""

    def __init__(self, name: str, file: str, line: int, first: int = 0) -> None:
        self._first = first
        self._numbers: dict[str, int] = {}
        self._places: dict[Location, str] = {}
        self._file = file
        self._flag = self._node('!{i32 2, !"Debug Info Version", i32 3}')
        self._type = self._node(f"!DISubroutineType(types: {self._node('!{}')})")
        self._unit = self._node(_UNIT.format(file=self.file(file)))
        self.kernel = self.function(name, file, line)
        """The node of the kernel: `define ... !dbg !N {`."""

    def file(self, path: str) -> str:
        """The node of a source file."""
        folder, name = os.path.split(_UNWRITABLE.sub("_", path))
        return self._node(f"!DIFile(filename: {quoted(name)}, directory: {quoted(folder)})")

    def function(self, name: str, file: str, line: int = 0) -> str:
        """The node of a function of the source, a scope."""
        return self._node(
            _FUNCTION.format(
                name=quoted(name), file=self.file(file), line=line, type=self._type, unit=self._unit
            )
        )

    def place(
        self, file: str, line: int, column: int, scope: str, inlined_at: str | None = None
    ) -> str:
        """The node of a place in `scope`, the node of a function of that `file`."""
        column = column if column <= COLUMN_LIMIT else 0
        call = "" if inlined_at is None else f", inlinedAt: {inlined_at}"
        return self._node(f"!DILocation(line: {line}, column: {column}, scope: {scope}{call})")

    def at(self, location: Location) -> str:
        """The node of an operation's location: `..., !dbg !N`. The outermost place is the kernel's,
        the others are those of functions that were inlined into it."""
        known = self._places.get(location)
        if known is None:
            known = self._places[location] = self._nested(location)
        return known

    def _nested(self, location: Location) -> str:
        *inner, outermost = (location.span, *location.callers)
        at = self.place(
            outermost.file, outermost.line, outermost.column, self._kernel_in(outermost.file)
        )
        for span in reversed(inner):
            scope = self.function(span.function or "inlined", span.file)
            at = self.place(span.file, span.line, span.column, scope, at)
        return at

    def _kernel_in(self, file: str) -> str:
        """The kernel's scope for a place in `file`, which may be another one: generated code."""
        if file == self._file:
            return self.kernel
        return self._node(
            f"!DILexicalBlockFile(scope: {self.kernel}, file: {self.file(file)}, discriminator: 0)"
        )

    def text(self) -> str:
        """All nodes, and the names LLVM looks for; to stand at the end of the module."""
        nodes = "".join(f"!{number} = {node}\n" for node, number in self._numbers.items())
        return f"!llvm.dbg.cu = !{{{self._unit}}}\n!llvm.module.flags = !{{{self._flag}}}\n{nodes}"

    def _node(self, node: str) -> str:
        return f"!{self._numbers.setdefault(node, self._first + len(self._numbers))}"


def quoted(text: str) -> str:
    """A text as LLVM writes strings: whatever is not plain ASCII as hexadecimal bytes."""
    plain = (
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
        for byte in text.encode(errors="surrogateescape")
    )
    return f'"{"".join(plain)}"'
