"""Commands that hold the launch against something else: its compiled form, exact arithmetic."""

from __future__ import annotations

from blockstep import diagnostics
from blockstep.debugger.commands.base import Base
from blockstep.debugger.commands.reply import Refused, Reply
from blockstep.export import finding_json


class Checking(Base):
    """Holding the launch against something else."""

    def do_diff(self, arg: str) -> Reply:
        """diff [all]

        Compares this launch with its compiled forms. Those are the IR after each pass of the compiler,
        the PTX on the ptx machine, and a device where there is one. It names the first form that
        differs, the first element, the line and the operation that made it, and the pass that is to
        blame. `diff all` also lists the passes that change nothing."""
        if arg not in ("", "all"):
            raise Refused("diff, or diff all")
        from blockstep.runtime.ladder import climb  # the compiler: nobody else here needs it
        from blockstep.runtime.ladder.telling import climb_json, text_of

        with self.fresh_launch() as launch:
            found = climb(launch)
        parts = [text_of(found, arg == "all")]
        parts += [diagnostics.render(f, self.color) for f in found.findings]
        data = {**climb_json(found), "findings": [finding_json(f) for f in found.findings]}
        return Reply("\n\n".join(parts), {"diff": data})


__all__ = ["Checking"]
