"""`Reversing`: a session goes back, along the record and, where that does not reach, by running again.

A run is found again by counting lines: events in the middle of a line may be wanted in one run and not in
the other. While a run is only repeated nothing stops it but its goal and whoever interrupts it.
"""

from __future__ import annotations

from collections.abc import Callable

from blockstep.debugger.moments import Moment, Reason, Stop, Written
from blockstep.debugger.points import Breakpoint, Watch
from blockstep.debugger.standing import Element, Standing, Wants, address_of, never, within
from blockstep.interp.memory import View
from blockstep.options import Program

Hit = Callable[[Moment], Breakpoint | None]


class Reversing(Standing):
    """One launch, and the ways back in it."""

    def reverse_step(self) -> Stop:
        """To the line that ran before."""
        here = self._here()
        return self._backward(lambda m: m.program == here.program or m.ends)

    def reverse_next(self) -> Stop:
        """To the line of this call that ran before, or of its caller."""
        here = self._here()
        return self._backward(within(here.program, here.top.depth))

    def reverse_finish(self) -> Stop:
        """To the line that called this function; the kernel's own begins there."""
        here = self._here()
        if here.top.depth == 0:
            return self._backward(
                lambda m: m.program == here.program and m.enters and not m.top.depth
            )
        return self._backward(within(here.program, here.top.depth - 1))

    def reverse_continue(self) -> Stop:
        """To the latest moment before this one at which a breakpoint holds, a watched element is
        written or something happened; else to where the record begins. What instances before that
        wrote into a watched element is found too."""
        return self._backward(never, self._hit_back)

    def _hit_back(self, moment: Moment) -> Breakpoint | None:
        """A breakpoint that holds at a moment, with memory as it is there if a condition may ask."""
        if any(p.condition is not None and p.is_at(moment) for p in self.points.breakpoints):
            self.history.log.go(moment.written)
        return self.points.hit(moment, counts=False)

    def last_write(self, view: View, index: tuple[int, ...]) -> Stop | None:
        """To the line that wrote an element last, of whatever instance. None if none did since the launch
        began; then the session stands where it stood."""
        element = address_of(view, index), view.itemsize
        with self._moving():
            at = self._kept_write(element)
            if at is None:
                at = self._lost_write([element])
            if at is None:
                return self.stop if self._is_interrupted() else None
            return self._at_write(at, view, index)

    # Along the record.

    def _backward(self, wants: Wants, hit: Hit | None = None) -> Stop:
        with self._moving():
            return self._further_back(wants, hit)

    def _further_back(self, wants: Wants, hit: Hit | None) -> Stop:
        for moment in self.history.back_from(min(self._standing(), self.history.count)):
            stop = self._looked_at(moment, wants, hit)
            if stop is not None:
                return stop
            if self._asked and not moment.within_line:
                return self._stand(moment.number, Reason.INTERRUPT)
        if self.history.first:
            return self._before_record(wants, hit)
        if hit is not None and self._began_late():
            stop = self._written_before()
            if stop is not None or self._is_interrupted():
                return stop or self.stop  # type: ignore[return-value]
        return self._stand(self.history.first, Reason.BEGIN)

    def _looked_at(self, moment: Moment, wants: Wants, hit: Hit | None) -> Stop | None:
        """Stands at a moment, if it is one to stop at on the way back."""
        if moment.within_line and hit is None:
            return None  # the line that it is in has a moment
        if hit is not None:
            written = self._watched_write(moment)
            if written is not None:
                return written
            found = hit(moment)
            if found is not None:
                return self._stand(moment.number, Reason.BREAKPOINT, found)
            if moment.reason is not None and self._still(moment):
                return self._stand(moment.number, None)
        return self._stand(moment.number, None) if wants(moment) else None

    def _watched_write(self, moment: Moment) -> Stop | None:
        """The last write of a watched element that the line of a moment makes."""
        watches = [w for w in self.points.watches if w.enabled]
        if not watches or moment.within_line:
            return None
        log, after = self.history.log, self._written_at(moment.number + 1)
        for at in range(after - 1, max(moment.written, log.first) - 1, -1):
            entry = log.entries[at - log.first]
            for watch in watches:
                if entry.line == moment.lines and entry.touches(watch.address, watch.size):
                    return self._at_write(at, watch.view, watch.index)
        return None

    def _written_at(self, number: int) -> int:
        kept = number < self.history.count
        return self.history[number].written if kept else self.history.log.count

    def _kept_write(self, element: Element) -> int | None:
        """The number of the last write of an element before the moment where the session stands."""
        log = self.history.log
        for at in range(self._written_at(self._standing()) - 1, log.first - 1, -1):
            if log.entries[at - log.first].touches(*element):
                return at
        return None

    def _at_write(self, at: int, view: View, index: tuple[int, ...]) -> Stop:
        """The moment whose line makes write number `at`."""
        log = self.history.log
        entry = log.entries[at - log.first]
        moment = self._moment_of(entry.line)
        if moment is None:  # its instance waited while the record forgot
            first = self._run.first if self._run is not None else None
            stop = self._again(first, lambda m: m.lines >= entry.line)
            if stop.reason is Reason.INTERRUPT:
                return stop
            return self._stand(stop.position[0], None)
        log.go(at + 1)
        new = self._element(view, index)
        log.go(at)
        old = self._element(view, index)
        span = entry.site.span
        detail = Written(view.name, index, old, new, entry.program, span.file, span.line)
        return self._stand(moment.number, Reason.WATCH, detail)

    # What the record does not reach.

    def _before_record(self, wants: Wants, hit: Hit | None) -> Stop:
        """What is wanted lies before what is kept: the launch runs again, up to there."""
        oldest = self.history.moments[0]
        line = oldest.lines if oldest.within_line else oldest.lines - 1
        first = self._run.first if self._run is not None else None
        stop = self._again(first, lambda m: m.lines >= line)
        if stop.reason is Reason.INTERRUPT:
            return stop
        found = self._looked_at(self.history.last, wants, hit)
        return found if found is not None else self._further_back(wants, hit)

    def to_line(self, number: int) -> Stop:
        """To a line of the run by its number (`lines`), back or forth; nothing else stops the session on
        the way, but for the end of the launch and an interrupt."""
        if self._run is None:
            raise RuntimeError("the launch has not been started")
        if not self.history.moments or number > self.history.last.lines:
            self._at = None
            self.history.log.go(self.history.log.count)
            with self._silently():
                self._wants = lambda m: m.lines >= number
                return self._resume()
        moment = self._moment_of(number)
        if moment is not None:
            return self._stand(moment.number, None)
        return self._again(self._run.first, lambda m: m.lines >= number)

    def _back_to(self, number: int) -> Stop:
        """To a moment of the run that is over."""
        if number >= self.history.first:
            return self._stand(number, None)
        return self._again(self._run.first if self._run else None, lambda m: m.number >= number)

    def _began_late(self) -> bool:
        """Whether instances ran before the record began."""
        return self._run is not None and self._run.first is not None

    def _lost_write(self, elements: list[Element]) -> int | None:
        """The last write of one of some elements, by instances before the record or by lines that it
        forgot: its number in a record that is made of it. The session stands behind it then; None if
        there is none, and it stands where it stood."""
        run, number = self._run, self._standing()
        if run is None or not (self.history.first or run.first is not None):
            return None
        ended = number >= self.history.count
        lines = 0 if ended else self.history[number].lines

        def here(moment: Moment) -> bool:
            return not ended and moment.lines >= lines

        def begins(moment: Moment) -> bool:
            return moment.program == run.first and moment.enters and not moment.top.depth

        tries: list[tuple[Program | None, Wants]] = (
            [(run.first, here)] if self.history.first else []
        )
        tries += [(None, begins)] if run.first is not None else []
        for first, end in tries:
            self._again(first, end, elements)
            if self._is_interrupted():
                return None
            line = self._run.recorder.last_sought  # type: ignore[union-attr]
            if line is not None:
                return self._write_at(first, line, elements)
        self._again(run.first, here)
        return None

    def _write_at(self, first: Program | None, line: int, elements: list[Element]) -> int | None:
        """The number of the last write of elements by a line, in a record that ends right after it."""
        self._again(first, lambda m: self._run.recorder.last_sought == line, elements)  # type: ignore[union-attr]
        kept = [at for at in map(self._kept_write, elements) if at is not None]
        return None if self._is_interrupted() else max(kept)

    def _written_before(self) -> Stop | None:
        """The last write of a watched element by the instances before the record."""
        watches: list[Watch] = [w for w in self.points.watches if w.enabled]
        at = self._lost_write([(w.address, w.size) for w in watches]) if watches else None
        if at is None:
            return None
        entry = self.history.log.entries[at - self.history.log.first]
        watch = next(w for w in watches if entry.touches(w.address, w.size))
        return self._at_write(at, watch.view, watch.index)


__all__ = ["Reversing"]
