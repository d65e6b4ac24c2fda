"""Layouts as coloured tables: which lane of which warp holds each element, in which register."""

from __future__ import annotations

from math import prod
from typing import Any

from blockstep.diagnostics.words import plural
from blockstep.ir.layout import Layout, SharedLayout
from blockstep.page.html import Html, tag
from blockstep.page.notebook import fragment

MOST_ROWS = 64
MOST_COLUMNS = 64


def of_layout(layout: Layout) -> str:
    """Each element with its first holder, `warp.lane r`: a colour for a lane, a frame where a warp
    begins."""
    holders: dict[int, tuple[int, int, int, int]] = {}
    copies = 0
    for cta in range(layout.num_ctas):
        for warp in range(layout.num_warps):
            for lane in range(32):
                for register in range(layout.per_lane):
                    element = layout.element(register, lane, warp, cta)
                    copies += element in holders
                    holders.setdefault(element, (cta, warp, lane, register))
    head = tag("div", tag("code", str(layout)))
    words = (
        f"{plural(layout.num_warps, 'warp')}, {plural(layout.per_lane, 'register')} a lane; in a cell: "
        "warp, lane and register; a colour is a lane"
    )
    if copies:
        words += f"; each element has {1 + copies // layout.numel} holders, the first is shown"

    def cell(element: int) -> Html:
        cta, warp, lane, register = holders[element]
        told = f"lane {lane} of warp {warp}, register {register}"
        told += f", CTA {cta}" if layout.num_ctas > 1 else ""
        return tag("td", f"{warp}.{lane} r{register}", title=told, style=_colour(lane, warp))

    return fragment(head, tag("div", words, class_="q"), _table(layout.shape, cell))


def of_shared(layout: SharedLayout) -> str:
    """Each element with its address, in elements: a colour for each of the 32 banks of 4 bytes, taking
    elements of 4 bytes."""
    head = tag("div", tag("code", str(layout)))
    words = "in a cell: the address, counted in elements; a colour is an address modulo 32"

    def cell(element: int) -> Html:
        address = layout.address(element)
        return tag("td", address, style=_colour(address % 32, 0))

    return fragment(head, tag("div", words, class_="q"), _table(layout.shape, cell))


def _colour(lane: int, warp: int) -> str:
    """32 hues that neighbours do not share; a warp after the first is lighter or darker."""
    hue = lane * 360 // 32 * 7 % 360
    return f"background:hsl({hue},55%,{(72, 60, 82, 50)[warp % 4]}%);color:#111"


def _table(shape: tuple[int, ...], cell: Any) -> Html:
    """The last axis goes across."""
    columns = shape[-1] if shape else 1
    rows = prod(shape[:-1])
    shown = min(columns, MOST_COLUMNS)
    head = tag("tr", tag("th"), [tag("th", c) for c in range(shown)],
               tag("th", "…") if shown < columns else None)  # fmt: skip
    body = [
        tag("tr", tag("th", row), [cell(row * columns + c) for c in range(shown)])
        for row in range(min(rows, MOST_ROWS))
    ]
    left = rows - len(body)
    rest = tag("div", plural(left, "more row"), class_="q") if left else None
    return tag("div", tag("table", head, body), rest, style="overflow-x:auto;max-height:32em")


__all__ = ["of_layout", "of_shared"]
