"""What a reader is told of a birth: the operands of the element that became NaN first.

Each function here returns a `tell`: it makes the `Birth` of one position of the block when somebody
asks, and keeps the operands alive until then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.findings import Birth, BirthHow, Program, Site
from blockstep.interp.memory import View
from blockstep.language.op import Family, Op
from blockstep.language.value import tensor

Tell = Callable[[int], Birth]
_COMBINED = frozenset({Family.REDUCE, Family.SCAN, Family.DOT})


def number_text(value: Any) -> str:
    """A float as a person writes it, with the digits of its own type: -inf, 0, 0.1."""
    return str(value).removesuffix(".0")


def by_operation(
    op: Op,
    operands: tuple[Any, ...],
    attributes: dict[str, Any],
    result: tensor,
    site: Site,
    program: Program,
) -> Tell:
    """NaN that an operation made."""
    shape, kind = result.type.shape, result.type.scalar.codegen_name()
    name = attributes["function"] if op.name == "libdevice" else op.name
    how: BirthHow = "combined" if op.family in _COMBINED else "computed"
    if op.family is Family.SOURCE:
        how = "written"
    elif op.name == "bitcast":
        how = "bits"
    find = _FINDERS.get(op.family)

    def tell(position: int) -> Birth:
        index = tuple(int(i) for i in np.unravel_index(position, shape))
        found = ("", ()) if find is None else find(operands, attributes, index)
        return Birth(
            how,
            site.span,
            program,
            op=found[0] or name,
            operands=tuple(number_text(v) for v in found[1]),
            element=index,
            type_text=kind,
        )

    return tell


def _at(operands: Any, attributes: Any, index: Any) -> tuple[str, tuple[Any, ...]]:
    """The operands of one element of an elementwise operation."""
    return "", tuple(np.broadcast_to(x.handle, x.type.shape)[index] for x in operands)


def _opposed(line: Any) -> tuple[Any, ...]:
    """Two infinities of a line of numbers whose sum is no number; none if it holds no such pair."""
    up, down = line[line == np.inf], line[line == -np.inf]
    return (up[0], down[0]) if up.size and down.size else ()


def _of_line(
    operands: Any, attributes: Any, index: tuple[int, ...], prefix: bool
) -> tuple[str, tuple[Any, ...]]:
    """For a sum or a product, two elements of the line that do not go together."""
    single = attributes["region"].single
    x, axis = operands[0], attributes["axis"]
    moved = np.moveaxis(x.handle, axis, -1)
    if prefix:
        place = index[axis]
        rest = tuple(np.delete(index, axis % len(index)))
        line = moved[rest]
        line = line[place:] if attributes.get("reverse") else line[: place + 1]
    else:
        line = moved[index]
    if single is None:
        return "", ()
    if single.op.name == "mul":
        return "product", _absorbing(line)
    return ("sum", _opposed(line)) if single.op.name == "add" else ("", ())


def _absorbing(line: Any) -> tuple[Any, ...]:
    zero, infinite = line[line == 0], line[np.isinf(line)]
    return (zero[0], infinite[0]) if zero.size and infinite.size else ()


def _of_reduction(operands: Any, attributes: Any, index: Any) -> tuple[str, tuple[Any, ...]]:
    return _of_line(operands, attributes, index, False)


def _of_scan(operands: Any, attributes: Any, index: Any) -> tuple[str, tuple[Any, ...]]:
    return _of_line(operands, attributes, index, True)


def _of_product(operands: Any, attributes: Any, index: Any) -> tuple[str, tuple[Any, ...]]:
    """A pair whose product is NaN ("mul"), else two infinite products that meet ("sum")."""
    a, b = (x.handle for x in operands[:2])
    if len(attributes.get("formats", ())) or a.dtype.kind in "iu":
        return "dot_scaled", ()
    row, column = a[(*index[:-1], slice(None))], b[(*index[:-2], slice(None), index[-1])]
    with np.errstate(all="ignore"):
        products = row.astype(np.float32) * column.astype(np.float32)
    bad = np.flatnonzero(np.isnan(products))
    if bad.size:
        return "mul", (row[bad[0]], column[bad[0]])
    if len(operands) > 2:
        products = np.append(products, operands[2].handle[index])
    return "sum", _opposed(products)


_FINDERS: dict[Family, Callable[..., tuple[str, tuple[Any, ...]]]] = {
    Family.ELEMENTWISE: _at,
    Family.REDUCE: _of_reduction,
    Family.SCAN: _of_scan,
    Family.DOT: _of_product,
}


def by_load(view: View | None, addresses: Any, kind: str, site: Site, program: Program) -> Tell:
    """NaN that a load found in memory."""
    shape = np.shape(addresses)

    def tell(position: int) -> Birth:
        source = () if view is None else view.element(int(np.ravel(addresses)[position]))
        return Birth(
            "loaded",
            site.span,
            program,
            element=tuple(int(i) for i in np.unravel_index(position, shape)),
            type_text=kind,
            argument=None if view is None else view.name,
            source=tuple(int(i) for i in source),
        )

    return tell
