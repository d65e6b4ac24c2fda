"""Commands that say where to stop."""

from __future__ import annotations

import os
import re

from blockstep.debugger.commands.base import Base
from blockstep.debugger.commands.elements import element_text
from blockstep.debugger.commands.functions import lines_of
from blockstep.debugger.commands.places import line_count, place_text
from blockstep.debugger.commands.reply import Refused, Reply
from blockstep.debugger.commands.tabular import columns
from blockstep.debugger.points import EVENTS, Breakpoint, Watch
from blockstep.diagnostics.source import line_text
from blockstep.diagnostics.words import plural, triple
from blockstep.options import parse_program

_CONDITION = re.compile(r"(?:^|\s+|,\s*)if\s+(.+)$")
_PROGRAM = re.compile(r"\s+(?:in|program)\s+(\(?\d+(?:\s*,\s*\d+){0,2}\)?)\s*$")
_ERROR = re.compile(r"error\s*>\s*(\d+(?:\.\d+)?)\s*(?:ulps?)?$")


class Stopping(Base):
    """Where to stop."""

    def do_break(self, arg: str) -> Reply:
        """b(reak) [[FILE:]LINE | FUNCTION] [in X,Y,Z] [if CONDITION]

        Stops before a line runs, or at the first line of a function. `in 3,0`: in that program
        instance only. `if CONDITION`: where an expression over the names there is true, of a block
        for any element: `break 12 if offs >= n`. Without a place, at this line."""
        return self._break(arg, temporary=False)

    def do_tbreak(self, arg: str) -> Reply:
        """tb(reak) [[FILE:]LINE | FUNCTION] [in X,Y,Z] [if CONDITION]

        A breakpoint for one stop. See `break`."""
        return self._break(arg, temporary=True)

    def _break(self, arg: str, temporary: bool) -> Reply:
        place, condition = arg, None
        if found := _CONDITION.search(place):
            place, condition = place[: found.start()], found[1]
            self.parsed(condition)
        program = None
        if found := _PROGRAM.search(" " + place):
            program = parse_program(found[1])
            place = (" " + place)[: found.start()]
        told = self._place(place.strip().rstrip(","))
        point = self.session.points.add(
            condition=condition, program=program, temporary=temporary, **told
        )
        return Reply(
            f"breakpoint {point.number}: {self.point_text(point)}", {"number": point.number}
        )

    def _place(self, text: str) -> dict[str, object]:
        """`file` and `line`, or `function`."""
        if not text:
            return {"file": self.frame.file, "line": self.frame.line}
        file, colon, line = text.rpartition(":")
        if line.isdigit():
            found = self._file(file) if colon else self.kernel_file()
            return {"file": found, "line": self._line(found, int(line))}
        if text.isidentifier():
            return {"function": self._function(text)}
        raise Refused(f"a place is LINE, FILE:LINE or FUNCTION, not {text}")

    def _file(self, name: str) -> str:
        """The file of the kernel, or of a function that it calls, of this name."""
        known = dict.fromkeys(f.prepared.source.file for f in self.functions().values())
        found = [f for f in known if f == name or f.endswith(os.sep + name)]
        if len(found) != 1:
            names = ", ".join(os.path.basename(f) for f in known)
            raise Refused(f"the kernel has no lines in a file {name}; it has some in {names}")
        return found[0]

    def _line(self, file: str, line: int) -> int:
        """The line, or the next one that has code."""
        codes = [f for f in self.functions().values() if f.prepared.source.file == file]
        lines = sorted({n for f in codes for n in lines_of(f)})
        after = [n for n in lines if n >= line]
        if not after:
            last = f"; the last is {lines[-1]}" if lines else ""
            raise Refused(f"no line of the kernel from {line} on{last}")
        if line > line_count(file):
            raise Refused(f"the file ends at line {line_count(file)}")
        return after[0]

    def _function(self, name: str) -> str:
        known = self.functions()
        if name not in known:
            raise Refused(f"the kernel calls no function {name}; there are {', '.join(known)}")
        return name

    def do_watch(self, arg: str) -> Reply:
        """wa(tch) ARG[i, j]

        Stops after a line that writes an element of an argument. Whatever is written. Going back it
        stops before that line."""
        name, index = self.element(arg)
        watch = self.session.points.watch(self.session.view(name), index)
        return Reply(f"watch {watch.number}: {element_text(name, index)}", {"number": watch.number})

    def do_catch(self, arg: str) -> Reply:
        """catch [finding | nan | inf | exception | error > N]

        Stops in the middle of a line at an event. Events are what a checker finds, the first NaN or
        infinity of a program instance, an exception, an operation whose error passes N units in the
        last place (the session then runs again up to its line, with float64 beside every value).
        Findings and exceptions are caught from the start; `catch` alone lists what is."""
        points = self.session.points
        if not arg:
            return Reply(self._caught(), {"events": sorted(points.events)})
        if found := _ERROR.match(arg):
            self._follow_errors(float(found[1]))
        elif arg.lower() in EVENTS:
            points.events.add(arg.lower())
        else:
            raise Refused(f"catch {' | '.join(EVENTS)} | error > N")
        return Reply(self._caught(), {"events": sorted(points.events)})

    def _follow_errors(self, limit: float) -> None:
        """Values that are there already have no float64 beside them: the run is repeated up to here."""
        points = self.session.points
        had, points.error = points.error, limit
        if had is None and self.stop is not None:
            self.repeat()

    def do_uncatch(self, arg: str) -> Reply:
        """uncatch [finding | nan | inf | exception | error]

        Stops at an event no longer. Without a name, at none of them."""
        points = self.session.points
        if arg == "error":
            points.error = None
        elif arg in EVENTS:
            points.events.discard(arg)
        elif not arg:
            points.events, points.error = set(), None
        else:
            raise Refused(f"uncatch {' | '.join(EVENTS)} | error")
        return Reply(self._caught(), {"events": sorted(points.events)})

    def _caught(self) -> str:
        points = self.session.points
        known = [e for e in EVENTS if e in points.events]
        known += [f"error > {points.error:g} ulps"] if points.error is not None else []
        return f"caught: {', '.join(known) or 'nothing'}"

    def do_delete(self, arg: str) -> Reply:
        """delete [NUMBER ...]

        Takes breakpoints and watches away. Without a number, all of them."""
        points = self.session.points
        every = [p.number for p in self._every()]
        numbers = [self._known(word).number for word in arg.split()] or every
        for number in numbers:
            points.remove(number)
        return Reply(f"{plural(len(numbers), 'breakpoint')} deleted", {"deleted": numbers})

    def do_clear(self, arg: str) -> Reply:
        """cl(ear) [[FILE:]LINE | FUNCTION]

        Takes the breakpoints of a place away. Without a place, those of this line."""
        told = self._place(arg.strip())
        points = self.session.points
        found = [
            p.number
            for p in points.breakpoints
            if all(getattr(p, key) == value for key, value in told.items())
        ]
        if not found:
            raise Refused("there is no breakpoint")
        for number in found:
            points.remove(number)
        return Reply(f"{plural(len(found), 'breakpoint')} deleted", {"deleted": found})

    def do_disable(self, arg: str) -> Reply:
        """disable NUMBER ...

        Switches breakpoints or watches off."""
        return self._enable(arg, False)

    def do_enable(self, arg: str) -> Reply:
        """enable NUMBER ...

        Switches breakpoints or watches on again."""
        return self._enable(arg, True)

    def _enable(self, arg: str, on: bool) -> Reply:
        found = [self._known(word) for word in arg.split()]
        if not found:
            raise Refused("which numbers? `info breakpoints` lists them")
        for point in found:
            point.enabled = on
        return self.points_reply()

    def do_condition(self, arg: str) -> Reply:
        """cond(ition) NUMBER [EXPRESSION]

        Lets a breakpoint hold only where an expression is true. Without one it always holds."""
        number, _, condition = arg.partition(" ")
        point = self._breakpoint(number)
        if condition.strip():
            self.parsed(condition)
        point.condition = condition.strip() or None
        return Reply(f"breakpoint {point.number}: {self.point_text(point)}")

    def do_ignore(self, arg: str) -> Reply:
        """ignore NUMBER COUNT

        Passes a breakpoint COUNT times before it stops the session."""
        number, _, count = arg.partition(" ")
        point = self._breakpoint(number)
        point.ignore = self.number(count)
        return Reply(f"breakpoint {point.number} is passed {plural(point.ignore, 'time')} more")

    def _every(self) -> list[Breakpoint | Watch]:
        points = self.session.points
        every: list[Breakpoint | Watch] = [*points.breakpoints, *points.watches]
        return sorted(every, key=lambda p: p.number)

    def _known(self, word: str) -> Breakpoint | Watch:
        point = self.session.points.find(self.number(word))
        if point is None:
            raise Refused(f"there is no breakpoint or watch {word}")
        return point

    def _breakpoint(self, word: str) -> Breakpoint:
        point = self._known(word)
        if not isinstance(point, Breakpoint):
            raise Refused(f"{word} is a watch: conditions are for breakpoints")
        return point

    def points_reply(self) -> Reply:
        """`info breakpoints`."""
        every = self._every()
        rows = [
            [str(p.number), "" if p.enabled else "off", self.point_text(p), plural(p.hits, "hit")]
            for p in every
        ]
        text = "\n".join([*([columns(rows)] if rows else []), self._caught()])
        data = [
            {"number": p.number, "enabled": p.enabled, "text": self.point_text(p), "hits": p.hits}
            for p in every
        ]
        return Reply(text, {"breakpoints": data, "events": sorted(self.session.points.events)})

    def point_text(self, point: Breakpoint | Watch) -> str:
        """What a breakpoint or a watch stands for."""
        if isinstance(point, Watch):
            return f"watch {element_text(point.argument, point.index)}"
        where = point.function or place_text(point.file or "", point.line)
        source = line_text(point.file, point.line).strip() if point.file else ""
        more = [
            f" in {triple(point.program)}" if point.program is not None else "",
            f" if {point.condition}" if point.condition else "",
            ", once" if point.temporary else "",
            f"  {source}" if source else "",
        ]
        return where + "".join(more)
