"""Inline PTX on whole blocks: straight lines of register instructions, no memory.

This is the part of the language that users write in another language, so that it is evaluated
like any other operation. It does not run compiled kernels: that is the PTX machine's work, which
shares nothing with it. Source: PTX ISA 8.7.
"""

from blockstep.language.assembly.parser import Instruction, parse
from blockstep.language.assembly.program import Program

__all__ = ["Instruction", "Program", "parse"]
