"""The text form of IR. `parse(dump(function))` is the same function.

    func @kernel(%x_ptr: pointer<fp32>, %n: int32) -> () const {BLOCK=128} {
      %pid = program_id {axis=0} : int32 @ "add.py":7:11-7:27
      ...
      %acc2 = for %lo, %hi, %one, %acc : fp32[64] {
        ^(%k: int32, %a: fp32[64])
        ...
        yield %b
      }
      return
    }

Values are numbered; a name from the source stands before the number where there is one. In placed
IR the layout follows the type of a block, and the length of its runs where it is above 1:

      %y.7 = add %x.5, %x.5 : fp32[64] layout<64; r=1; l=2,4,8,16,32; w=0,0> run 2
      %t.8 = slot %6, %7 {shape=(8, 8,), element=!fp16} : fp16[8, 8] shared<8x8; 1,2,4,8,16,32>
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from blockstep.ir.core import Function, Location, Operation, Region, Value
from blockstep.ir.layout import Layout, SharedLayout
from blockstep.language.constant import constexpr
from blockstep.language.region import Region as Combine
from blockstep.language.types import block_type, dtype, pointer_type


@dataclass(frozen=True, slots=True)
class Host:
    """A value of Python that a text only names: a function that a kernel was specialised for."""

    name: str


def type_text(kind: dtype) -> str:
    """`int32`, `fp32[64, 64]`, `pointer<fp32>[8]`, `const pointer<fp32>`."""
    if isinstance(kind, block_type):
        return f"{type_text(kind.element_ty)}[{', '.join(map(str, kind.shape))}]"
    if isinstance(kind, pointer_type):
        return f"{'const ' if kind.const else ''}pointer<{type_text(kind.element_ty)}>"
    return kind.name


class Names:
    """A short unique name for each value, in order of appearance."""

    def __init__(self) -> None:
        self.of: dict[Value, str] = {}

    def __call__(self, value: Value) -> str:
        name = self.of.get(value)
        if name is None:
            number = len(self.of)
            name = self.of[value] = f"%{value.name}.{number}" if value.name else f"%{number}"
        return name


def dump(function: Function, locations: bool = True, names: Names | None = None) -> str:
    """The text of a function, and of those it calls, callees first. With `names`, values keep the
    names that they have there."""
    texts = [dump(callee, locations) for callee in function.callees]
    texts.append(_function(function, names or Names(), locations))
    return "\n".join(texts)


def names_of(function: Function) -> dict[Value, str]:
    """What `dump` calls each value of a function."""
    names = Names()
    _function(function, names, locations=False)
    return names.of


def _function(function: Function, names: Names, locations: bool) -> str:
    parameters = ", ".join(f"{names(p)}: {_held(p)}" for p in function.parameters)
    results = ", ".join(map(type_text, function.results))
    constants = _attributes(function.constants)
    head = f"func @{function.name}({parameters}) -> ({results}) const {constants or '{}'} {{"
    lines = [head, *_operations(function.body, names, 1, locations), "}"]
    return "\n".join(lines)


def _operations(region: Region, names: Names, depth: int, locations: bool) -> Iterator[str]:
    for operation in region.operations:
        yield from _operation(operation, names, depth, locations)


def _operation(operation: Operation, names: Names, depth: int, locations: bool) -> Iterator[str]:
    indent = "  " * depth
    operands = ", ".join(names(v) for v in operation.operands)
    head = operation.name + (f" {operands}" if operands else "")
    attributes = _attributes(operation.attributes)
    head += f" {attributes}" if attributes else ""
    if operation.results:
        results = ", ".join(names(r) for r in operation.results)
        types = ", ".join(map(_held, operation.results))
        head = f"{results} = {head} : {types}"
    where = _location(operation.location) if locations and operation.location else ""
    if not operation.regions:
        yield indent + head + where
        return
    for number, region in enumerate(operation.regions):
        yield indent + (f"{head} {{" if number == 0 else "} {")
        if region.arguments:
            inner = ", ".join(f"{names(a)}: {_held(a)}" for a in region.arguments)
            yield f"{indent}  ^({inner})"
        yield from _operations(region, names, depth + 1, locations)
    yield indent + "}" + where


def _held(value: Value) -> str:
    """A value's type and, in placed IR, its layout and the length of its runs."""
    layout = "" if value.layout is None else f" {value.layout}"
    return type_text(value.type) + layout + (f" run {value.run}" if value.run > 1 else "")


def _location(location: Location) -> str:
    spans = (location.span, *location.callers)
    return " @ " + " < ".join(
        f"{_string(s.file)}:{s.line}:{s.column}-{s.end_line}:{s.end_column} {_string(s.function)}"
        for s in spans
    )


def _attributes(attributes: Mapping[str, Any]) -> str:
    if not attributes:
        return ""
    return "{" + ", ".join(f"{k}={attribute_text(v)}" for k, v in attributes.items()) + "}"


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def attribute_text(value: Any) -> str:
    """The text of an attribute; of what has none, its name."""
    if isinstance(value, constexpr):
        value = value.value
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _float(float(value))
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, dtype):
        return f"!{type_text(value)}"
    if isinstance(value, (Layout, SharedLayout)):
        return str(value)
    if isinstance(value, (tuple, list)):
        return "(" + "".join(f"{attribute_text(v)}, " for v in value).rstrip() + ")"
    if isinstance(value, Function):
        return f"@{value.name}"
    if isinstance(value, Combine):
        return _combine(value)
    kind = type(value)
    named = value.name if isinstance(value, Host) else f"{kind.__module__}.{kind.__qualname__}"
    return f"host {_string(named)}"


def _float(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    return text if "." in text or "e" in text else text + ".0"


def _combine(region: Combine) -> str:
    """A function of scalars: its input types, its operations by number, its outputs."""
    inputs = ", ".join(map(type_text, region.inputs))
    steps = []
    for operation in region.operations:
        operands = ", ".join(map(str, operation.operands))
        types = ", ".join(map(type_text, operation.types))
        attributes = _attributes(operation.attributes)
        steps.append(f"{operation.op.name} ({operands}) {attributes or '{}'} : {types};")
    outputs = ", ".join(map(str, region.outputs))
    bundled = " bundled" if region.bundled else ""
    return f"region ({inputs}) [{' '.join(steps)}] -> ({outputs}){bundled}"
