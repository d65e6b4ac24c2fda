"""Which frame is the user's: the place that a finding, an error or a breakpoint is about.

Invariant: a frame is ours when its file lies in this package (the library written in the language
included), and the user's otherwise. Sites are cached: one object an instruction.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType, TracebackType
from typing import Any
from weakref import ReferenceType, ref

from blockstep.findings import Site, Span
from blockstep.language.source import Source

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OWN_FOLDERS = tuple(
    {_PACKAGE}
    | {
        os.path.realpath(os.path.join(_PACKAGE, f)) + os.sep
        for f in ("interp", "compiler", "debugger")
    }
)
_ours: dict[str, bool] = {}  # by file name
_sites: dict[tuple[int, int], Site] = {}
_MOST_SITES = 1 << 16
_kernels: dict[int, tuple[ReferenceType[CodeType], Source]] = {}  # by the code's identity


def is_ours(file: str) -> bool:
    """Whether a file belongs to this package."""
    known = _ours.get(file)
    if known is None:
        known = _ours[file] = file.startswith(_OWN_FOLDERS) or file.startswith("<frozen ")
    return known


def user_site(depth: int = 1) -> Site:
    """The instruction of the nearest frame that is not ours."""
    frame = user_frame(depth + 1)
    if frame is None:
        raise RuntimeError("no frame of the user's is on the stack")
    return _site(frame.f_code, frame.f_lasti)


def user_frame(depth: int = 1) -> FrameType | None:
    """The nearest frame that is not ours, from `depth` calls above this one."""
    frame: FrameType | None = sys._getframe(depth)
    ours = _ours
    while frame is not None:
        file = frame.f_code.co_filename
        known = ours.get(file)
        if known is False or (known is None and not is_ours(file)):
            return frame
        frame = frame.f_back
    return None


def name_of(value: Any) -> str | None:
    """The name that the nearest frame of the user's has for `value`; one that is in capitals first,
    as block sizes are."""
    frame = user_frame(2)
    if frame is None or not is_kernel(frame.f_code):
        return None
    locals_ = frame.f_locals
    names = [n for n, v in locals_.items() if v is value or getattr(v, "value", None) is value]
    if type(value) is int:
        names += [n for n, v in locals_.items() if type(v) is int and v == value]
    return min(names, key=lambda name: (not name.isupper(), name), default=None)


def call_sites(depth: int = 1) -> Site:
    """`user_site`, with the calls through device functions that led to it as `.callers`."""
    frame = user_frame(depth + 1)
    if frame is None:
        raise RuntimeError("no frame of the user's is on the stack")
    chain = [frame]
    while is_kernel(chain[-1].f_code):
        above = chain[-1].f_back
        while above is not None and is_ours(above.f_code.co_filename):
            above = above.f_back
        if above is None or not is_kernel(above.f_code):
            break
        chain.append(above)
    site: Site | None = None
    for link in reversed(chain):
        site = Site(link.f_code, link.f_lasti, site)
    assert site is not None
    return site


def callers_of(site: Site) -> tuple[Span, ...]:
    """The calls that led to `site`, innermost first, while the running kernel stands there."""
    if user_frame(2) is None:
        return ()
    here = call_sites(2)
    return here.callers if here == site else ()


def blamed(error: BaseException) -> Site | None:
    """The innermost instruction of a kernel that `error` passed through, if it did."""
    found: TracebackType | None = None
    step = error.__traceback__
    while step is not None:
        if is_kernel(step.tb_frame.f_code):
            found = step
        step = step.tb_next
    return None if found is None else Site(found.tb_frame.f_code, found.tb_lasti)


def _site(code: CodeType, lasti: int) -> Site:
    key = (id(code), lasti)
    site = _sites.get(key)
    if site is None or site.code is not code:
        if len(_sites) >= _MOST_SITES:
            _sites.clear()
        site = _sites[key] = Site(code, lasti)
    return site


def remember(code: CodeType, source: Source) -> None:
    """Marks `code` (and the comprehensions in it) as a kernel's, with its source."""
    key = id(code)
    _kernels[key] = (ref(code, lambda _: _kernels.pop(key, None)), source)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            remember(constant, source)


def kernel_source(code: CodeType) -> Source | None:
    """The source that a kernel's code was made from; None if it is not a kernel's."""
    known = _kernels.get(id(code))
    return known[1] if known is not None and known[0]() is code else None


def is_kernel(code: CodeType) -> bool:
    """Whether `code` runs as a kernel or as a function called by one."""
    return kernel_source(code) is not None


def span_of_key(key: Any) -> Span:
    """The place of a site that was noted by its key alone."""
    return _sites[key].span
