"""Lowering placed IR to LLVM IR: the state, and what every family of operations asks of it.

A block value is one LLVM vector a lane, in the order of its layout's registers; a scalar is an LLVM
scalar that all lanes agree on. A family registers its functions with `lowers` (an operation) or
`computes` (an elementwise rule on `Item`s, which regions of reductions and scans use as well).
Invariant: control flow of a kernel is uniform over the CTA, so barriers inside it are reached by all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from blockstep.compiler.debug_info import DebugInfo
from blockstep.compiler.layouts import redundant
from blockstep.compiler.lower.demand import Demand
from blockstep.compiler.lower.plan import Plan
from blockstep.compiler.lower.text import Builder, Item, scalar_type, vector
from blockstep.compiler.options import Options
from blockstep.ir import Function, Layout, Operation, Value, flight
from blockstep.ir.layout import LANE_BITS
from blockstep.language import types as ty
from blockstep.language.region import Region

Lowers = Callable[["Lowering", Operation], None]
Computes = Callable[..., Any]  # (lowering, attributes, result kinds, *items) -> Item or tuple

LOWERINGS: dict[str, Lowers] = {}
RULES: dict[str, Computes] = {}

SHARED = "@shared_memory"
MOVES_BYTES = frozenset(
    {"cast", "bitcast", "select", "hint", "map", "asm", "asm_packed", "libdevice"}
)
"""Operations that take 8-bit floats as they are."""


class Unlowered(Exception):
    """An operation, or a use of one, that has no lowering."""

    def __init__(self, message: str, operation: Operation | None = None) -> None:
        super().__init__(message)
        self.operation = operation


def lowers(name: str) -> Callable[[Lowers], Lowers]:
    """Registers the lowering of an operation: it binds every result."""

    def register(function: Lowers) -> Lowers:
        LOWERINGS[name] = function
        return function

    return register


def computes(*names: str) -> Callable[[Computes], Computes]:
    """Registers an elementwise rule: `rule(lowering, attributes, kind, *items) -> Item`."""

    def register(function: Computes) -> Computes:
        for name in names:
            RULES[name] = function
        return function

    return register


def _debug_info(function: Function) -> DebugInfo | None:
    located = [o.location for o in function.walk() if o.location is not None]
    if not located:
        return None
    spans = [(location.span, *location.callers)[-1] for location in located]
    line = min(span.line for span in spans if span.file == function.file or not function.file)
    return DebugInfo(function.name, function.file or spans[0].file, line)


class Lowering:
    """One kernel on its way to LLVM IR."""

    def __init__(self, function: Function, options: Options) -> None:
        self.function = function
        self.options = options
        self.b = Builder()
        self.items: dict[Value, Item] = {}
        self.demand = Demand(function)
        self.known: dict[str, Sequence[str]] = {}  # the elements of a vector that was joined
        self.plan = Plan()
        self.position = 0  # of the operation being lowered
        self.positions = {operation: i for i, operation in enumerate(function.walk())}
        self.maps: dict[Any, Any] = {}  # tensor maps that the launch must pass
        self.slots = ""  # the CTA's own memory for maps that it makes: an i64
        self.empty: dict[Value, list[str]] = {}
        """By map: of each axis, the innermost first, whether the array has no element."""
        self.strings: dict[str, str] = {}  # text -> its definition as a global constant
        self.locals: dict[str, int] = {}  # name -> bytes of a lane's local memory
        self.faults = ""  # the address of the fault record: of kernels with assertions
        self.sites: list[tuple[str, Any]] = []  # assertions: message and location
        self.places = _debug_info(function) if options.line_info else None
        self.tid = self.lane = self.warp = ""
        self.group = ""  # the warpgroup, in a uniform register: of kernels with products

    def at(self, operation: Operation) -> None:
        """Instructions from here on come from this operation's place in the source."""
        self.position = self.positions[operation]
        if self.places is not None and operation.location is not None:
            self.b.debug = f", !dbg {self.places.at(operation.location)}"

    # ---- values

    def __getitem__(self, value: Value) -> Item:
        return self.items[value]

    def bind(self, value: Value, item: Item | str) -> None:
        """Says what a value was lowered to."""
        if isinstance(item, str):
            item = Item(item, value.type.scalar, self.count(value))
        self.items[value] = item

    def results(self, operation: Operation, items: Any) -> None:
        """Binds the results of an operation."""
        found = items if isinstance(items, (tuple, list)) else (items,)
        for value, item in zip(operation.results, found, strict=True):
            self.bind(value, item)

    def operands(self, operation: Operation) -> list[Item]:
        """The lowered operands."""
        return [self.items[v] for v in operation.operands]

    def named(self, operation: Operation, *names: str) -> dict[str, Value | None]:
        """Operands by name; absent optional ones are None."""
        slots = operation.attributes.get("operand_slots", (True,) * len(operation.operands))
        given = iter(operation.operands)
        found = {n: next(given) if there else None for n, there in zip(names, slots, strict=False)}
        return {name: found.get(name) for name in names}

    def layout(self, value: Value) -> Layout:
        """The layout of a block value."""
        found = value.layout
        assert isinstance(found, Layout), value
        return found

    def count(self, value: Value) -> int | None:
        """Elements of a value in one lane; None for a scalar and for a block in shared memory,
        which is its byte offset."""
        layout = value.layout
        return layout.per_lane if isinstance(layout, Layout) else None

    def type_of(self, value: Value) -> str:
        """The LLVM type of a value."""
        return vector(self.count(value), scalar_type(value.type))

    # ---- elements of a vector

    def parts(self, item: Item) -> list[str]:
        """The elements of a vector as scalars; a scalar is its only part."""
        if item.count is None:
            return [item.name]
        if item.name.startswith("splat ("):
            return [item.name[7 + len(item.element) : -1]] * item.count
        known = self.known.get(item.name)
        if known is not None:
            return list(known)
        return [self.b.value(f"extractelement {item}, i32 {i}") for i in range(item.count)]

    def join(self, parts: Sequence[str], kind: ty.dtype, count: int | None) -> Item:
        """Scalars as a vector."""
        if count is None:
            (only,) = parts
            return Item(only, kind.scalar)
        name = self.b.join(parts, scalar_type(kind))
        self.known[name] = tuple(parts)
        return Item(name, kind.scalar, count)

    def pick(self, item: Item, registers: Sequence[int]) -> Item:
        """A vector of some of a vector's elements."""
        assert item.count is not None
        if list(registers) == list(range(item.count)):
            return item
        mask = ", ".join(f"i32 {r}" for r in registers)
        name = self.b.value(
            f"shufflevector {item}, {item.type} poison, <{len(registers)} x i32> <{mask}>"
        )
        if item.name in self.known:
            known = self.known[item.name]
            self.known[name] = [known[r] for r in registers]
        return Item(name, item.kind, len(registers))

    def concatenate(self, items: Sequence[Item]) -> Item:
        """Vectors of one length (a power of two of them) one after the other."""
        parts = list(items)
        while len(parts) > 1:
            parts = [self._pair(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    def _pair(self, a: Item, b: Item) -> Item:
        assert a.count is not None
        mask = ", ".join(f"i32 {i}" for i in range(2 * a.count))
        name = self.b.value(f"shufflevector {a}, {b}, <{2 * a.count} x i32> <{mask}>")
        if a.name in self.known and b.name in self.known:
            self.known[name] = (*self.known[a.name], *self.known[b.name])
        return Item(name, a.kind, 2 * a.count)

    def splat(self, item: Item, count: int | None) -> Item:
        """A scalar in every element of a vector."""
        if count is None or item.count is not None:
            return item
        type = vector(count, item.element)
        if not item.name.startswith("%"):
            return Item(f"splat ({item.element} {item.name})", item.kind, count)
        first = self.b.value(f"insertelement {type} poison, {item}, i32 0")
        name = self.b.value(
            f"shufflevector {type} {first}, {type} poison, <{count} x i32> zeroinitializer"
        )
        return Item(name, item.kind, count)

    def constant(self, value: int, kind: ty.dtype, count: int | None = None) -> Item:
        """An integer constant, in every element."""
        text = str(value)
        if kind.scalar.is_int1():
            text = "true" if value else "false"
        return self.splat(Item(text, kind.scalar), count)

    def each(self, compute: Callable[..., str], kind: ty.dtype, *items: Item) -> Item:
        """Elementwise by scalars: `compute(*parts) -> value` for each element."""
        rows = [self.parts(item) for item in items]
        found = [compute(*parts) for parts in zip(*rows, strict=True)]
        return self.join(found, kind, items[0].count)

    # ---- rules and regions

    def compute(
        self, name: str, attributes: Mapping[str, Any], kinds: Sequence[ty.dtype],
        items: Sequence[Item],
    ) -> tuple[Item, ...]:  # fmt: skip
        """An elementwise operation on lowered values. Scalars among vectors are spread."""
        rule = RULES.get(name)
        if rule is None:
            raise Unlowered(f"no elementwise lowering of `{name}`")
        width = next((i.count for i in items if i.count is not None), None)
        spread = [self.splat(i, width) for i in items]
        if name not in MOVES_BYTES and any(i.kind.is_fp8() for i in spread):
            return self._widened(name, attributes, kinds, spread)
        found = rule(self, attributes, kinds if len(kinds) > 1 else kinds[0], *spread)
        return found if isinstance(found, tuple) else (found,)

    def _widened(
        self, name: str, attributes: Mapping[str, Any], kinds: Sequence[ty.dtype],
        items: Sequence[Item],
    ) -> tuple[Item, ...]:  # fmt: skip
        """8-bit floats are computed in float32 and rounded once: no bit differs from 8-bit
        arithmetic (24 >= 2 p + 2)."""
        from blockstep.compiler.lower.cast_fp8 import narrow_result

        wide = [
            self.compute("cast", {"target": ty.float32}, [ty.float32], [i])[0]
            if i.kind.is_fp8()
            else i
            for i in items
        ]
        results = [ty.float32 if k.scalar.is_fp8() else k for k in kinds]
        found = self.compute(name, attributes, results, wide)
        return tuple(
            narrow_result(self, item, k.scalar) if k.scalar.is_fp8() else item
            for item, k in zip(found, kinds, strict=True)
        )

    def apply(self, region: Region, items: Sequence[Item]) -> list[Item]:
        """A function of scalars on vectors (or scalars)."""
        values = list(items)
        width = next((i.count for i in items if i.count is not None), None)
        for step in region.operations:
            picked = [values[i] for i in step.operands]
            if not picked:
                values += [self._source(step, width)]
                continue
            values += self.compute(step.op.name, step.attributes, step.types, picked)
        return [self.splat(values[i], width) for i in region.outputs]

    def _source(self, step: Any, width: int | None) -> Item:
        if step.op.name != "constant":
            raise Unlowered(f"`{step.op.name}` in a function of scalars")
        from blockstep.compiler.lower.creation import constant_item

        return self.splat(constant_item(step.attributes["value"], step.types[0]), width)

    # ---- who holds what

    def thread_bits(self, images: Iterable[tuple[str, int, int]]) -> str:
        """The XOR of `image` for every set bit `position` of a thread number: an i32.

        `images` are (thread number, position, image); runs of bits that move together become one
        mask and one shift."""
        runs: list[tuple[str, int, int, int]] = []  # number, first bit, length, shift of bit 0
        odd: list[tuple[str, int, int]] = []
        for number, position, image in images:
            if image == 0:
                continue
            if image & (image - 1):
                odd.append((number, position, image))
                continue
            place = image.bit_length() - 1
            if runs and runs[-1][0] == number and runs[-1][1] + runs[-1][2] == position:
                last = runs[-1]
                if last[3] + last[2] == place:
                    runs[-1] = (number, last[1], last[2] + 1, last[3])
                    continue
            runs.append((number, position, 1, place))
        terms = [self._run(*run) for run in runs]
        total = terms[0] if terms else "0"
        for term in terms[1:]:
            total = self.b.value(f"xor i32 {total}, {term}")
        for number, position, image in odd:
            bit = self.b.value(f"lshr i32 {number}, {position}")
            bit = self.b.value(f"and i32 {bit}, 1")
            term = self.b.value(f"mul nuw nsw i32 {bit}, {image}")
            total = self.b.value(f"xor i32 {total}, {term}") if total != "0" else term
        return total

    def _run(self, number: str, first: int, length: int, place: int) -> str:
        mask = ((1 << length) - 1) << first
        found = self.b.value(f"and i32 {number}, {mask}")
        if place > first:
            return self.b.value(f"shl nuw nsw i32 {found}, {place - first}")
        if place < first:
            return self.b.value(f"lshr exact i32 {found}, {first - place}")
        return found

    def base(self, layout: Layout, project: Callable[[int], int] = lambda i: i) -> str:
        """The image of this thread under a layout, `project` applied to every basis (it must be
        linear): an i32, computed where it is asked for."""
        images = [(self.lane, k, project(v)) for k, v in enumerate(layout.lanes)]
        images += [(self.warp, k, project(v)) for k, v in enumerate(layout.warps)]
        if layout.ctas:
            images += [(self.cta(), k, project(v)) for k, v in enumerate(layout.ctas)]
        return self.thread_bits(images)

    def cta(self) -> str:
        """The rank of this CTA in its cluster: an i32."""
        return self.b.call("i32", "llvm.nvvm.read.ptx.sreg.cluster.ctarank", [])

    def plus(self, base: str, constant: int, disjoint: bool = True) -> str:
        """`base ^ constant`: a sum where no bit of the two can meet."""
        if constant == 0:
            return base
        if base == "0":
            return str(constant)
        if disjoint:
            return self.b.value(f"add nuw nsw i32 {base}, {constant}")
        return self.b.value(f"xor i32 {base}, {constant}")

    def leaders(self, layout: Layout | None) -> str:
        """Whether this thread is the one that acts for all holders of the same elements: an i1."""
        first = self.first_cta()
        if layout is None:
            return self.both(first, self.b.value(f"icmp eq i32 {self.tid}, 0"))
        return self.both(first, self.first_holder(layout))

    def first_holder(self, layout: Layout) -> str:
        """Whether this thread acts, in its CTA, for all holders of the same elements: an i1."""
        spare = redundant(layout)
        mask = spare.lanes | spare.warps << LANE_BITS
        if not mask:
            return "true"
        copies = self.b.value(f"and i32 {self.tid}, {mask}")
        return self.b.value(f"icmp eq i32 {copies}, 0")

    def first_cta(self) -> str:
        """Whether this CTA acts for its cluster, every CTA of which holds everything."""
        if self.options.num_ctas == 1:
            return "true"
        return self.b.value(f"icmp eq i32 {self.cta()}, 0")

    def both(self, a: str, b: str) -> str:
        """The conjunction of two predicates."""
        if a == "true":
            return b
        return a if b == "true" else self.b.value(f"and i1 {a}, {b}")

    # ---- constant and local memory

    def string(self, text: str) -> str:
        """A text in memory, with a zero behind it: a ptr."""
        data = text.encode("ascii") + b"\0"
        names = list(self.strings)
        name = f"@string{names.index(text) if text in self.strings else len(names)}"
        content = "".join(chr(c) if chr(c).isalnum() or c == 32 else f"\\{c:02X}" for c in data)
        self.strings[text] = (
            f'{name} = private unnamed_addr addrspace(1) constant [{len(data)} x i8] c"{content}"'
        )
        return self.b.value(f"addrspacecast ptr addrspace(1) {name} to ptr")

    def local(self, name: str, size: int) -> str:
        """Memory of a lane's own, at least `size` bytes at a multiple of 8: a ptr."""
        self.locals[name] = max(size, self.locals.get(name, 0))
        return name

    # ---- shared memory

    def barrier(self) -> None:
        """All lanes of the CTA wait for each other; their shared memory accesses are ordered."""
        if self.options.num_warps == 1:
            self.b.call("void", "llvm.nvvm.bar.warp.sync", ["i32 -1"], "#1")
        else:
            self.b.call("void", "llvm.nvvm.barrier.cta.sync.aligned.all", ["i32 0"], "#1")

    def scratch(self, size: int) -> str:
        """`size` bytes of shared memory for the operation being lowered, free of readers: an i32
        offset."""
        self.barrier()
        return self.plan.add(size, 16, self.position, self.position).name

    def allocate(self, size: int, alignment: int, value: Value) -> str:
        """`size` bytes of shared memory, an i32 offset, until the last use of a value, and until
        the products in flight that read them are waited for."""
        last = max((self.positions[use] for use in _readers(value)), default=self.position)
        return self.plan.add(size, alignment, self.position, last).name

    def shared_address(self, offset: str) -> str:
        """The address of a byte offset in the shared window: an i32."""
        base = self.b.value(f"ptrtoint ptr addrspace(3) {SHARED} to i32")
        return self.b.value(f"add i32 {base}, {offset}")

    def proxy_fence(self) -> None:
        """What this lane wrote to shared memory can be read by the asynchronous units."""
        self.b.asm("void", "fence.proxy.async.shared::cta;", "~{memory}", [])

    def shared_pointer(self, offset: str) -> str:
        """The shared memory at a byte offset: a ptr addrspace(3)."""
        return self.b.value(f"getelementptr i8, ptr addrspace(3) {SHARED}, i32 {offset}")


def _readers(value: Value) -> Iterator[Operation]:
    """The operations that need the memory of a block or a ring."""
    for use, _ in value.uses:
        yield use
        if use.name == "slot":
            yield from _readers(use.results[0])
        if flight.in_flight(use):
            yield from (wait for wait, _ in flight.users([use]) if wait.name == "dot_wait")


__all__ = ["LOWERINGS", "RULES", "SHARED", "Lowering", "Unlowered", "computes", "lowers"]
