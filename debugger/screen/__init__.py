"""The debugger on the whole terminal: panes, keys and style apart (`screen.Screen` wires them)."""

from blockstep.debugger.screen.opening import Talk, talk

__all__ = ["Talk", "talk"]
