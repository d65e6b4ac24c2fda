"""Commands about the session itself: help, files, the end."""

from __future__ import annotations

import os

from blockstep.debugger.commands.base import Base
from blockstep.debugger.commands.lines import of_file
from blockstep.debugger.commands.reply import Refused, Reply, Then
from blockstep.debugger.commands.table import Table
from blockstep.debugger.replay import Recipe, save
from blockstep.runtime.ladder.sources import NotWritten

DEPTH = 20  # files that run files


class Files(Base):
    """Help, files, and the end."""

    def do_help(self, arg: str) -> Reply:
        """h(elp) [COMMAND]

        All commands with a line each, or one with all that it can do."""
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

        Writes the launch into one small file: the kernel's lines, its arguments as they were before
        the launch, grid, options, seed, the breakpoints, and where this session stands.
        `blockstep debug FILE` opens it on any machine. `as made by FUNCTION`: FUNCTION() of the
        script, which has to return the arguments by name, is written down in place of their
        memory."""
        file, made, name = arg.partition(" as made by ")
        file = file.strip()
        if not file:
            raise Refused("save to which file? for example `save bug.blockstep`")
        recipe = Recipe(self.host_function(name.strip())) if made else None
        try:
            with self.at_launch():
                size = save(
                    file, self.session.launch, seed=self.session.seed, recipe=recipe,
                    commands=tuple(self.to_return_here()),
                )  # fmt: skip
        except NotWritten as reason:
            raise Refused(f"nothing was written: {reason}") from reason
        except OSError as error:
            raise Refused(f"{file}: {error.strerror}") from error
        text = f"{file}, {size} bytes; open it with: blockstep debug {file}"
        return Reply(text, {"file": os.path.abspath(file), "bytes": size})

    def do_source(self, arg: str) -> Reply:
        """source FILE

        Runs the commands in a file, one a line; a line that begins with # is a comment. It stops at
        the first command that is refused."""
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


__all__ = ["Files"]
