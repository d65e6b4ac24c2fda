"""Commands about the session itself: help, files, the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from inspect import isfunction
from typing import Any

from blockstep.debugger.commands.base import Base
from blockstep.debugger.commands.elements import element_text
from blockstep.debugger.commands.lines import of_file
from blockstep.debugger.commands.reply import Refused, Reply, Then
from blockstep.debugger.commands.table import Table
from blockstep.debugger.points import EVENTS, Breakpoint
from blockstep.debugger.replay import Recipe, save
from blockstep.runtime.ladder.sources import NotWritten

DEPTH = 20  # files that run files


class Files(Base):
    """Help, files, and the end."""

    def do_help(self, arg: str) -> Reply:
        """h(elp) [COMMAND]

        All commands with a line each, or all of one."""
        table: Table = self.table
        if arg:
            name = table.resolve(arg)
            short = table.short(name)
            also = f"\n\nAlso `{short}`." if short and f"{short}(" not in table.usage(name) else ""
            return Reply(f"{table.docs[name]}{also}", {"name": name, "usage": table.usage(name)})
        width = max(len(name) for name in table.methods)
        lines = []
        for title, names in table.by_family().items():
            lines.append(f"{title}:")
            lines += [f"  {name:<{width}}  {table.summary(name)}" for name in names]
        lines.append(
            "Beginnings of names do, as long as one command alone begins so; an empty line"
        )
        lines.append("repeats a step. Anything else is an expression, and its value is printed.")
        return Reply("\n".join(lines), {"commands": sorted(table.methods)})

    def do_save(self, arg: str) -> Reply:
        """save FILE [as made by FUNCTION]

        Writes the launch into one small file. It has the kernel's lines, its arguments as they were
        before the launch, grid, options, seed, the breakpoints, and where this session stands:
        `blockstep debug FILE` opens it on any machine. `as made by FUNCTION`: FUNCTION() of the
        script, which has to return the arguments by name, is written down in place of their
        memory."""
        file, made, name = arg.partition(" as made by ")
        file = file.strip()
        if not file:
            raise Refused("save to which file? for example `save bug.blockstep`")
        recipe = Recipe(self._host_function(name.strip())) if made else None
        try:
            with self.before_launch():
                size = save(
                    file, self.session.launch, seed=self.session.seed, recipe=recipe,
                    commands=tuple(self._back_here()),
                )  # fmt: skip
        except NotWritten as reason:
            raise Refused(f"nothing was written: {reason}") from reason
        except OSError as error:
            raise Refused(f"{file}: {error.strerror}") from error
        text = f"{file}, {size} bytes; open it with: blockstep debug {file}"
        return Reply(text, {"file": os.path.abspath(file), "bytes": size})

    def _host_function(self, name: str) -> Callable[..., Any]:
        main = sys.modules.get("__main__")
        found = getattr(main, name, None)
        if not isfunction(found):
            raise Refused(f"the script has no function {name}")
        return found

    def _back_here(self) -> Iterator[str]:
        """Commands that bring a session of the same launch to where this one stands."""
        points = self.session.points
        for point in points.breakpoints:
            yield f"break {_place_of(point)}"
        for watch in points.watches:
            yield f"watch {element_text(watch.argument, watch.index)}"
        for event in EVENTS:
            default = event in ("finding", "exception")
            if default != (event in points.events):
                yield f"{'uncatch' if default else 'catch'} {event}"
        if points.error is not None:
            yield f"catch error > {points.error:g}"
        if self.stop is None or self.stop.program is None:
            return
        start = self.first or (0, 0, 0)
        yield f"run {','.join(map(str, start))}"
        yield f"position {self.lines_before()}"

    def do_source(self, arg: str) -> Reply:
        """source FILE

        Runs the commands in a file. One stands on a line; a line that begins with # is a comment. It
        stops at the first command that is refused."""
        if not arg:
            raise Refused("which file?")
        if self.depth >= DEPTH:
            raise Refused(f"{arg}: files run files, {DEPTH} deep")
        try:
            lines = of_file(arg)
        except OSError as error:
            raise Refused(f"{arg}: {error.strerror}") from error
        self.depth += 1
        texts: list[str] = []
        then = Then.STAY
        try:
            while then is Then.STAY and (line := lines.read()) is not None:
                reply = self.run_line(line)
                texts += [reply.text] if reply.text else []
                then = reply.then
        finally:
            self.depth -= 1
        return Reply("\n".join(texts), then=then)

    def do_quit(self, arg: str) -> Reply:
        """q(uit)

        Ends the session and the script."""
        return Reply(then=Then.QUIT)


def _place_of(point: Breakpoint) -> str:
    file = os.path.basename(point.file or "")
    place = point.function or f"{file}:{point.line}"
    program = "" if point.program is None else f" in {','.join(map(str, point.program))}"
    return f"{place}{program}" + (f" if {point.condition}" if point.condition else "")


__all__ = ["Files"]
