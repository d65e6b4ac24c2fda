"""Commands that run the kernel, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable

from blockstep.debugger.commands.base import Base
from blockstep.debugger.commands.elements import element_text
from blockstep.debugger.commands.interrupting import interruptible
from blockstep.debugger.commands.reply import Refused, Reply, Then
from blockstep.debugger.session import Stop
from blockstep.diagnostics.words import triple
from blockstep.options import parse_program


class Running(Base):
    """Running, forwards and backwards."""

    def do_step(self, arg: str) -> Reply:
        """s(tep) [COUNT]

        Runs to the next line, also of functions that the kernel calls; from the end of a program
        instance to the beginning of the next one."""
        return self._several(self.session.step, arg)

    def do_next(self, arg: str) -> Reply:
        """n(ext) [COUNT]

        Runs to the next line of this function; functions that it calls run through."""
        return self._several(self.session.next, arg)

    def do_finish(self, arg: str) -> Reply:
        """fin(ish)

        Runs until this function returns to its caller, or the program instance is done."""
        return self._run(self.session.finish)

    def do_return(self, arg: str) -> Reply:
        """r(eturn)

        The same as `finish`."""
        return self._run(self.session.finish)

    def do_until(self, arg: str) -> Reply:
        """unt(il) [LINE]

        Runs to a line after this one, so to the end of a loop; or until LINE or one after it."""
        line = self.number(arg) if arg else None
        return self._run(lambda: self.session.until(line))

    def do_continue(self, arg: str) -> Reply:
        """c(ontinue)

        Runs to the next breakpoint, watched element or event, in this program instance and those
        that follow. At the end of the launch it stops once more; then the script goes on."""
        if self.over:
            return Reply(then=Then.GO)
        return self._run(self.session.cont)

    def do_reverse_step(self, arg: str) -> Reply:
        """reverse-step [COUNT]

        Goes back to the line that ran before this one: names and memory are what they were. Also
        `rs`."""
        return self._several(self.session.reverse_step, arg)

    def do_reverse_next(self, arg: str) -> Reply:
        """reverse-next [COUNT]

        Goes back a line of this function; functions that were called are passed over. Also `rn`."""
        return self._several(self.session.reverse_next, arg)

    def do_reverse_finish(self, arg: str) -> Reply:
        """reverse-finish

        Goes back to the line that called this function. Also `rf`."""
        return self._run(self.session.reverse_finish)

    def do_reverse_continue(self, arg: str) -> Reply:
        """reverse-continue [ARG[i, j] | nan]

        Goes back to the last breakpoint, watched element or event that was passed; to the last
        line that wrote an element; or to the line where the first NaN was born. Without any, to
        the first line of the program instance. Also `rc`."""
        if not arg:
            return self._run(self.session.reverse_continue)
        return self._run(lambda: self.session.reverse_continue(self.watched(arg)))

    def do_run(self, arg: str) -> Reply:
        """run [X,Y,Z]

        Starts the launch again, with its memory as it was before, and stops at the first line of a
        program instance: the one given, or the one that it began with. Breakpoints stay."""
        return self._go_to(arg)

    def do_restart(self, arg: str) -> Reply:
        """restart

        Goes back to the first line of this program instance."""
        return self._run(self.session.restart)

    def do_program(self, arg: str) -> Reply:
        """program [X,Y,Z]

        Goes to the first line of another program instance; those before it run first. Without
        numbers it says which one this is."""
        if not arg:
            stop = self.stopped
            grid = self.session.launch.grid
            return Reply(f"program instance {triple(stop.program)} of grid {triple(grid)}")
        return self._go_to(arg)
