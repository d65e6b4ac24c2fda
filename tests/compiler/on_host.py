"""Lowered elementwise rules, run by the host's own processor: for rules whose text has no PTX."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np

from blockstep.compiler.lower import Lowering, Options
from blockstep.compiler.lower.text import Item, scalar_type
from blockstep.ir import Function
from blockstep.language import types as ty

Rule = Callable[[Lowering, Item], Item]

_LOOP = """
{declarations}
define void @run(ptr %x, ptr %y, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr {source}, ptr %x, i64 %i
  %v = load {source}, ptr %from
{body}
  %to = getelementptr {target}, ptr %y, i64 %i
  store {target} {result}, ptr %to
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def text_of(rule: Rule, source: ty.dtype, target_name: str = "sm_80") -> tuple[Lowering, Item]:
    """A rule on one element `%v`, lowered for a GPU."""
    lw = Lowering(Function("run", [], []), Options(target=target_name))
    return lw, rule(lw, Item("%v", source))


def run(rule: Rule, source: ty.dtype, target: ty.dtype, x: np.ndarray) -> np.ndarray:
    """The rule at every element of `x`; both arrays hold bits (unsigned integers)."""
    lw, found = text_of(rule, source)
    text = _LOOP.format(
        declarations="\n".join(lw.b.declared.values()), source=scalar_type(source),
        target=scalar_type(target), body="\n".join(lw.b.lines), result=found.name,
    )  # fmt: skip
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten()
    )
    out = np.zeros(x.shape, f"u{max(1, target.primitive_bitwidth // 8)}")
    with llvm.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        address = engine.get_function_address("run")
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
        call(x.ctypes.data, out.ctypes.data, x.size)
    return out
