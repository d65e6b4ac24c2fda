"""A graph as one LLVM function over the threads of a frame.

A value is for every thread, for every CTA (a row), for every thread index (a column), or for all
alike, as its inputs are: `ROW` and `COLUMN` are the bits of its class. What is for all is computed
once, what is for each column in a loop of its own, the rest in a loop over rows with a loop over
columns inside.

    void run(objects, rows, columns)

`objects` are the arrays of NumPy's themselves, inputs first and then outputs, which are contiguous.
Where an array keeps its data and strides is part of NumPy's binary interface: behind the head that
all objects have come the data, the number of dimensions, a pointer to the shape, one to the strides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blockstep.interp.ptx.host.operations import Lines, literal, operation, type_of
from blockstep.interp.ptx.isa.trace import Graph, Kind

COLUMN, ROW = 1, 2
_HEAD = object.__basicsize__
DATA, STRIDES = _HEAD, _HEAD + 24
_METADATA = """
attributes #0 = { "prefer-vector-width"="512" }
!0 = distinct !{}
!1 = distinct !{!1, !3}
!2 = distinct !{!2, !3}
!3 = !{!"llvm.loop.parallel_accesses", !0}
"""
_GROUP = ", !llvm.access.group !0"


def classes_of(graph: Graph, numbers: Sequence[int], inputs: Sequence[int]) -> dict[int, int]:
    """The classes of nodes, by those of the inputs; arguments come before results."""
    found: dict[int, int] = {}
    for number in numbers:
        node = graph.nodes[number]
        one = inputs[node.value] if node.op == "input" else 0
        for a in node.args:
            one |= found[a]
        found[number] = one
    return found


class Function:
    """The text of one function. `inputs` are the classes of the inputs, `steps` the bytes from one of
    their columns to the next, `results` the nodes that are wanted.

    `outputs` are the nodes that it stores, in order: the results, and what the inner loop needs of
    the loop over columns."""

    def __init__(
        self, graph: Graph, inputs: Sequence[int], steps: Sequence[int], results: Sequence[int],
    ) -> None:  # fmt: skip
        self.graph, self.inputs, self.steps = graph, inputs, steps
        self.needed = self._needed(results)
        self.classes = classes_of(graph, self.needed, inputs)
        self.outputs = [*results, *self._carried(results)]
        self._at = {node: n for n, node in reversed([*enumerate(self.outputs)])}
        self._names: dict[tuple[int, int], str] = {}  # of a node, in the region of a class
        self._numbers = [0]
        self.text = self._function()

    def _needed(self, results: Sequence[int]) -> list[int]:
        wanted, work = set(results), [*results]
        while work:
            for a in self.graph.nodes[work.pop()].args:
                if a not in wanted:
                    wanted.add(a)
                    work.append(a)
        return sorted(wanted)

    def _carried(self, results: Sequence[int]) -> list[int]:
        """What is computed for each column and needed for each thread, or each row (never)."""
        nodes, found = self.graph.nodes, dict[int, None]()
        for user in self.needed:
            if self.classes[user] == ROW | COLUMN:
                for a in nodes[user].args:
                    if self.classes[a] == COLUMN and nodes[a].op != "input":
                        found[a] = None
        return [a for a in found if a not in set(results)]

    # text

    def _function(self) -> str:
        parts = {region: Lines(self._numbers) for region in range(4)}
        self._pointers(parts[0])
        self._rows(parts[ROW])
        for region in (0, COLUMN, ROW, ROW | COLUMN):
            self._compute(parts[region], region)
        for number, node in enumerate(self.outputs):
            self._store(parts[self.classes[node]], number, node)
        text = ["define void @run(ptr %objects, i64 %rows, i64 %columns) #0 {", "entry:"]
        text += [*parts[0].lines, "  br label %before"]
        text += _loop("before", "column", parts[COLUMN].lines, "between", 1)
        inner = _loop("inside", "each", parts[ROW | COLUMN].lines, "next", 2)
        text += _outer(parts[ROW].lines, inner)
        declared = {
            _declaration(line) for p in parts.values() for line in p.lines if "@llvm" in line
        }
        return "\n".join([*text, "}", *sorted(declared), _METADATA])

    def _pointers(self, e: Lines) -> None:
        for n in range(len(self.inputs)):
            obj = self._field(e, "%objects", 8 * n)
            e.line(f"%in{n} = load ptr, ptr {self._address(e, obj, str(DATA))}")
            if self.inputs[n] & ROW:
                e.line(f"%row{n} = load i64, ptr {self._field(e, obj, STRIDES)}")
        for n in range(len(self.outputs)):
            obj = self._field(e, "%objects", 8 * (len(self.inputs) + n))
            e.line(f"%out{n} = load ptr, ptr {self._address(e, obj, str(DATA))}")

    def _field(self, e: Lines, base: str, offset: int) -> str:
        return e.value(f"load ptr, ptr {self._address(e, base, str(offset))}")

    def _address(self, e: Lines, base: str, offset: str) -> str:
        return e.value(f"getelementptr i8, ptr {base}, i64 {offset}")

    def _rows(self, e: Lines) -> None:
        """Where the row begins, of all that has rows."""
        for n, one in enumerate(self.inputs):
            if one & ROW:
                step = e.value(f"mul i64 %row, %row{n}")
                e.line(f"%inrow{n} = getelementptr i8, ptr %in{n}, i64 {step}")
        first = e.value("mul i64 %row, %columns")
        for n, node in enumerate(self.outputs):
            if self.classes[node] == ROW | COLUMN:
                item = _stored(self.graph.nodes[node].kind)
                e.line(f"%outrow{n} = getelementptr {item}, ptr %out{n}, i64 {first}")

    def _compute(self, e: Lines, region: int) -> None:
        nodes = self.graph.nodes
        for number in self.needed:
            node = nodes[number]
            if self.classes[number] != region or node.op in ("constant", "input"):
                continue
            args = [self._name(e, a, region) for a in node.args]
            kinds = [nodes[a].kind for a in node.args]
            self._names[number, region] = operation(e, node, kinds, args)

    def _name(self, e: Lines, number: int, region: int) -> str:
        """A node's value, for use in a region."""
        node, own = self.graph.nodes[number], self.classes[number]
        if node.op == "constant":
            return literal(node)
        if node.op != "input" and own != region and (own != COLUMN or not region & COLUMN):
            return self._names[number, own]
        home = own if own in (0, ROW) else region
        found = self._names.get((number, home))
        if found is None:
            assert home == region or node.op == "input"
            found = self._names[number, home] = self._load(e, number, own, region)
        return found

    def _load(self, e: Lines, number: int, own: int, region: int) -> str:
        node = self.graph.nodes[number]
        item, index = _stored(node.kind), "%each" if region & ROW else "%column"
        if node.op != "input":
            at = e.value(f"getelementptr {item}, ptr %out{self._at[number]}, i64 {index}")
        else:
            n = node.value
            at = f"%inrow{n}" if own & ROW else f"%in{n}"
            if own & COLUMN:
                at = e.value(f"getelementptr [{self.steps[n]} x i8], ptr {at}, i64 {index}")
        found = e.value(f"load {item}, ptr {at}{_GROUP if own & COLUMN else ''}")
        return e.value(f"icmp ne i8 {found}, 0") if node.kind.kind == "b" else found

    def _store(self, e: Lines, number: int, node: int) -> None:
        kind, own = self.graph.nodes[node].kind, self.classes[node]
        name, item = self._name(e, node, own), _stored(kind)
        if kind.kind == "b":
            name = e.value(f"zext i1 {name} to i8")
        at = f"%outrow{number}" if own == ROW | COLUMN else f"%out{number}"
        if own:
            index = {COLUMN: "%column", ROW: "%row"}.get(own, "%each")
            at = e.value(f"getelementptr {item}, ptr {at}, i64 {index}")
        e.line(f"store {item} {name}, ptr {at}{_GROUP if own & COLUMN else ''}")


def _stored(kind: Kind) -> str:
    """The LLVM type of an element in memory."""
    return "i8" if kind.kind == "b" else type_of(kind)


def _loop(name: str, index: str, body: list[str], after: str, metadata: int) -> list[str]:
    """The block `name`, and a loop over columns behind it; nothing without a body."""
    if not body:
        return [f"{name}:", f"  br label %{after}"]
    return [
        f"{name}:", f"  br label %{index}.loop", f"{index}.loop:",
        f"  %{index} = phi i64 [0, %{name}], [%{index}.next, %{index}.loop]",
        *body,
        f"  %{index}.next = add nuw nsw i64 %{index}, 1",
        f"  %{index}.more = icmp ult i64 %{index}.next, %columns",
        f"  br i1 %{index}.more, label %{index}.loop, label %{after}, !llvm.loop !{metadata}",
    ]  # fmt: skip


def _outer(body: list[str], inner: list[str]) -> list[str]:
    """The loop over rows around the loop over columns."""
    return [
        "between:", "  br label %outer", "outer:",
        "  %row = phi i64 [0, %between], [%row.next, %next]", *body, "  br label %inside",
        *inner, "next:", "  %row.next = add nuw nsw i64 %row, 1",
        "  %row.more = icmp ult i64 %row.next, %rows",
        "  br i1 %row.more, label %outer, label %end", "end:", "  ret void",
    ]  # fmt: skip


def _declaration(call: str) -> str:
    """The declaration of an intrinsic that a line calls."""
    head, given = call.split("(", 1)
    type, name = head.split("call ")[1].split(" ", 1)
    types = ", ".join(part.split()[0] for part in given.rstrip(")").split(", "))
    return f"declare {type} {name}({types})"


def shape_of(own: int, rows: int, columns: int) -> tuple[int, int]:
    """The shape of an array of a class."""
    return (rows if own & ROW else 1), (columns if own & COLUMN else 1)


def class_of(x: np.ndarray) -> int:
    """The class of an array, by its shape."""
    return (ROW if x.shape[0] > 1 else 0) | (COLUMN if x.shape[1] > 1 else 0)
