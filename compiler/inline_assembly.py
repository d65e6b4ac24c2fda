"""What is wrong with the inline assembly of a module, said before LLVM sees it.

LLVM ends the whole process at a constraint or an operand that it cannot meet. Users write such
assembly too, so `fault` looks at every `asm` of a text by the rules of LLVM's NVPTX backend: which
letters name a register, and what may follow a `$`. The PTX itself is the assembler's to judge.
"""

from __future__ import annotations

import re

_CALL = re.compile(
    r' asm (?:sideeffect |alignstack |inteldialect |unwind )*"([^"]*)", "([^"]*)"\(([^)]*)\)'
)
_ESCAPED = re.compile(r"\\([0-9A-Fa-f]{2})")
_OPERAND = re.compile(r"\$(?:[$(|)]|\{:uid\}|(\d+)|\{(\d+)(?::r)?\}|(\{[^}]*\}?|.?))", re.S)
_REGISTER = re.compile(r"=?&?[bchrlqfd]")
_CONSTANT = re.compile(r"[in]")
_TIED = re.compile(r"\d+")
_CLOBBER = "~{"


def fault(llvm_text: str) -> str | None:
    """What is wrong with the first `asm` that LLVM cannot take, or None if there is none."""
    for assembly, constraints, arguments in dict.fromkeys(_CALL.findall(llvm_text)):
        wanted = [c.strip() for c in constraints.split(",") if c.strip()]
        wanted = [c for c in wanted if not c.startswith(_CLOBBER)]
        told = _constraint_fault(wanted, arguments) or _operand_fault(_plain(assembly), len(wanted))
        if told is not None:
            return f"{told}: asm {_plain(assembly)!r} with constraints {constraints!r}"
    return None


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _constraint_fault(wanted: list[str], arguments: str) -> str | None:
    outputs = sum(c.startswith("=") for c in wanted)
    given = arguments.split(", ")
    for at, constraint in enumerate(wanted):
        if _TIED.fullmatch(constraint):
            if int(constraint) >= outputs:
                return f"constraint {constraint} ties an input to an output that there is not"
        elif _CONSTANT.fullmatch(constraint):
            if len(given) == len(wanted) - outputs and "%" in given[at - outputs]:
                return f"constraint {constraint!r} wants a constant"
        elif not _REGISTER.fullmatch(constraint):
            return f"{constraint!r} is not a constraint (registers: b c h r l q f d)"
    return None


def _operand_fault(assembly: str, count: int) -> str | None:
    for found in _OPERAND.finditer(assembly):
        number = found[1] or found[2]
        if number is not None and int(number) >= count:
            return f"there is no operand {found[0]}; {count} have constraints"
        if found[3] is not None:
            return f"{found[0]!r} is not an operand ($0, ${{0}}, $$ for a dollar sign)"
    return None
