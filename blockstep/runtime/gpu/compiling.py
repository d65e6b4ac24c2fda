"""From a bound launch to the code of its kernel: from memory, from disk, or compiled.

Code depends on the kernel's IR (so on its source, on what it calls and on the outer constants that
they read), on what is known of the arguments, on the options, the target and the versions of the
tools; the IR's text stands for the first, so that two processes agree about it.

A start from the disk cache pays for no compiler: what compiles is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockstep import knobs, target
from blockstep.compiler import store, toolchain
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.options import Hint, Options
from blockstep.findings import Span
from blockstep.ir import Function, dump
from blockstep.language.function import JITFunction
from blockstep.runtime.arguments import Bound
from blockstep.runtime.gpu.binary import FAULTS, Binary, Box, Param, Site
from blockstep.runtime.launch_options import asked_architecture


def compile_for_gpu(function: JITFunction, bound: Bound, options: Mapping[str, Any]) -> Binary:
    """The code for these arguments and launch options, for `target.current()`.

    Raises CompilationError for what the language rejects, UnsupportedError for what cannot be
    compiled, PTXASError for what the assembler does not take."""
    return _code(function, bound, options, assembled=True)


def compile_for_ptx(function: JITFunction, bound: Bound, options: Mapping[str, Any]) -> Binary:
    """The same code as PTX alone, which the ptx machine runs.

    Raises CompilationError and UnsupportedError, as `compile_for_gpu` does."""
    return _code(function, bound, options, assembled=False)


def _code(
    function: JITFunction, bound: Bound, options: Mapping[str, Any], assembled: bool
) -> Binary:
    chosen = options_of(options, function)
    assembled &= chosen.target == _own_architecture()  # else the driver is given the PTX
    made = build_bound(function, bound.arguments, chosen.num_warps)
    hints = hints_of(bound)
    kept = store.current()
    key = store.key_of(_parts(made, chosen, hints, assembled))
    entry = kept.load(key)
    if entry is None:
        from blockstep.runtime.gpu import building  # the compiler: not for a warm start

        entry = building.entry(made, chosen, hints, assembled)
        kept.save(key, entry)
    return binary_of(entry)


def options_of(options: Mapping[str, Any], function: JITFunction) -> Options:
    """What the compiler is told of a launch."""
    debug = bool(options.get("debug")) or knobs.runtime.debug or bool(function.debug)
    return Options(
        target=_architecture(options),
        num_warps=int(options.get("num_warps") or 4),
        num_stages=int(options.get("num_stages") or 3),
        num_ctas=int(options.get("num_ctas") or 1),
        exact=not options.get("enable_fp_fusion", True),
        debug=debug,
        flush=bool(options.get("enable_reflect_ftz", True)),
        maxnreg=int(options.get("maxnreg") or 0),
    )


def _architecture(options: Mapping[str, Any]) -> str:
    """The device's, unless the launch asks for another."""
    number = asked_architecture(options)
    return _own_architecture() if number is None else _named(number)


def _own_architecture() -> str:
    major, minor = target.current().capability
    return _named(10 * major + minor)


def _named(number: int) -> str:
    return f"sm_{number}{'a' if number >= 90 else ''}"


def hints_of(bound: Bound) -> dict[str, Hint]:
    """What is known of each run-time argument: pointers and integers divisible by 16; of
    descriptors also the lengths, which decide how wide a guarded access may be."""
    found = {}
    for argument in bound.arguments:
        for part in argument.walk():
            if part.kind == "pointer":
                found[part.name] = Hint(16 if part.divisible else 1)
            elif part.kind == "scalar" and part.type.is_int():
                found[part.name] = Hint(16 if part.divisible else 1)
            elif part.kind == "descriptor" and part.view is not None:
                found[part.name] = Hint(16)  # as the hardware asks of address and strides
                for axis, whole in enumerate(part.aligned[1:]):
                    found[f"{part.name}.shape{axis}"] = Hint(16 if whole else 1)
                    found[f"{part.name}.stride{axis}"] = Hint(16 // part.view.dtype.itemsize)
    return found


def _parts(
    made: Function, options: Options, hints: Mapping[str, Hint], assembled: bool
) -> dict[str, str]:
    return {
        "ir": dump(made),
        "hints": repr(sorted(hints.items())),
        "options": repr(options),
        "code": "cubin" if assembled else "ptx",
        **toolchain.fingerprint(),
    }


def param_of(kind: Any, name: str, box: list[Any] | None) -> Param:
    if box is None:
        return Param(kind, name)
    base, element, rank, lengths, swizzle, padding = box
    shape = tuple(f"{base}.shape[{axis}]" for axis in range(rank))
    strides = tuple(f"{base}.strides[{axis}]" for axis in range(rank))
    told = Box(base, element, shape, strides, tuple(lengths), swizzle, padding)
    return Param("tensor_map", name, told)


def binary_of(entry: store.Entry) -> Binary:
    """Kept code as a launch takes it."""
    told = entry.metadata
    texts = {k: v.decode() for k, v in entry.parts.items() if k != "cubin"}
    parameters = tuple(param_of(*known) for known in told["parameters"])
    return Binary(
        image=entry.parts.get("cubin", texts["ptx"]),
        name=told["name"],
        shared=told["shared"],
        scratch=told["scratch"],
        num_warps=told["num_warps"],
        num_ctas=told["num_ctas"],
        parameters=parameters,
        sites=tuple(Site(Span(*place), message) for place, message in told["sites"]),
        asm={**texts, **{k: v for k, v in entry.parts.items() if k == "cubin"}},
    )


__all__ = [
    "FAULTS", "binary_of", "compile_for_gpu", "compile_for_ptx", "hints_of", "options_of",
]  # fmt: skip
