"""One compilation as JSON: the kernel, stand-ins for its arguments, options and target.

Triton specialises a kernel by a few facts about each argument (is it 1, a multiple of 16, which of
three widths does it need, is the address aligned), so a stand-in with the same facts takes the
argument's place: launches that Triton gives the same code make the same request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockstep import target
from blockstep.language.function import JITFunction
from blockstep.runtime.arguments import Argument, Bound
from blockstep.runtime.foreign.carrying import Carrier
from blockstep.runtime.foreign.failures import NotCarried
from blockstep.runtime.launch_options import DEFAULTS, asked_architecture

_ALIGNMENT = 16
_IGNORED = ("warp_size", "backend_name", "debug", "arch", "supported_fp8_dtypes", "waves_per_eu",
            "matrix_instr_nonkdim", "kpack")  # fmt: skip


def request_for(
    function: JITFunction, bound: Bound, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The request, and what of the names that the kernel reads could not be carried, with reasons.

    Raises NotCarried for an argument or option of which the same is true."""
    carrier = Carrier()
    kernel = carrier.function(function)
    constants = {p.name for p in function.params if p.is_constexpr}
    arguments = [_argument(a, carrier, a.name in constants) for a in bound.arguments]
    return {
        "kernel": kernel,
        "functions": carrier.functions,
        "arguments": arguments,
        "options": _options(options, carrier),
        "target": ["cuda", _capability(options), 32],
    }, carrier.left


def _capability(options: Mapping[str, Any]) -> int:
    asked = asked_architecture(options)
    major, minor = target.current().capability
    return 10 * major + minor if asked is None else asked


def _options(options: Mapping[str, Any], carrier: Carrier) -> dict[str, Any]:
    """Those that the launch has set; the others have Triton's own defaults."""
    found = {"debug": carrier.value(bool(options.get("debug")))}
    for key, value in options.items():
        if key in DEFAULTS and key not in _IGNORED and value != DEFAULTS[key]:
            found[key] = carrier.value(value)
    return found


def _argument(argument: Argument, carrier: Carrier, constant: bool) -> list[Any]:
    try:
        return carrier.value(argument.value) if constant else _standing_in(argument, carrier)
    except NotCarried as error:
        raise NotCarried(f"the argument `{argument.name}`: {error}") from error


def _standing_in(argument: Argument, carrier: Carrier) -> list[Any]:
    if argument.kind == "tuple":
        items = [_standing_in(item, carrier) for item in argument.items]
        fields = getattr(argument.value, "_fields", None)
        if fields is not None:
            return ["record", [type(argument.value).__name__, list(fields)], items]
        return ["tuple", items]
    if argument.kind == "pointer":
        return ["pointer", _array(argument)]
    if argument.kind == "descriptor":
        return ["descriptor", _array(argument), _descriptor(argument.value)]
    value = argument.value
    if type(value) is int:
        value = _representative(value)
    elif isinstance(value, float):
        value = 0.5
    return carrier.value(value)


def _array(argument: Argument) -> list[Any]:
    assert argument.view is not None
    kind = argument.view.dtype
    name = {"int1": "i1"}.get(kind.name, kind.name.replace("uint", "u").replace("int", "i"))
    return [name, kind.itemsize, _ALIGNMENT + argument.view.base % _ALIGNMENT]


def _descriptor(told: Any) -> list[Any]:
    """Lengths and strides do not decide anything; those of the block do."""
    shape, strides = ([int(n) for n in part] for part in (told.shape, told.strides))
    return [shape, strides, [int(n) for n in told.block_shape], told.padding]


def _representative(value: int) -> int:
    """The same integer for all that Triton takes alike."""
    if value == 1:
        return 1
    rest = 0 if value % _ALIGNMENT == 0 else 3
    for power in (31, 63):
        if -(1 << power) <= value < 1 << power:
            return (16 if power == 31 else 1 << 40) + rest
    return (1 << 63) + rest
