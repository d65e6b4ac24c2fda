"""From block IR to placed IR: a layout for every block value."""

from blockstep.compiler.placement.place import Place

__all__ = ["Place"]
