"""Commands that ask who wrote an element, and from what."""

from __future__ import annotations

from blockstep.debugger.blame import accesses, as_json, blame
from blockstep.debugger.commands.base import Base
from blockstep.debugger.commands.reply import Reply
from blockstep.diagnostics.blame import blame_text, who_text


class Blaming(Base):
    """Who wrote an element, and from what."""

    def do_blame(self, arg: str) -> Reply:
        """bl(ame) ARG[i, j]

        Who wrote an element last, and what its value came from. The program instance, the line, and
        the chain of values behind it, back to what the host passed: over the whole launch, wherever
        the session stands in it."""
        name, index = self.element(arg)
        with self.fresh_launch() as launch:
            found = blame(launch, name, index, seed=self.session.seed)
        return Reply(blame_text(found), {"blame": as_json(found)})

    def do_who(self, arg: str) -> Reply:
        """who ARG[i, j]

        Every access to an element, in order. Reads, writes and atomics of all program instances, with
        the values before and after."""
        name, index = self.element(arg)
        with self.fresh_launch() as launch:
            found = accesses(launch, name, index, seed=self.session.seed)
        return Reply(who_text(found), {"who": as_json(found)})


__all__ = ["Blaming"]
