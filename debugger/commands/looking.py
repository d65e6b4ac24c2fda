"""Commands that look at source, calls and values; nothing runs."""

from __future__ import annotations

import ast
from typing import Any

from blockstep.debugger.commands.base import Base
from blockstep.debugger.commands.places import (
    AROUND,
    current_line,
    line_count,
    numbered,
    place_text,
)
from blockstep.debugger.commands.plotting import plot_text
from blockstep.debugger.commands.reply import Refused, Reply
from blockstep.debugger.commands.stopping import frame_json
from blockstep.debugger.commands.values import (
    Index,
    array_of,
    element_text,
    full_text,
    is_block,
    short,
    text_of,
    to_json,
    type_text,
    undefined_of,
)
from blockstep.language.value import tensor


class Looking(Base):
    """Looking at calls, source and values."""

    def do_where(self, arg: str) -> Reply:
        """w(here)

        The calls that led here, the line of the launch first. `>` marks the one that `print`, `list`
        and `info` look at. Also `bt`."""
        lines, data = [], []
        frames = self.frames
        host = self.session.launch.host
        if host is not None:
            lines.append(f"  {place_text(host.file, host.line, host.function)}")
            lines.append(f"  {current_line(host.file, host.line)}")
        for number, frame in enumerate(frames):
            mark = ">" if number == self.at else " "
            lines += [f"{mark} {self.place_of(frame)}", f"  {current_line(frame.file, frame.line)}"]
            data.append(frame_json(frame))
        return Reply("\n".join(lines), {"frames": data, "at": self.at})

    def do_up(self, arg: str) -> Reply:
        """u(p) [COUNT]

        Looks at the caller. With COUNT, so many calls up."""
        return self._move(-self.count(arg))

    def do_down(self, arg: str) -> Reply:
        """d(own) [COUNT]

        Looks at the function that was called. With COUNT, so many calls down."""
        return self._move(self.count(arg))

    def do_frame(self, arg: str) -> Reply:
        """f(rame) [NUMBER]

        Looks at one of the calls of `where`. They count from 0, the outermost; without a number it
        shows the place again."""
        number = self.number(arg) if arg else self.at
        if not 0 <= number < len(self.frames):
            raise Refused(f"there are calls 0 to {len(self.frames) - 1}")
        return self._look_at(number)

    def _move(self, by: int) -> Reply:
        number = self.at + by
        if number < 0 and self.at == 0:
            raise Refused("this is the outermost call")
        if number >= len(self.frames) and self.at == len(self.frames) - 1:
            raise Refused("this is the innermost call")
        return self._look_at(min(max(number, 0), len(self.frames) - 1))

    def _look_at(self, number: int) -> Reply:
        self.look_at(number)
        return Reply(self.place_and_line(), {"frame": frame_json(self.frame)})

    def do_list(self, arg: str) -> Reply:
        """l(ist) [FIRST[, LAST] | .]

        Lines around the current one. Once more, the lines that follow; `list .` goes back to the
        current line, `list 20` shows lines around 20, `list 5, 9` these."""
        frame = self.frame
        first, last = self._listed(arg, frame)
        if first > line_count(frame.file):
            raise Refused(f"the file ends at line {line_count(frame.file)}")
        self.listed = last
        return self._lines(first, last)

    def _listed(self, arg: str, frame: Any) -> tuple[int, int]:
        if not arg and self.listed:
            return self.listed + 1, self.listed + 2 * AROUND + 1
        if arg in ("", "."):
            return max(frame.line - AROUND, 1), max(frame.line - AROUND, 1) + 2 * AROUND
        first, comma, last = arg.partition(",")
        start = self.number(first)
        if comma:
            return start, self.number(last)
        return max(start - AROUND, 1), max(start - AROUND, 1) + 2 * AROUND

    def do_longlist(self, arg: str) -> Reply:
        """ll | longlist

        The whole function."""
        first, last = self.function_lines(self.frame)
        return self._lines(first, last)

    def _lines(self, first: int, last: int) -> Reply:
        frame = self.frame
        marked = self.breakpoint_lines(frame.file)
        lines = list(numbered(frame.file, first, last, frame.line, marked))
        if not lines:
            raise Refused(f"the source of {frame.file} cannot be read")
        return Reply("\n".join(lines), {"first": max(first, 1), "lines": lines})

    def do_print(self, arg: str) -> Reply:
        """p(rint) EXPRESSION

        The value of an expression over the names of the kernel. `p x`, `p x[:, None] * 2`, `p offs <
        n`: of a block its type, values and how many elements are undefined; with an `element` in
        focus, that element only. Pointers are shown as argument and element."""
        value = self.value(arg)
        return Reply(text_of(value, self.focus_for(value)), {"value": to_json(value)})

    def do_pp(self, arg: str) -> Reply:
        """pp EXPRESSION

        The value with all elements. Undefined ones are written `__`."""
        value = self.value(arg)
        return Reply(full_text(value), {"value": to_json(value)})

    def do_whatis(self, arg: str) -> Reply:
        """whatis EXPRESSION

        The type and shape of a value. Of a pointer, where it leads."""
        value = self.value(arg)
        text = type_text(value)
        origin = getattr(value, "origin", None) if isinstance(value, tensor) else None
        if origin is not None and hasattr(origin, "type_text"):
            text += f", into {origin.name}: {origin.type_text}"
        elif not isinstance(value, tensor):
            text += f" {short(repr(value))}"
        return Reply(text, {"type": text})

    def do_display(self, arg: str) -> Reply:
        """display [EXPRESSION]

        Shows a value after every stop. Without an expression it lists what is displayed."""
        if not arg:
            if not self.displays:
                raise Refused("nothing is displayed")
            return Reply(self.displayed())
        self.parsed(arg)
        number = self.numbers.next("display")
        self.displays[number] = arg
        return Reply(self.display_line(number), {"display": number})

    def do_undisplay(self, arg: str) -> Reply:
        """undisplay [NUMBER]

        Shows a value no longer. Without a number, none of them."""
        if arg:
            number = self.number(arg)
            if number not in self.displays:
                raise Refused(f"there is no display {number}")
            del self.displays[number]
        else:
            self.displays.clear()
        return Reply()

    def do_element(self, arg: str) -> Reply:
        """e(lement) [I, J | off]

        Puts one element of every block in focus. `print` and `info locals` show that element, as if
        the kernel computed nothing else. A block with fewer axes, or with an axis of length one, is
        stretched as the language does. One number alone counts the elements of a block in order.
        `element off` shows whole blocks again."""
        if arg == "off":
            self.focus = None
            return Reply("whole blocks are shown")
        if arg:
            self.focus = self.index(arg)
        if self.focus is None:
            return Reply("whole blocks are shown; `element 3` or `element 0, 5` picks one element")
        return Reply(self._in_focus(), {"element": list(self.focus)})

    def do_lane(self, arg: str) -> Reply:
        """lane [N | off]

        The same as `element`. One number counts the elements of a block in order."""
        return self.do_element(arg)

    def _in_focus(self) -> str:
        assert self.focus is not None
        shown = []
        for name, value in self.frame.locals.items():
            if is_block(value) and self.focus_for(value) is not None:
                shown.append(f"{name} = {element_text(value, self.focus)}")
        return "\n".join([f"element {self.focus}", *(f"  {line}" for line in shown)])

    def do_plot(self, arg: str) -> Reply:
        """plot EXPRESSION | ARG

        A small picture of a block, or of an argument's memory. A curve for one axis, shades for two;
        NaN is N, an infinity I, an undefined element `?`."""
        value = self.value(arg)
        if isinstance(value, tensor) and value.shape:
            picture = plot_text(array_of(value), undefined_of(value), plain=self.plain)
            return Reply(f"{arg}: {type_text(value)}\n{picture}", {"value": to_json(value)})
        array = self.memory_of(value)
        if array is None:
            raise Refused(f"{arg} is no block and no argument: {type_text(value)}")
        name, elements = array
        return Reply(f"{name} in memory\n{plot_text(elements, plain=self.plain)}")

    def index(self, text: str) -> Index:
        """`0, 5` as an index; names of the kernel may stand for numbers. Raises Refused."""
        node = self.parsed(text)
        parts = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
        found = []
        for part in parts:
            value: Any = self.value(ast.unparse(part))
            value = getattr(value, "handle", value)
            if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 0:
                raise Refused(f"an element is one number or several, from 0: {text!r} is not")
            found.append(int(value))
        return tuple(found)


__all__ = ["Looking"]
