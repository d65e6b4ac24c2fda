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
from blockstep.language.region import Region
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
        found = ("", ()) if find is None else find(op, operands, attributes, index)
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


def _at(op: Op, operands: Any, attributes: Any, index: Any) -> tuple[str, tuple[Any, ...]]:
    """The operands of one element of an elementwise operation."""
    values = tuple(np.broadcast_to(x.handle, x.type.shape)[index] for x in operands)
    return _replayed(op, list(values), attributes) if op.name == "map" else ("", values)


class _Watched:
    """A region that notes the first operation in it that makes NaN of numbers."""

    single = None  # nothing is taken at once: every step is applied

    def __init__(self, region: Region) -> None:
        self._region = region
        self.found: tuple[str, tuple[Any, ...]] = "", ()

    def apply(self, *arrays: Any) -> list[Any]:
        """As the region itself."""
        values = list(arrays)
        for operation in self._region.operations:
            given = [values[i] for i in operation.operands]
            assert operation.op.meaning is not None
            result = operation.op.meaning(*given, **operation.attributes)
            results = result if type(result) is tuple else (result,)
            if not self.found[0] and given:
                self._look(operation.op.name, given, results[0])
            values.extend(results)
        return [values[i] for i in self._region.outputs]

    def _look(self, name: str, given: list[Any], result: Any) -> None:
        *known, made = (np.isnan(x) for x in np.broadcast_arrays(*given, result))
        fresh = made & ~np.logical_or.reduce(known)
        if fresh.any():
            first = int(np.argmax(np.ravel(fresh)))
            values = np.broadcast_arrays(*given, result)[:-1]
            self.found = name, tuple(np.ravel(v)[first] for v in values)


def _replayed(op: Op, lines: list[Any], attributes: Any) -> tuple[str, tuple[Any, ...]]:
    """The operation of a region that made NaN of the elements of a line, with its operands."""
    watched = _Watched(attributes["region"])
    assert op.meaning is not None
    with np.errstate(all="ignore"):
        op.meaning(*lines, **{**attributes, "region": watched})
    return watched.found


def _of_reduction(op: Op, operands: Any, attributes: Any, index: Any) -> Any:
    axis = attributes["axis"]
    lines = [np.moveaxis(x.handle, axis, -1)[index] for x in operands]
    return _replayed(op, lines, {**attributes, "axis": -1})


def _of_scan(op: Op, operands: Any, attributes: Any, index: Any) -> Any:
    axis, place = attributes["axis"], index[attributes["axis"]]
    others = tuple(np.delete(index, axis % len(index)))
    part = slice(place, None) if attributes.get("reverse") else slice(place + 1)
    lines = [np.moveaxis(x.handle, axis, -1)[others][part] for x in operands]
    return _replayed(op, lines, {**attributes, "axis": -1})


def _opposed(line: Any) -> tuple[Any, ...]:
    """Two infinities of a line of numbers whose sum is no number; none if it holds no such pair."""
    up, down = line[line == np.inf], line[line == -np.inf]
    return (up[0], down[0]) if up.size and down.size else ()


def _of_product(op: Op, operands: Any, attributes: Any, index: Any) -> Any:
    """A pair whose product is NaN, else two infinite products that meet."""
    a, b = (x.handle for x in operands[:2])
    if len(attributes.get("formats", ())) or a.dtype.kind in "iu":
        return "", ()
    row, column = a[(*index[:-1], slice(None))], b[(*index[:-2], slice(None), index[-1])]
    with np.errstate(all="ignore"):
        products = row.astype(np.float32) * column.astype(np.float32)
    bad = np.flatnonzero(np.isnan(products))
    if bad.size:
        return "mul", (row[bad[0]], column[bad[0]])
    if len(operands) > 2:
        products = np.append(products, operands[2].handle[index])
    return "add", _opposed(products)


_FINDERS: dict[Family, Callable[..., Any]] = {
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
