"""Commands that hold the launch against something else: its compiled form, exact arithmetic."""

from __future__ import annotations

from typing import Any

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

    def do_precision(self, arg: str) -> Reply:
        """precision [ARG against EXPRESSION]

        Where this launch loses bits, against float64. By source line, with causes (cancellation,
        overflow, a sum in a short type, tf32), and what each decision about types would give back.
        `precision out against wanted`, with `wanted` an array of the script: whether the output
        differs from it by rounding (drift) or by a mistake (bug)."""
        from blockstep.runtime.precision import measure  # as in `diff`

        reference = self._reference(arg)
        with self.fresh_launch() as launch:
            try:
                found = measure(launch, reference=reference)
            except (LookupError, ValueError) as error:
                raise Refused(str(error.args[0] if error.args else error)) from error
        return Reply(str(found), {"precision": found.to_json()})

    def _reference(self, arg: str) -> dict[str, Any] | None:
        if not arg:
            return None
        name, against, text = arg.partition(" against ")
        if not against:
            raise Refused("precision, or precision ARG against EXPRESSION")
        known = {v.name for v in self.session.views}
        if name.strip() not in known:
            raise Refused(f"no argument is an array called `{name.strip()}`")
        return {name.strip(): self.value(text)}


__all__ = ["Checking"]
