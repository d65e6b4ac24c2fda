"""From a jit function and the types of its arguments to a function of block IR."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from blockstep.compiler.frontend.flatten import is_runtime
from blockstep.compiler.frontend.recorder import Recorder
from blockstep.compiler.frontend.statements import Statements
from blockstep.errors import CompilationError, UnsupportedLanguageConstruct
from blockstep.ir import RETURN, Function, verify
from blockstep.language import op as language_op
from blockstep.language import types as ty
from blockstep.language.allowed import DEBUGGERS
from blockstep.language.constant import constexpr, unwrap
from blockstep.language.descriptor import tensor_descriptor
from blockstep.language.function import JITFunction
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

MOST_CALLS = 64  # nested calls; a recursion that no constexpr ends is an error


class Compilation(Statements):
    """One function body: its own variables, the recorder of the kernel."""

    depth = 0

    def call(self, node: ast.expr, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Inlines a jit function; calls anything else with what it is given."""
        while isinstance(function, constexpr):
            function = function.value
        if isinstance(function, JITFunction):
            return self._inline(node, function, args, named)
        if function in (breakpoint, print) or _debugs(function):
            raise self.error(node, f"{node_text(node)} needs the step machine",
                             UnsupportedLanguageConstruct)  # fmt: skip
        bound = getattr(function, "func", None), getattr(function, "args", ())
        if isinstance(getattr(bound[0], "__self__", None), JITFunction):  # a method
            return self._inline(node, bound[0].__self__, [*bound[1], *args], named)
        if getattr(function, "__module__", None) in (None, "builtins"):
            args = [unwrap(a) for a in args]
        return function(*args, **named)

    def _inline(
        self, node: ast.expr, function: JITFunction, args: list[Any], named: dict[str, Any]
    ) -> Any:
        if self.depth >= MOST_CALLS:
            raise self.error(node, f"more than {MOST_CALLS} calls inside one another")
        plain = [unwrap(a) if isinstance(a, constexpr) else a for a in args]
        rest = {k: unwrap(v) if isinstance(v, constexpr) else v for k, v in named.items()}
        bound = function.signature.bind(*plain, **rest)
        bound.apply_defaults()
        values = {k: unwrap(v) if isinstance(v, constexpr) else v for k, v in bound.arguments.items()}
        for parameter in function.params:
            if parameter.is_constexpr and type(values.get(parameter.name)) is tensor:
                raise self.error(node, f"parameter `{parameter.name}` of {function.__name__} is a "
                                 "tl.constexpr, but got a run-time value")  # fmt: skip
        callers = (self.source.span(node), *self.callers)
        prepared = function.prepared
        inner = Compilation(prepared.source, prepared.names, values, self.recorder, callers)
        inner.depth = self.depth + 1
        try:
            outcome = inner.run(prepared.source.tree.body)
        except CompilationError as error:
            outer = self.source
            raise CompilationError(outer.text, outer.relative(node), None, outer.span(node)) from error
        return None if outcome is None else outcome.value


def _debugs(function: Any) -> bool:
    module = getattr(function, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in DEBUGGERS


def node_text(node: ast.expr) -> str:
    """The source of an expression, for a message."""
    return ast.unparse(node)


def build(
    function: JITFunction, types: Mapping[str, ty.dtype], constants: Mapping[str, Any]
) -> Function:
    """Block IR of `function` for parameters of these types, the rest being compile-time values.

    Raises CompilationError, at the expression, for what the language rejects."""
    recorder = Recorder()
    made = Function(function.__name__, [], [], (), {k: v for k, v in constants.items()})
    variables: dict[str, Any] = dict(constants)
    for name, kind in types.items():
        variables[name] = _parameter(made, name, kind)
    return _finish(function, recorder, made, variables)


def build_bound(function: JITFunction, arguments: Any) -> Function:
    """Block IR for the bound arguments of a launch (`runtime.arguments.Argument`)."""
    recorder = Recorder()
    made = Function(function.__name__, [], [])
    token = language_op.machine.set(recorder)
    try:
        with recorder.into(made.body):
            variables = {a.name: _bound_parameter(made, a) for a in arguments}
    finally:
        language_op.machine.reset(token)
    made.constants = {a.name: a.value for a in arguments if a.kind == "constexpr"}
    return _finish(function, recorder, made, variables)


def _finish(
    function: JITFunction, recorder: Recorder, made: Function, variables: dict[str, Any]
) -> Function:
    prepared = function.prepared
    made.file = prepared.source.file
    static = {k: v for k, v in variables.items() if not is_runtime(v)}
    prepared.check(static, frozenset(k for k in variables if k not in static))
    token = language_op.machine.set(recorder)
    try:
        with recorder.into(made.body):
            body = Compilation(prepared.source, prepared.names, variables, recorder)
            body.run(prepared.source.tree.body)  # what a kernel returns is dropped, as in Triton
            recorder.append(RETURN, [], [], {})
    finally:
        language_op.machine.reset(token)
    verify(made)
    return made


def _parameter(made: Function, name: str, kind: ty.dtype) -> tensor:
    return tensor(made.body.add_argument(kind, name), kind)


def _bound_parameter(made: Function, argument: Any) -> Any:
    if argument.kind == "constexpr":
        return argument.value
    if argument.kind == "tuple":
        return tl_tuple([_bound_parameter(made, a) for a in argument.items], argument.type)
    if argument.kind == "descriptor":
        return _descriptor(made, argument)
    return _parameter(made, argument.name, argument.type)


def _descriptor(made: Function, argument: Any) -> tensor_descriptor:
    """A host descriptor is its base, shape and strides as parameters."""
    name, told = argument.name, argument.value
    element = argument.view.dtype
    base = _parameter(made, name, ty.pointer_type(element))
    shape = tuple(_parameter(made, f"{name}.shape{i}", ty.int32) for i in range(len(told.shape)))
    strides = tuple(_parameter(made, f"{name}.stride{i}", ty.int64) for i in range(len(told.shape)))
    return tensor_descriptor(
        base, shape, strides, ty.block_type(element, told.block_shape),
        getattr(told, "padding", "zero"), getattr(told, "round_f32_to_tf32", False),
    )  # fmt: skip


