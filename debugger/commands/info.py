"""`info SUBJECT`: what there is to know at this place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep import diagnostics
from blockstep.debugger.commands import values
from blockstep.debugger.commands.gridmap import grid_text
from blockstep.debugger.commands.layouts import layouts_at
from blockstep.debugger.commands.points import Stopping
from blockstep.debugger.commands.reply import Refused, Reply
from blockstep.debugger.commands.tabular import columns
from blockstep.diagnostics.source import place
from blockstep.diagnostics.words import plural
from blockstep.export import finding_json
from blockstep.interp.memory import Storage
from blockstep.runtime.arguments import Argument
from blockstep.runtime.ladder.memory import array_of


class Info(Stopping):
    """What there is to know."""

    def do_info(self, arg: str) -> Reply:
        """i(nfo) SUBJECT

        What there is to know of a SUBJECT. Its beginning does:

        args           the arguments of the launch, and what is in their memory now
        locals         the names of this function: type, shape, range, NaN, undefined elements
        masks          blocks of truth values, and where they are true
        allocations    the memory behind the arguments, and how much of it nobody has written
        findings       what the checkers have found so far
        grid           a map of the program instances: done, here, with a finding
        layout         how the compiler spreads the blocks of this line over lanes and warps
        breakpoints    breakpoints, watched elements and events, with how often they were met
        history        how far one can go back, and what that costs"""
        subjects: dict[str, Callable[[], Reply]] = {
            "args": self._args, "locals": self._locals, "masks": self._masks,
            "allocations": self._allocations, "findings": self._findings, "grid": self._grid,
            "layout": self._layout, "breakpoints": self._breakpoints, "history": self._history,
        }  # fmt: skip
        found = [name for name in subjects if name.startswith(arg)] if arg else []
        if arg in ("l", "lo"):
            found = ["locals"]
        if len(found) != 1:
            raise Refused(f"info {' | '.join(subjects)}")
        return subjects[found[0]]()

    def do_args(self, arg: str) -> Reply:
        """a(rgs)

        The same as `info args`."""
        return self._args()

    def _args(self) -> Reply:
        rows, data = [], {}
        for argument in self.session.launch.bound.arguments:
            for part in argument.walk():
                rows.append([part.name, *_argument_cells(part)])
                data[part.name] = {"type": rows[-1][1], "value": rows[-1][2]}
        return Reply(columns(rows), {"args": data})

    def _locals(self) -> Reply:
        rows, data = [], {}
        for name, value in self.frame.locals.items():
            focus = self.focus_for(value)
            shown = values.element_text(value, focus) if focus else values.summary(value)
            rows.append([name, values.type_text(value), shown])
            data[name] = {"type": rows[-1][1], "value": values.summary(value)}
        return Reply(columns(rows) or "no names yet", {"locals": data})

    def _masks(self) -> Reply:
        rows, data = [], {}
        for name, value in self.frame.locals.items():
            if values.is_block(value) and value.type.scalar.is_int1():
                chosen = np.asarray(value.handle)
                rows.append([name, values.type_text(value), _true_text(chosen)])
                data[name] = {"true": int(chosen.sum()), "of": int(chosen.size)}
        return Reply(columns(rows) or "no name is a mask here", {"masks": data})

    def _allocations(self) -> Reply:
        rows, data = [], []
        for storage in self.session.launch.bound.space.storages:
            if storage.internal:
                continue
            rows.append(_storage_cells(storage))
            data.append({"name": rows[-1][0], "bytes": storage.nbytes, "text": rows[-1][2]})
        return Reply(columns(rows), {"allocations": data})

    def _findings(self) -> Reply:
        found = self.session.findings
        text = diagnostics.render_all(found) or "nothing has been found so far"
        return Reply(text, {"findings": [finding_json(f) for f in found]})

    def _grid(self) -> Reply:
        state = self.session.grid_state()
        text = grid_text(state)
        data = {
            "grid": list(state.grid), "done": int(state.done.sum()),
            "found": [int(i) for i in np.flatnonzero(state.found)], "here": state.here,
        }  # fmt: skip
        return Reply(text, {"grid": data})

    def _history(self) -> Reply:
        session = self.session
        at, count = session.position
        kept = session.history
        text = (
            f"{plural(count, 'line')} recorded, of which {plural(count - kept.first, 'line')} are kept, in "
            f"{_size(kept.bytes)} of at most {_size(kept.limit)}; this is line {at}"
        )
        data = {
            "position": at, "recorded": count, "first": kept.first, "bytes": kept.bytes,
            "limit": kept.limit,
        }  # fmt: skip
        return Reply(text, {"history": data})

    def _breakpoints(self) -> Reply:
        return self.points_reply()

    def _layout(self) -> Reply:
        frame = self.frame
        return Reply(layouts_at(self.session.launch, frame.file, frame.line))


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.0f} KiB"


def _argument_cells(argument: Argument) -> list[str]:
    if argument.view is not None:
        view: Any = argument.view
        return [view.type_text, _memory_text(argument.value, view)]
    if argument.kind == "tuple":
        return ["tuple", plural(len(argument.items), "item")]
    kind = "constexpr" if argument.kind == "constexpr" else str(argument.type)
    return [kind, values.short(repr(argument.value))]


def _memory_text(array: Any, view: Any) -> str:
    if view.storage is None or not view.size:
        return "nothing"
    return values.range_text(array_of(view, view.storage.data))


def _true_text(chosen: Any) -> str:
    count = int(chosen.sum())
    if chosen.ndim != 1 or count in (0, chosen.size):
        return f"{count} of {chosen.size} true"
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
    runs = [f"{a}..{b - 1}" if b - a > 1 else str(a) for a, b in edges.reshape(-1, 2)]
    more = f" and {len(runs) - 4} more runs" if len(runs) > 4 else ""
    return f"{count} of {chosen.size} true: {', '.join(runs[:4])}{more}"


def _storage_cells(storage: Storage) -> list[str]:
    names = ", ".join(dict.fromkeys(v.name for v in storage.views if v.name)) or storage.name
    said = [f"{storage.nbytes} bytes"]
    written = storage.written
    if written is not None:
        said.append(f"{int(np.count_nonzero(~written))} never written")
    if storage.readonly:
        said.append("read-only")
    made = storage.made_by
    if made is not None and made.made_at is not None:
        said.append(f"from {made.made_by} at {place(made.made_at)}")
    return [names or "unnamed", said[0], ", ".join(said[1:])]
