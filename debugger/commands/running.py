"""Commands that run the kernel, forwards and backwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from blockstep.debugger.commands.base import Base
from blockstep.debugger.commands.elements import element_text
from blockstep.debugger.commands.reply import Refused, Reply, Then
from blockstep.debugger.commands.stopping import json_of, text_of
from blockstep.debugger.moments import Reason, Stop
from blockstep.diagnostics.words import triple
from blockstep.options import Program, parse_program

Action = Callable[[], Stop]
_WITHIN = (Reason.FINDING, Reason.BORN, Reason.EXCEPTION, Reason.ERROR)  # a line, not before one


class Running(Base):
    """Running, forwards and backwards."""

    def do_step(self, arg: str) -> Reply:
        """s(tep) [COUNT]

        Runs to the next line. Functions that the kernel calls are entered; from the end of a
        program instance it goes to the beginning of the next one."""
        return self._several(lambda: self._forward(self.session.step), arg)

    def do_next(self, arg: str) -> Reply:
        """n(ext) [COUNT]

        Runs to the next line of this function. Functions that it calls run through."""
        return self._several(lambda: self._forward(self.session.next), arg)

    def do_finish(self, arg: str) -> Reply:
        """fin(ish)

        Runs until this function returns. The kernel's own stands at its end then, with the names
        that it leaves."""
        return self._run(lambda: self._forward(self.session.finish))

    def do_return(self, arg: str) -> Reply:
        """r(eturn)

        The same as `finish`."""
        return self._run(lambda: self._forward(self.session.finish))

    def do_until(self, arg: str) -> Reply:
        """unt(il) [LINE]

        Runs to a line after this one, or to LINE. Loops run to their end."""
        line = self.number(arg) if arg else None
        return self._run(lambda: self._forward(lambda: self.session.until(line)))

    def do_continue(self, arg: str) -> Reply:
        """c(ontinue)

        Runs to the next breakpoint, watched element or event. Program instances that follow run,
        too. At the end of the launch it stops once more; from there the script goes on."""
        if self.over:
            return Reply(then=Then.GO)
        return self._run(self.session.cont)

    def do_reverse_step(self, arg: str) -> Reply:
        """reverse-step [COUNT]

        Goes back to the line that ran before. Names and memory are what they were."""
        return self._several(self.session.reverse_step, arg)

    def do_reverse_next(self, arg: str) -> Reply:
        """reverse-next [COUNT]

        Goes back a line of this function. Functions that were called are passed over."""
        return self._several(self.session.reverse_next, arg)

    def do_reverse_finish(self, arg: str) -> Reply:
        """reverse-finish

        Goes back to the line that called this function. In the kernel's own, to its first line."""
        return self._run(self.session.reverse_finish)

    def do_reverse_continue(self, arg: str) -> Reply:
        """reverse-continue [ARG[i, j] | nan | inf]

        Goes back to the last breakpoint, watch or event. If there is none, to where the record begins.
        ARG[i, j]: to the last line that wrote that element. `nan`, `inf`: to the operation in this
        program instance that made the first NaN or infinity of operands that had none."""
        if arg in ("nan", "inf"):
            return self._to_birth(arg)
        if not arg:
            return self._run(self.session.reverse_continue)
        self.stopped  # noqa: B018  (raises before the first stop)
        name, index = self.element(arg)
        stop = self.session.last_write(self.session.view(name), index)
        if stop is None:
            raise Refused(
                f"no line wrote {element_text(name, index)} since this run was recorded; "
                "`who` lists every access of the launch"
            )
        return self.arrived(stop)

    def _to_birth(self, kind: str) -> Reply:
        """The run once more up to that operation, or back to where it stood."""
        program, (number, _) = self.stopped.program, self.session.position
        if program is None:
            raise Refused("of which program instance? `program X,Y,Z` goes to one")
        with self._only({kind}):
            stop = self.session.start(self.first)
            while stop.reason is not Reason.END and (
                stop.reason is not Reason.BORN or stop.program != program
            ):
                stop = self.session.cont()
            if stop.reason is Reason.END:
                self.session.start(self.first)
                self.arrived(self.session.until_moment(number))
                what = "NaN" if kind == "nan" else "infinity"
                raise Refused(f"no {what} is born in this program instance; some may be loaded")
        return self.arrived(stop)

    def lines_before(self) -> int:
        """How many lines ran before the one where the session stands. Stops in the middle of a line
        are no lines."""
        number = self.session.position[0]
        known = self.session.history.moments
        return number - sum(m.number <= number and m.reason in _WITHIN for m in known)

    def _to_line(self, count: int, error: float | None = None) -> Stop:
        with self._only(set(), error):
            self.session.start(self.first)
            return self.session.until_moment(count)

    def repeat(self) -> None:
        """Runs the launch once more, to the line where the session stands, with every value's error."""
        self.arrived(self._to_line(self.lines_before(), math.inf))

    @contextmanager
    def _only(self, events: set[str], error: float | None = None) -> Iterator[None]:
        """Nothing but these events stops the session inside."""
        points = self.session.points
        before = points.breakpoints, points.watches, points.events, points.error
        points.breakpoints, points.watches, points.events, points.error = [], [], events, error
        try:
            yield
        finally:
            points.breakpoints, points.watches, points.events, points.error = before

    def do_run(self, arg: str) -> Reply:
        """run [X,Y,Z]

        Starts the launch again, with its memory as it was before. It stops at the first line of a
        program instance: the one given, or the one that the session began with. Breakpoints stay."""
        return self._go_to(self._program(arg) if arg else self.first)

    def do_restart(self, arg: str) -> Reply:
        """restart

        Goes back to the first line of this program instance."""
        return self._go_to(self.stopped.program)

    def do_program(self, arg: str) -> Reply:
        """program [X,Y,Z]

        Goes to the first line of another program instance. Those before it run first. Without
        numbers it says which one this is."""
        if not arg:
            program = self.stopped.program
            if program is None:
                raise Refused("the launch is over")
            text = f"program instance {triple(program)} of grid {triple(self.session.launch.grid)}"
            return Reply(text, {"program": list(program)})
        return self._go_to(self._program(arg))

    def do_position(self, arg: str) -> Reply:
        """position [NUMBER]

        Where the session stands in its record, in lines. With a number it runs the launch again up
        to there, and nothing else stops it on the way."""
        if arg:
            return self.arrived(self._to_line(self.number(arg)))
        return Reply(f"line {self.lines_before()} of this run", {"position": self.lines_before()})

    # How.

    @property
    def over(self) -> bool:
        """Whether the launch has come to its end and the session stands there."""
        return self.stop is not None and self.stop.reason is Reason.END

    def _program(self, text: str) -> Program:
        try:
            return parse_program(text)
        except ValueError as error:
            raise Refused(str(error)) from None

    def _go_to(self, program: Program | None) -> Reply:
        try:
            return self.arrived(self.session.start(program))
        except ValueError as error:
            raise Refused(str(error)) from None

    def _run(self, action: Action) -> Reply:
        self.stopped  # noqa: B018  (raises before the first stop)
        return self.arrived(action())

    def _forward(self, action: Action) -> Stop:
        if self.over:
            raise Refused(
                "the launch is over: `continue` goes on with the script, `run` begins again"
            )
        return action()

    def _several(self, action: Action, arg: str) -> Reply:
        """Once or more; whatever else stops the session ends it."""
        self.stopped  # noqa: B018  (raises before the first stop)
        stop = action()
        for _ in range(self.count(arg) - 1):
            if stop.reason is not Reason.LINE:
                break
            stop = action()
        return self.arrived(stop)

    def arrived(self, stop: Stop) -> Reply:
        """Takes note of a stop; what is said of it."""
        before, self.stop = self.stop, stop
        self.at, self.listed = max(len(stop.frames) - 1, 0), 0
        text = text_of(stop, before, self.session, self.color)
        if stop.frames and self.displays:
            text = "\n".join([text, self.displayed()])
        return Reply(text, {"stop": json_of(stop)})

    def arrival(self) -> Reply:
        """What is said of the place where the session stands, to somebody who sees it first."""
        stop = self.stopped
        return Reply(text_of(stop, None, self.session, self.color), {"stop": json_of(stop)})


__all__ = ["Running"]
