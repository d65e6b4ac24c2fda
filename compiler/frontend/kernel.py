"""From a jit function and the types of its arguments to a function of block IR."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from blockstep.compiler.frontend import cache
from blockstep.compiler.frontend.combine import NotStraight, straight
from blockstep.compiler.frontend.flatten import flatten, is_runtime, kinds
from blockstep.compiler.frontend.looping import Loops
from blockstep.compiler.frontend.recorder import Recorder
from blockstep.errors import CompilationError, UnsupportedLanguageConstruct
from blockstep.ir import CALL, RETURN, YIELD, Function, verify
from blockstep.language import op as language_op
from blockstep.language import types as ty
from blockstep.language.allowed import DEBUGGERS
from blockstep.language.constant import constexpr, unwrap
from blockstep.language.control import device_print
from blockstep.language.descriptor import tensor_descriptor
from blockstep.language.function import JITFunction
from blockstep.language.promotion import to_tensor
from blockstep.language.region import as_type, check_count, is_tuple, results_of
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

MOST_CALLS = 64  # nested calls; a recursion that no constexpr ends is an error


def _check_parameters(function: JITFunction) -> None:
    """Raises CompilationError for a constexpr that is not to be specialised either."""
    for parameter in function.params:
        unspecialised = parameter.do_not_specialize or parameter.do_not_specialize_on_alignment
        if parameter.is_constexpr and unspecialised:
            source = function.prepared.source
            (node,) = [a for a in _parameters(source.tree) if a.arg == parameter.name]
            message = (
                f"{parameter.name} marked as constexpr and listed in do_not_specialize/"
                "do_not_specialize_on_alignment. Remove constexpr designation to skip specialization."
            )
            raise CompilationError(source.text, source.relative(node), message, source.span(node))


def _parameters(tree: ast.FunctionDef) -> list[ast.arg]:
    return [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]


NEEDS_STEP = "needs the step machine"  # what IR cannot hold, though the language allows it here


class NotPassed(CompilationError):
    """A block for a function that is kept as a call: compiled code cannot pass it, a machine can."""


class Compilation(Loops):
    """One function body: its own variables, the recorder of the kernel."""

    depth = 0
    node: ast.expr  # the call of a language function that is being made

    def call(self, node: ast.expr, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Inlines a jit function; calls anything else with what it is given."""
        while isinstance(function, constexpr):
            function = function.value
        if isinstance(function, JITFunction):
            return self._inline(node, function, args, named)
        if function is print and args and isinstance(unwrap(args[0]), str):
            function = device_print
        if function in (breakpoint, print) or _debugs(function):
            raise self.error(node, f"{ast.unparse(node)} {NEEDS_STEP}",
                             UnsupportedLanguageConstruct)  # fmt: skip
        method = getattr(getattr(function, "func", None), "__self__", None)
        if isinstance(method, JITFunction):
            return self._inline(node, method, [*function.args, *args], named)
        if getattr(function, "__module__", None) in (None, "builtins"):
            args = [unwrap(a) for a in args]
        self.recorder.straight_line, self.node = self.straight_line, node
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
        values = {
            k: unwrap(v) if isinstance(v, constexpr) else v for k, v in bound.arguments.items()
        }
        if function.noinline:
            return self._kept_call(node, function, values)
        return self._body_of(node, function, values, self.recorder)

    def _body_of(
        self, node: ast.expr, function: JITFunction, values: dict[str, Any], recorder: Recorder
    ) -> Any:
        """What the callee's body returns, recorded where the recorder stands."""
        self.recorder.functions.append(function)
        prepared = function.prepared
        callers = (self.source.span(node), *self.callers)
        inner = Compilation(prepared.source, prepared.names, values, recorder, callers)
        inner.depth = self.depth + 1
        try:
            _check_parameters(function)
            outcome = inner.run(prepared.source.tree.body)
        except CompilationError as error:
            outer = self.source
            raise CompilationError(
                outer.text, outer.relative(node), error.error_message, outer.span(node)
            ) from error.with_traceback(None)
        return None if outcome is None else outcome.value

    def _kept_call(self, node: ast.expr, function: JITFunction, values: dict[str, Any]) -> Any:
        """A call operation; the function is compiled once for each set of types and constants."""
        operands, rebuild = flatten(tuple(values.values()))
        for part in operands:
            if part.type.shape:
                raise self.error(node, f"Function {function.__name__} is marked noinline, but was "
                                 f"called with a block of type {part.type}", NotPassed)  # fmt: skip
        key = (function, tuple((k, kinds(v)) for k, v in values.items()))
        kept = self.recorder.kept.get(key)
        if kept is None:
            kept = self.recorder.kept[key] = self._keep(node, function, values, operands, rebuild)
        callee, make = kept
        handles = [p.handle for p in operands]
        made = self.recorder.append(CALL, handles, list(callee.results), {"callee": callee})
        return make([tensor(v, v.type) for v in made.results])

    def _keep(
        self, node: ast.expr, function: JITFunction, values: dict[str, Any],
        operands: list[tensor], rebuild: Any,
    ) -> tuple[Function, Any]:  # fmt: skip
        name = f"{function.__name__}__{len(self.recorder.kept)}"
        static = {k: v for k, v in values.items() if not is_runtime(v)}
        callee = Function(name, [p.type for p in operands], [], (), static)
        callee.file = function.prepared.source.file
        parameters = rebuild([tensor(v, v.type) for v in callee.parameters])
        inner = dict(zip(values, parameters, strict=True))
        with self.recorder.into(callee.body):
            returned = self._body_of(node, function, inner, self.recorder)
            parts, make = flatten(returned)
            callee.results = tuple(p.type for p in parts)
            self.recorder.append(RETURN, [p.handle for p in parts], [], {})
        self.recorder.callees.append(callee)
        return callee, make

    def straight_line(self, function: Any, inputs: Any, wanted: Any) -> Any:
        """A scalar function with branches as a region; None for what has loops or effects."""
        if not isinstance(function, JITFunction):
            return None
        recorder, made = Recorder(), Function(function.__name__, list(inputs), [])
        recorder.location, recorder.num_warps = self.recorder.location, self.recorder.num_warps
        recorder.functions = self.recorder.functions
        arguments = [tensor(v, v.type) for v in made.parameters]
        bound = function.signature.bind(*arguments)
        bound.apply_defaults()
        token = language_op.machine.set(recorder)
        try:
            with recorder.into(made.body):
                value = self._body_of(self.node, function, dict(bound.arguments), recorder)
                returned = results_of(value)
                if wanted is not None:
                    check_count(returned, wanted)
                    returned = tuple(as_type(r, t) for r, t in zip(returned, wanted, strict=True))
                recorder.append(YIELD, [to_tensor(r).handle for r in returned], [], {})
            return straight(made, is_tuple(value))
        except NotStraight:
            return None
        finally:
            language_op.machine.reset(token)


def _debugs(function: Any) -> bool:
    module = getattr(function, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in DEBUGGERS


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


def build_bound(function: JITFunction, arguments: Any, num_warps: int = 4) -> Function:
    """Block IR for the bound arguments of a launch (`runtime.arguments.Argument`). It is kept and
    handed out again: who wants to change it takes a `clone`.

    Raises CompilationError, at the expression, for what the language rejects."""
    key = num_warps, cache.key_of(arguments)
    known = cache.find(function, key)
    if known is not None:
        return known
    made, compiled = _build(function, arguments, num_warps)
    cache.keep(function, key, made, compiled)
    return made


def _build(
    function: JITFunction, arguments: Any, num_warps: int
) -> tuple[Function, list[JITFunction]]:
    recorder = Recorder()
    recorder.num_warps = num_warps
    made = Function(function.__name__, [], [])
    token = language_op.machine.set(recorder)
    try:
        with recorder.into(made.body):
            variables = {a.name: _bound_parameter(made, a) for a in arguments}
    finally:
        language_op.machine.reset(token)
    made.constants = {a.name: a.value for a in arguments if a.kind == "constexpr"}
    _finish(function, recorder, made, variables)
    return made, recorder.functions


def _finish(
    function: JITFunction, recorder: Recorder, made: Function, variables: dict[str, Any]
) -> Function:
    prepared = function.prepared
    made.file = prepared.source.file
    recorder.functions.append(function)
    _check_parameters(function)
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
    made.callees = recorder.callees
    for one in (*made.callees, made):
        verify(one)
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
