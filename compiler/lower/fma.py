"""Products without a matrix unit: both factors in shared memory, a loop over k of fused multiply-adds.

Every product of 16-bit floats is exact in float32, so only the sums are rounded.
"""

from __future__ import annotations

from blockstep.compiler.layouts import axes
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.cast import convert
from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.elementwise import intrinsic_suffix
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout, Operation, Value
from blockstep.language import types as ty


def product(lw: Lowering, operation: Operation, acc: Item | None, sums: ty.dtype) -> Item:
    """The sums of a product."""
    a, b = operation.operands[:2]
    layout = lw.layout(operation.results[0])
    places = [_size(a), _size(b)]
    scratch = lw.scratch(places[0] + places[1])
    second = lw.b.value(f"add nuw nsw i32 {scratch}, {places[0]}")
    _spill(lw, a, scratch)
    _spill(lw, b, second)
    lw.barrier()
    start = acc or lw.splat(Item("0" if sums.is_int() else "0.0", sums), layout.per_lane)
    return _loop(lw, operation, layout, start, scratch, second)


def _size(value: Value) -> int:
    numel = 1
    for n in value.type.shape:
        numel *= n
    return -(-numel * lanes.bytes_of(value.type.scalar) // 16) * 16


def _spill(lw: Lowering, value: Value, offset: str) -> None:
    """A factor to shared memory, row by row."""
    layout, item = lw.layout(value), lw[value]
    size = lanes.bytes_of(item.kind)
    base = lw.base(layout)
    for r in range(layout.per_lane):
        flat = lw.b.value(f"xor i32 {base}, {layout.element(r, 0, 0)}")
        moved = lw.b.value(f"mul nuw nsw i32 {flat}, {size}")
        at = lw.b.value(f"add nuw nsw i32 {offset}, {moved}")
        lanes.put(lw, at, Item(lw.pick(item, [r]).name, item.kind, 1))


def _loop(
    lw: Lowering, operation: Operation, layout: Layout, start: Item, left: str, right: str
) -> Item:
    b = lw.b
    a_value, b_value = operation.operands[:2]
    depth = a_value.type.shape[-1]
    names = b.name("k"), b.name("kdone")
    before = b.block
    b.branch(names[0])
    b.label(names[0])
    index, total = b.phi("i32"), b.phi(start.type)
    index.add("0", before)
    total.add(start.name, before)
    xs = _factors(lw, a_value, layout, left, index.name, 0, start.kind)
    ys = _factors(lw, b_value, layout, right, index.name, 1, start.kind)
    made = _multiply_add(lw, xs, ys, Item(total.name, start.kind, start.count))
    following = b.value(f"add nuw nsw i32 {index.name}, 1")
    test = b.value(f"icmp ult i32 {following}, {depth}")
    index.add(following, b.block)
    total.add(made.name, b.block)
    b.choose(test, names[0], names[1])
    b.label(names[1])
    return made


def _multiply_add(lw: Lowering, x: Item, y: Item, total: Item) -> Item:
    if total.kind.is_int():
        product_ = lw.b.value(f"mul {x}, {y.name}")
        return Item(lw.b.value(f"add {x.type} {product_}, {total.name}"), total.kind, total.count)
    name = f"llvm.fma.{intrinsic_suffix(total)}"
    return Item(lw.b.call(total.type, name, [str(x), str(y), str(total)]), total.kind, total.count)


def _factors(
    lw: Lowering, value: Value, layout: Layout, offset: str, k: str, which: int, sums: ty.dtype
) -> Item:
    """For each register of the result, the factor it needs at this k: loaded once for each row (or
    column), then spread."""
    kind = value.type.scalar
    shape = value.type.shape
    size = lanes.bytes_of(kind)
    own = len(shape) - 2 + which
    row = shape[-1]

    def project(image: int) -> int:
        place = list(axes.coordinates(layout.shape, image))
        place[len(shape) - 1 - which] = 0
        return axes.flat(shape, place)

    base = lw.base(layout, project)
    step = lw.b.value(f"mul nuw nsw i32 {k}, {1 if which == 0 else row}")
    start = lw.b.value(f"add i32 {base}, {step}") if base != "0" else step
    assert own < len(shape)
    loaded: dict[int, str] = {}
    parts = []
    for r in range(layout.per_lane):
        image = project(layout.element(r, 0, 0))
        if image not in loaded:
            loaded[image] = _one(lw, offset, start, image, size, kind, sums)
        parts.append(loaded[image])
    return lw.join(parts, sums, layout.per_lane)


def _one(
    lw: Lowering, offset: str, start: str, image: int, size: int, kind: ty.dtype, sums: ty.dtype
) -> str:
    flat = lw.b.value(f"add i32 {start}, {image}") if image else start
    moved = lw.b.value(f"mul nuw nsw i32 {flat}, {size}")
    item = lanes.get(lw, lw.b.value(f"add nuw nsw i32 {offset}, {moved}"), kind, None)
    return convert(lw, item, sums).name
