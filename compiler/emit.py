"""LLVM text to PTX: parse, link libdevice, optimise, emit.

Floating-point rules stand in the text, not in options of the process (an LLVM option cannot be
taken back, and threads share it). The NVPTX backend contracts only what carries `contract`,
approximates only what carries `afn`, and writes `add.rn.f32` for everything else, which the
assembler may not fuse either. So *exact* code is text without such flags, and emitting checks that;
the functions of libdevice get the answers of `blockstep.compiler.libdevice`: exact, they keep
denormals, round square roots as IEEE 754 says and are not contracted; fast, none of the three.
A module's own flag "nvvm-reflect-ftz" decides about denormals where it is given.

PTX is what LLVM writes, but for forms that ptxas gets wrong (`ptxas_faults`). A kernel's text must be right: LLVM ends the
process at an instruction it cannot select (`llvm.sin`, say). For inline assembly, which users write
too, `blockstep.compiler.inline_assembly` sees to it first.
"""

from __future__ import annotations

import functools
import re
import threading

import llvmlite.binding as llvm

from blockstep.compiler import inline_assembly, libdevice, ptxas_faults, store
from blockstep.compiler.toolchain import fingerprint, stamp

TRIPLE = "nvptx64-nvidia-cuda"
PTX_VERSION = 84
_FLUSH = re.compile(r'!"nvvm-reflect-ftz", i32 (\d)')
_RELAXED = re.compile(
    r"^.* = (?:(?:tail|musttail|notail) )?(?:f\w+|call|select|phi) (?:[a-z]+ )*?"
    r"(?:contract|afn|fast|reassoc|arcp|nnan|ninf|nsz) .*$",
    re.M,
)
_threads = threading.local()


def emit(
    llvm_text: str,
    target: str = "sm_90a",
    *,
    ptx_version: int = PTX_VERSION,
    link_libdevice: bool = True,
    exact: bool = False,
    optimised: bool = True,
) -> str:
    """PTX for `target` (`sm_80`, `sm_90a`, ...), of the ISA version `ptx_version` (84 is 8.4).

    Functions `__nv_*` that the text declares are taken from libdevice if `link_libdevice`, and stay
    external otherwise. Code that is not `optimised` shows what LLVM's passes change. Raises ValueError for exact code with relaxed floating-point flags, inline
    assembly that cannot be met and text that LLVM does not accept, UnsupportedError where libdevice is needed and not installed."""
    if exact and (relaxed := _RELAXED.search(llvm_text)) is not None:
        raise ValueError(f"exact code has a relaxed operation: {relaxed[0].strip()}")
    if (fault := inline_assembly.fault(llvm_text)) is not None:
        raise ValueError(fault)
    machine = target_machine(target, f"+ptx{ptx_version}")
    with llvm.create_context() as context:
        with _parse(llvm_text, machine, context) as module:
            if link_libdevice:
                _link(module, llvm_text, target, exact, machine, context)
            if optimised:
                _optimise(module, machine)
            return ptxas_faults.written_around(str(machine.emit_assembly(module)))


def target_machine(cpu: str, features: str) -> llvm.TargetMachine:
    """The NVPTX machine of this thread: LLVM's machines are not shared between threads."""
    machines: dict[tuple[str, str], llvm.TargetMachine] = _threads.__dict__.setdefault("made", {})
    machine = machines.get((cpu, features))
    if machine is None:
        _initialise()
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
            cpu=cpu, features=features, opt=2, codemodel="default"
        )
        machines[cpu, features] = machine
    return machine


@functools.cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _parse(text: str, machine: llvm.TargetMachine, context: llvm.ContextRef) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text, context=context)
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise ValueError(f"LLVM does not accept this module: {error}") from error
    return module


def _link(
    module: llvm.ModuleRef,
    text: str,
    target: str,
    exact: bool,
    machine: llvm.TargetMachine,
    context: llvm.ContextRef,
) -> None:
    names = libdevice.called(text)
    if not names:
        return
    flag = _FLUSH.search(text)
    answers = libdevice.Answers(
        flush_denormals=not exact if flag is None else flag[1] != "0",
        ieee_square_root=exact,
        capability=int(re.sub(r"\D", "", target)) * 10,
    )
    functions = _library_functions(libdevice.path(), names, answers, target)
    module.link_in(_parse(functions, machine, context))


@functools.lru_cache(maxsize=256)
def _library_functions(
    path: str, names: frozenset[str], answers: libdevice.Answers, target: str
) -> str:
    """A slice of libdevice, optimised once, so that its many copies are not one by one. It is kept
    on disk too: reading the library takes longer than compiling most kernels."""
    kept = store.current()
    asked = f"{sorted(names)} {answers} {target}"
    key = store.key_of({**fingerprint(), "library": stamp(path), "slice": asked})
    entry = kept.load(key)
    if entry is not None:
        return entry.parts["llvm"].decode()
    text = _optimised(libdevice.library(path).slice(names, answers), target)
    kept.save(key, store.Entry({"libdevice": sorted(names)}, {"llvm": text.encode()}))
    return text


def _optimised(text: str, target: str) -> str:
    machine = target_machine(target, f"+ptx{PTX_VERSION}")
    with llvm.create_context() as context, _parse(text, machine, context) as module:
        _optimise(module, machine)
        return libdevice.droppable(str(module))


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """LLVM's pipeline without what does harm here: unrolling (only where the text asks for it) and
    vectorising, since the vectors of the text are the registers of a lane already."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_unrolling = False
    tuning.loop_vectorization = False
    tuning.loop_interleaving = False
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
