"""Wording of the checkers that judge one access: bounds, alignment, never-written memory."""

from __future__ import annotations

import ast

from blockstep.diagnostics import source
from blockstep.diagnostics.words import (
    Words,
    argument_fact,
    extent,
    is_forward,
    kept,
    lanes_are,
    lanes_text,
    op_text,
    plural,
    quoted,
    range_text,
    verb,
    who,
)
from blockstep.findings import Argument, Misaligned, OutOfBounds, ReadUnwritten, Span


def out_of_bounds(event: OutOfBounds) -> Words:
    """Past an end, between the rows of a view, through null, into another argument."""
    outside = f"outside {quoted(event.argument)}" if event.argument else "in no argument"
    return Words(
        message=_bounds_title(event),
        label="" if event.where == "read-only" else lanes_are(event.lanes, outside, outside),
        facts=kept(
            who(event, _offsets(event)),
            _bounds_fact(event),
            _mask_fact(event),
            _stride_fact(event),
        ),
        help=kept(_bounds_help(event)),
        notes=kept(_where_note(event)),
        argument=event.argument,
        elements=event.elements,
        count=event.lanes.count,
        details={"where": event.where, "op": event.op, "first": event.first},
    )


def _bounds_title(event: OutOfBounds) -> str:
    subject, does, name = op_text(event.op), verb(event.op), quoted(event.argument)
    if event.explained_by is not None:
        other = event.explained_by
        inside = quoted(other) if isinstance(other, Argument) else "elsewhere in its storage"
        return f"{subject} leaves what was passed as {name}, and {does} {inside}"
    return {
        "end": f"{subject} {does} past the end of {name}",
        "start": f"{subject} {does} before the start of {name}",
        "gap": f"{subject} {does} between the elements of {name}",
        "null": f"{subject} {does} through a null pointer",
        "unknown": f"{subject} {does} memory that belongs to no argument",
        "read-only": f"{subject} writes to {name}, which is read-only",
    }[event.where]


def offset_name(span: Span) -> str:
    """`offs` in `tl.load(x_ptr + offs)`, when x_ptr is the parameter itself; else empty."""
    node = source.call(span)
    pointer = source.argument(node, 0, "pointer") if node else None
    if not (isinstance(pointer, ast.BinOp) and isinstance(pointer.op, ast.Add)):
        return ""
    left, right = pointer.left, pointer.right
    simple = isinstance(left, ast.Name) and isinstance(right, ast.Name)
    if simple and isinstance(left, ast.Name) and source.is_untouched_parameter(span, left.id):
        return ast.unparse(right)
    return ""


def _offsets(event: OutOfBounds) -> str:
    if event.offsets is None or event.argument is None:
        return ""
    values = range_text(*event.offsets)
    name = offset_name(event.span)
    if name:
        return f"{name} there is {values}"
    one = event.offsets[0] == event.offsets[1]
    verb_ = "offset from {} there is" if one else "offsets from {} there are"
    return f"the {verb_.format(quoted(event.argument))} {values}"


def _bounds_fact(event: OutOfBounds) -> str:
    argument, first = event.argument, event.first
    if argument is None or first is None:
        return argument_fact(argument)
    if event.where == "gap":
        return argument_fact(argument, f"no index of it reaches offset {first}")
    size = argument.itemsize
    place = f" (byte {first * size} of {extent(argument) * size})" if size else ""
    return argument_fact(argument, f"the first element out of range is {first}{place}")


def _mask_fact(event: OutOfBounds) -> str:
    if not event.masked:
        return ""
    node = source.call(event.span)
    position = 1 if event.op == "load" else 2
    mask = source.argument(node, position, "mask") if node else None
    if node and mask is None:
        return ""  # lanes were told apart by the memory they reach, or a descriptor masks
    text = f", `{ast.unparse(mask)}`," if mask is not None else ""
    return f"its mask{text} is true there"


def _stride_fact(event: OutOfBounds) -> str:
    name = event.explained_by
    return f"`{name}`, which was passed too, leads there" if isinstance(name, str) else ""


def _named(value: int, event: OutOfBounds) -> tuple[str, str]:
    for name, scalar in event.scalars.items():
        if scalar == value and source.is_untouched_parameter(event.span, name):
            return name, f"        # {name} = {value} here"
    return str(value), ""


def _bounds_help(event: OutOfBounds) -> str:
    argument = event.argument
    if argument is None:
        if event.where == "null":
            return "pass an array for it, or test it against None first"
        return "pass the array that is meant, or keep it alive until the launch has ended"
    if event.where == "read-only":
        return f"pass an array that may be written for `{argument.name}`, a copy for example"
    if event.explained_by is not None:
        return "pass the whole array, or reach the other one through its own pointer"
    if event.where == "gap":
        return f"step by the strides of `{argument.name}`, or pass a contiguous copy"
    shaped = source.is_descriptor_access(event.span)
    if shaped:
        shape = ", ".join(map(str, argument.shape))
        return f"give the descriptor the shape of `{argument.name}`: [{shape}]"
    block_pointer = source.block_pointer_rank(event.span)
    if block_pointer and not source.has_keyword(event.span, "boundary_check"):
        axes = ", ".join(map(str, range(block_pointer)))
        keyword = f"boundary_check=({axes}{',' if block_pointer == 1 else ''})"
        return f"check the boundary:  {source.with_keyword(event.span, keyword)}"
    return _start_help(event) if event.where == "start" else _end_help(event, argument)


def _start_help(event: OutOfBounds) -> str:
    name = offset_name(event.span)
    if event.masked or not name:
        return "let the mask be false where the offset is negative"
    return f"mask the head:  {source.with_keyword(event.span, f'mask={name} >= 0')}"


def _end_help(event: OutOfBounds, argument: Argument) -> str:
    if event.masked:
        name, comment = _named(extent(argument), event)
        own = f"{extent(argument)} ({name} here)" if comment else name
        return f"compare with the length of `{argument.name}` itself, {own}, in the mask"
    mask, comment = _tail_mask(event, argument)
    text = source.with_keyword(event.span, f"mask={mask}") if mask else ""
    if text:
        return f"mask the tail:  {text}{comment}"
    return f"give it a mask that is false outside `{argument.name}`"


def _tail_mask(event: OutOfBounds, argument: Argument) -> tuple[str, str]:
    name = offset_name(event.span) if is_forward(argument) else ""
    if name:
        length, comment = _named(extent(argument), event)
        return f"{name} < {length}", comment
    axes = _axis_names(event.span)
    if len(axes) == 2 == len(argument.shape):
        (m, m_note), (n, n_note) = (
            _named(argument.shape[0], event),
            _named(argument.shape[1], event),
        )
        notes = [note.strip(" #").removesuffix(" here") for note in (m_note, n_note) if note]
        comment = f"        # {', '.join(notes)} here" if notes else ""
        return f"({axes[0]} < {m}) & ({axes[1]} < {n})", comment
    return "", ""


def _axis_names(span: Span) -> list[str]:
    """`rows[:, None]` and `cols[None, :]`, in the order of the axes they run along."""
    node = source.call(span)
    pointer = source.argument(node, 0, "pointer") if node else None
    texts = (
        [ast.unparse(n) for n in ast.walk(pointer) if isinstance(n, ast.Subscript)]
        if pointer
        else []
    )
    rows = [t for t in texts if t.endswith("[:, None]")]
    columns = [t for t in texts if t.endswith("[None, :]")]
    return [rows[0], columns[0]] if len(rows) == 1 == len(columns) else []


def _where_note(event: OutOfBounds) -> str:
    node = source.statement(event.span)
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)] if node else []
    if any(isinstance(n.func, ast.Attribute) and n.func.attr == "where" for n in calls):
        return "tl.where chooses between values that are already loaded: it does not stop the load"
    return ""


def misaligned(event: Misaligned) -> Words:
    """A start that is no multiple of the size."""
    needs = plural(event.needed, "byte")
    starts = f"the first starts at byte {event.offset}" if event.offset is not None else ""
    past = plural(event.remainder, "byte")
    help_ = f"start at a multiple of {needs}, or access it in a smaller type and put it together"
    itself = (event.remainder - (event.offset or 0)) % event.needed
    if event.argument is not None and event.offset is not None and itself:
        starts = (
            f"its memory itself starts {plural(itself, 'byte')} past a multiple of {event.needed}"
        )
        help_ = f"pass a copy of `{event.argument.name}`: copies are aligned"
    return Words(
        message=f"{op_text(event.op)} of {needs} starts {past} past a multiple of {event.needed}",
        label=lanes_are(event.lanes, "misaligned", "misaligned"),
        facts=kept(who(event), argument_fact(event.argument, starts)),
        help=(help_,),
        argument=event.argument,
        count=event.lanes.count,
        details={"needed": event.needed, "offset": event.offset},
    )


def read_unwritten(event: ReadUnwritten) -> Words:
    """A load of what nobody wrote, drawn as bytes."""
    size = plural(event.unwritten, "byte")
    return Words(
        message=f"{op_text(event.op)} {verb(event.op)} {size} of {quoted(event.argument)} "
        "that nothing has written",
        label=lanes_text(event.lanes),
        facts=kept(who(event), drawing(event)),
        help=("store before loading, or allocate with zeros",),
        argument=event.argument,
        elements=event.elements,
        count=event.lanes.count,
        details={"bytes": event.unwritten},
    )


def drawing(event: ReadUnwritten) -> str:
    """`out` float16[8], from numpy.empty at run.py:6:   00 3c __ __."""
    argument = event.argument
    if argument is None:
        return ""
    made = f", from {argument.made_by}" if argument.made_by else ""
    place = f" at {source.place(argument.made_at)}" if argument.made_at else ""
    start = f", from byte {event.drawing_offset}" if event.drawing_offset else ""
    row = " ".join("__" if byte is None else f"{byte:02x}" for byte in event.drawing)
    head = f"`{argument.name}` {argument.type_text}{made}{place}{start}".replace("` ,", "`,")
    return f"{head}:   {row}" if row else head
