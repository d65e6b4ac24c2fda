"""Wording of what is judged at a launch, and of kernels that cannot run."""

from __future__ import annotations

from blockstep.diagnostics.words import (
    Words,
    argument_fact,
    elements_text,
    kept,
    listed,
    quoted,
    triple,
    who,
)
from blockstep.findings import (
    CompileFault,
    GridLimit,
    IdleInstances,
    InternalFault,
    NeverWritten,
    Party,
    RerunDiffers,
    UnsupportedUse,
)


def grid_limit(event: GridLimit) -> Words:
    """Too many program instances along an axis."""
    device = event.device or "the device"
    where = f"axis {'xyz'[event.axis]} of the grid" if event.axis >= 0 else "the grid as a whole"
    move = (
        "let each program instance do more: a larger block, or a loop over tl.num_programs"
        if event.axis <= 0
        else "put the long axis on program_id(0), which may reach 2147483647, or loop in the kernel"
    )
    return Words(
        message=f"{where} has {event.size} program instances, and {device} allows {event.limit}",
        label=f"{event.size} is {event.size - event.limit} too many",
        facts=kept(f"the grid is {triple(event.grid)}" if event.grid else ""),
        help=(move,),
        details={"axis": event.axis, "size": event.size, "limit": event.limit},
    )


def rerun_differs(event: RerunDiffers) -> Words:
    """Tuning on a device would change what this kernel works on."""
    names = listed([f"`{o.name}`" for o in event.outputs])
    given = ", ".join(repr(o.name) for o in event.outputs)
    return Words(
        message=f"each launch of the kernel changes {names} again, and tuning launches it often",
        label=f"{event.configurations} configurations are launched on the same memory",
        facts=(
            "blockstep puts memory back after a trial; Triton puts back what restore_value names",
        ),
        help=(f"autotune(..., restore_value=[{given}]), or reset_to_zero=[{given}]",),
        argument=event.argument,
        details={"outputs": [o.name for o in event.outputs]},
    )


def never_written(event: NeverWritten) -> Words:
    """An output with holes."""
    name = quoted(event.argument)
    stored = event.stored_at
    related = (Party("this store writes the others", stored),) if stored else ()
    part = (
        f"{event.count} of {event.total} elements" if event.count < event.total else "any element"
    )
    first = elements_text(event.argument, event.elements, event.count)
    return Words(
        message=f"nothing wrote {part} of {name}",
        label=f"{first} {'was' if event.count == 1 else 'were'} never written",
        facts=kept(who(event), argument_fact(event.argument, _grid_text(event))),
        help=("launch enough program instances to cover it, or allocate with zeros",),
        related=related,
        argument=event.argument,
        elements=event.elements,
        count=event.count,
        details={"total": event.total},
    )


def _grid_text(event: NeverWritten) -> str:
    return f"the grid is {triple(event.grid)}" if event.grid else ""


def idle_instances(event: IdleInstances) -> Words:
    """Program instances that did nothing."""
    some = listed([triple(p) for p in event.examples])
    if event.count == event.total:
        return Words(
            message="no program instance touched memory",
            label="this launch does nothing",
            help=("look at the masks: no element passed one",),
            details={"count": event.count, "total": event.total},
        )
    return Words(
        message=f"{event.count} of {event.total} program instances touched no memory",
        label="this launch is larger than its work",
        facts=kept(f"they are {some}" if some else ""),
        help=("derive the grid from the problem: triton.cdiv(n, BLOCK)",),
        details={"count": event.count, "total": event.total},
    )


def compile_fault(event: CompileFault) -> Words:
    """What the language does not allow; the rule's own words."""
    return Words(event.message, event.label, event.facts, event.help)


def unsupported_use(event: UnsupportedUse) -> Words:
    """A limit of ours."""
    whole = event.what.removeprefix("unsupported: ")
    return Words(
        message=whole if whole != event.what else f"blockstep cannot run {event.what}",
        facts=kept(who(event)),
        help=event.instead,
        notes=("a limit of blockstep, not a bug in your kernel",),
    )


def internal_fault(event: InternalFault) -> Words:
    """A bug of ours."""
    return Words(
        message=event.what,
        facts=kept(who(event), f"in {event.where}" if event.where else ""),
        notes=("a bug in blockstep, not in your kernel; please report it with this kernel",),
    )
