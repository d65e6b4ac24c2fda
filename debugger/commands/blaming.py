"""Commands that ask who wrote an element, and from what."""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.debugger.blame import accesses, as_json, blame, blame_value
from blockstep.debugger.commands.base import Base
from blockstep.debugger.commands.elements import parse_element
from blockstep.debugger.commands.reply import Refused, Reply
from blockstep.diagnostics.blame import blame_text, who_text
from blockstep.findings.blame import Chain
from blockstep.language.value import tensor
from blockstep.runtime.ladder.launch import Launch


@dataclass(frozen=True, slots=True)
class Block:
    """A block, or a scalar, of the kernel."""

    name: str
    shape: tuple[int, ...]


class Blaming(Base):
    """Who wrote an element, and from what."""

    def do_blame(self, arg: str) -> Reply:
        """bl(ame) ARG[i, j] | NAME[i, j]

        Who wrote an element last, and what its value came from. The program instance, the line, and
        the chain of values behind it, back to what the host passed: over the whole launch, wherever
        the session stands in it. NAME[i, j]: what an element of a block came from, here."""
        local = self._local(arg)
        name, index = parse_element(arg, [local], self.index_value) if local else self.element(arg)
        with self.fresh_launch() as launch:
            if local is None:
                found = blame(launch, name, index, seed=self.session.seed)
            else:
                found = self._of_value(launch, name, index)
        return Reply(blame_text(found), {"blame": as_json(found)})

    def _of_value(self, launch: Launch, name: str, index: tuple[int, ...]) -> Chain:
        program = self.stopped.program
        assert program is not None
        at = self.at - len(self.frames)
        try:
            return blame_value(
                launch, program, self.stopped.frames, name, index, at=at, seed=self.session.seed
            )
        except LookupError as error:
            raise Refused(str(error.args[0] if error.args else error)) from error

    def _local(self, text: str) -> Block | None:
        """The block of the kernel that an element is of, if it is none of an argument."""
        name = text.partition("[")[0].strip()
        if any(v.name == name for v in self.session.views) or not self.stopped.frames:
            return None
        value = self.frame.locals.get(name)
        return Block(name, tuple(value.shape)) if isinstance(value, tensor) else None

    def do_who(self, arg: str) -> Reply:
        """who ARG[i, j]

        Every access to an element, in order. Reads, writes and atomics of all program instances, with
        the values before and after."""
        name, index = self.element(arg)
        with self.fresh_launch() as launch:
            found = accesses(launch, name, index, seed=self.session.seed)
        return Reply(who_text(found), {"who": as_json(found)})


__all__ = ["Blaming"]
