"""The functions `__nv_*` of NVIDIA's libdevice, as LLVM text for one module.

Linking the whole library costs more than compiling most kernels: it has 350 functions, of which a
kernel calls a few. So the library is read once in a process, and what a module calls, with what
that calls, is cut out of its printed form and linked alone.

The invariant: a slice is a module of its own that parses, and defines what was asked for under
external names. `droppable` makes them `linkonce_odr`: linking finds them, and they go once they are
inlined everywhere.

The questions a library function asks of the compiler (`__nvvm_reflect`) are answered in the text,
where NVVM answers them in a pass: `__CUDA_FTZ` (are denormals flushed to zero), `__CUDA_PREC_SQRT`
(is a square root rounded as IEEE 754 says) and `__CUDA_ARCH`.

Its products and sums are never contracted: the library fuses where that is right, and keeps the
errors of rounded products elsewhere. Contracted, `powf` is off by 10 units in the last place where
CUDA allows 4.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding as llvm
from cuda.pathfinder import BitcodeLibNotFoundError, find_bitcode_lib

from blockstep import knobs
from blockstep.compiler.toolchain import missing

_DECLARED = re.compile(r"\ndeclare [^@\n]*@(__nv_\w+)\(")
_DEFINITION = re.compile(r"^define [^@\n]*@([\w.]+)\(.*?^\}\n", re.M | re.S)
_EXTERNAL = re.compile(r"^define (?!internal)", re.M)
_DECLARATION = re.compile(r"^declare [^@\n]*@([\w.]+)\(.*\n", re.M)
_GLOBAL = re.compile(r"^@([\w.]+) = .*\n", re.M)
_TYPE = re.compile(r"^%[\w.]+ = type .*\n", re.M)
_ATTRIBUTES = re.compile(r"^attributes #\d+ = .*\n", re.M)
_LOOP = re.compile(r"^!\d+ = (?:distinct |!\{!\"llvm\.loop).*\n", re.M)
_NAME = re.compile(r"@([\w.]+)")
_SOURCE_PLACE = re.compile(r", !srcloc !\d+")
_STRING_ATTRIBUTE = re.compile(r' "[\w-]+"="[^"]*"')
_QUESTION = re.compile(r"call i32 @__nvvm_reflect\(ptr (@[\w.]+)\)(?: #\d+)?")
_QUESTION_TEXT = re.compile(r'^(@[\w.]+) = .* c"(__CUDA_\w+)\\00"', re.M)


def called(llvm_text: str) -> frozenset[str]:
    """The library functions that a module declares."""
    return frozenset(_DECLARED.findall("\n" + llvm_text))


@dataclass(frozen=True, slots=True)
class Answers:
    """What the library is told about the code it becomes a part of."""

    flush_denormals: bool
    ieee_square_root: bool
    capability: int
    """100 times the major number and 10 times the minor one, as in `__CUDA_ARCH`."""

    def of(self, question: str) -> int:
        """The number that stands for `__nvvm_reflect(question)`."""
        return {
            "__CUDA_FTZ": int(self.flush_denormals),
            "__CUDA_PREC_SQRT": int(self.ieee_square_root),
            "__CUDA_ARCH": self.capability,
        }[question]


@dataclass(frozen=True, slots=True)
class Library:
    """The printed library by name. `head` is what every slice needs: types, attributes, loops."""

    bodies: dict[str, str]
    others: dict[str, str]
    head: str
    questions: dict[str, str]

    def slice(self, names: Iterable[str], answers: Answers) -> str:
        """A module with the definitions of `names` and of all that they use.

        Raises ValueError for a name that the library does not have."""
        if unknown := sorted(set(names) - self.bodies.keys()):
            raise ValueError(f"libdevice has no function {', '.join(unknown)}")
        parts: dict[str, str] = {}
        waiting = sorted(names, reverse=True)
        while waiting:
            name = waiting.pop()
            if name in parts or name == "__nvvm_reflect":
                continue
            parts[name] = self._answered(self._text(name), answers)
            waiting += _NAME.findall(parts[name])
        return self.head + "".join(parts.values())

    def _text(self, name: str) -> str:
        body = self.bodies.get(name)
        return self.others[name] if body is None else body

    def _answered(self, text: str, answers: Answers) -> str:
        return _QUESTION.sub(
            lambda asked: f"add i32 {answers.of(self.questions[asked[1]])}, 0", text
        )


def droppable(text: str) -> str:
    """A module whose external functions go where nothing is left that calls them."""
    return _EXTERNAL.sub("define linkonce_odr ", text)


@functools.cache
def library(path: str) -> Library:
    """The library in the bitcode file at `path`."""
    with (
        llvm.create_context() as context,
        llvm.parse_bitcode(Path(path).read_bytes(), context=context) as module,
    ):
        text = str(module)
    text = _SOURCE_PLACE.sub("", text)
    bodies = {found[1]: found[0] for found in _DEFINITION.finditer(text)}
    others = {
        found[1]: found[0] for rule in (_DECLARATION, _GLOBAL) for found in rule.finditer(text)
    }
    attributes = _STRING_ATTRIBUTE.sub("", "".join(_ATTRIBUTES.findall(text)))
    attributes = attributes.replace("{ }", "{ nounwind }")  # LLVM wants one attribute at least
    head = "".join(_TYPE.findall(text)) + attributes + "".join(_LOOP.findall(text))
    return Library(bodies, others, head, dict(_QUESTION_TEXT.findall(text)))


def path() -> str:
    """Where libdevice is: `knobs.nvidia.libdevice_path`, else the installed wheel or toolkit.

    Raises UnsupportedError, with the remedy, if there is none."""
    chosen: str | None = knobs.nvidia.libdevice_path
    if chosen is not None:
        return chosen
    try:
        return str(find_bitcode_lib("device"))
    except BitcodeLibNotFoundError as error:
        raise missing("libdevice, NVIDIA's library of mathematical functions") from error
