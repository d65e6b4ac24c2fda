"""VS Code and PyCharm: how pydevd, the debugger below both (debugpy is it), shows blocks.

pydevd asks providers for the children and the text of a value. Ours is added where a launch finds it at
work; where it is not, nothing is imported. Without it a block has its `repr` and every method of the
language as a child.
"""

from __future__ import annotations

import sys
from typing import Any

from blockstep.language.facts import facts
from blockstep.language.value import describe, tensor

_UTILITIES = "_pydevd_bundle.pydevd_extension_utils"
_API = "_pydevd_bundle.pydevd_extension_api"
_told: set[int] = set()  # debuggers that know, by the identity of their list of providers
LONGEST = 300  # characters of a block on one line


def children(x: tensor) -> dict[str, Any]:
    """What a variables view shows below a block: plain Python and NumPy values."""
    found = facts(x)
    if found is None:
        return {"type": str(x.type), "shape": x.shape}
    shown: dict[str, Any] = {"type": found.type_text, "shape": found.shape, "dtype": found.dtype}
    if found.origin is not None:
        shown |= {"argument": found.origin, "offsets": found.values}
    else:
        shown["values"] = found.values
    if found.low is not None:
        shown |= {"min": found.low, "max": found.high}
    if found.mean is not None:
        shown["mean"] = found.mean
    if found.values.dtype.kind == "f":
        shown |= {"NaN": found.nans, "infinite": found.infinities}
    if found.undefined is not None:
        shown |= {"undefined": found.undefined, "undefined count": found.lost}
    return shown


def line(x: tensor) -> str:
    """A block on one line."""
    text = " ".join(describe(x).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + "…>"


def attach() -> None:
    """Teaches the pydevd that is at work, if one is, to show blocks. Done once for each."""
    utilities = sys.modules.get(_UTILITIES)
    api = sys.modules.get(_API)
    ask = getattr(utilities, "extensions_of_type", None)
    if ask is None or api is None:
        return
    providers = ask(api.TypeResolveProvider)
    if id(providers) in _told:
        return
    _told.add(id(providers))
    providers.insert(0, _resolver(api.TypeResolveProvider))
    ask(api.StrPresentationProvider).insert(0, _presenter(api.StrPresentationProvider))


def _is_block(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tensor)


def _resolver(base: Any) -> Any:
    class Children(base):  # type: ignore[misc]
        def can_provide(self, type_object: Any, type_name: str) -> bool:
            return _is_block(type_object)

        def get_dictionary(self, var: tensor) -> dict[str, Any]:
            return children(var)

        def get_contents_debug_adapter_protocol(self, var: tensor, fmt: Any = None) -> Any:
            return [(name, value, None) for name, value in children(var).items()]  # in this order

        def resolve(self, var: tensor, attribute: str) -> Any:
            return children(var)[attribute]

    return Children()


def _presenter(base: Any) -> Any:
    class Line(base):  # type: ignore[misc]
        def can_provide(self, type_object: Any, type_name: str) -> bool:
            return _is_block(type_object)

        def get_str(self, val: tensor) -> str:
            return line(val)

    return Line()


__all__ = ["attach", "children", "line"]
