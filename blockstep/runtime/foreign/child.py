"""Run by the interpreter that has Triton: one JSON request a line, one answer a line.

The first line that it writes says which Triton it is, or why there is none. A request names
functions by their source and what they read by name (`carrying` makes it), stand-ins for the
arguments, options and the target; the answer has the PTX and what a launch needs to know. Types,
constants and attributes come from Triton's own launcher code, so that they are what a launch has.

This file knows nothing of blockstep, which the interpreter may not have. No assembler is run.
"""

from __future__ import annotations
import __future__ as future

import ast
import collections
import importlib
import json
import linecache
import os
import sys
import tempfile
import traceback
from types import FunctionType, SimpleNamespace
from typing import Any

_FLAGS = sum(getattr(future, name).compiler_flag for name in future.all_feature_names)


class Functions:
    """The functions of one request, made from their source when they are first asked for."""

    def __init__(self, told: dict[str, Any], triton: Any) -> None:
        self.told = told
        self.triton = triton
        self.made: dict[str, Any] = {}
        self._late: dict[str, list[tuple[dict[str, Any], str]]] = {}
        for file, blocks in _texts(told.values()).items():
            linecache.cache[file] = (sum(map(len, blocks)), None, blocks, file)

    def get(self, key: str) -> Any:
        """The function: a jit function, a constexpr function or a plain one."""
        if key not in self.made:
            self.made[key] = None  # being made: who needs it meanwhile gets it afterwards
            self.made[key] = self._make(self.told[key])
            for names, name in self._late.pop(key, []):
                names[name] = self.made[key]
        return self.made[key]

    def _make(self, told: dict[str, Any]) -> Any:
        names: dict[str, Any] = {"__name__": told["module"], "__builtins__": __builtins__}
        for name, value in told["names"].items():
            if value[0] == "function" and self.made.get(value[1], self) is None:
                self._late.setdefault(value[1], []).append((names, name))
            else:
                names[name] = self.value(value)
        fn = _defined(told, names)
        if told["kind"] == "plain":
            return fn
        if told["kind"] == "constexpr":
            return self.triton.constexpr_function(fn)
        return self.triton.jit(fn, **told["options"])

    def value(self, told: list[Any]) -> Any:
        """What `carrying.Carrier.value` has told."""
        kind, what = told[0], told[1]
        if kind == "plain":
            return what
        if kind == "float":
            return float.fromhex(what)
        if kind == "function":
            return self.get(what)
        if kind == "constexpr":
            return self.triton.language.constexpr(self.value(what))
        if kind == "module":
            return importlib.import_module(what)
        if kind == "named":
            return _named(what[0], what[1])
        if kind in ("tuple", "list"):
            return (tuple if kind == "tuple" else list)([self.value(item) for item in what])
        if kind == "dict":
            return {key: self.value(item) for key, item in what}
        if kind == "record":
            return _record(what, [self.value(item) for item in told[2]])
        if kind == "space":
            return SimpleNamespace(**{key: self.value(item) for key, item in what.items()})
        return _pointer(kind, what, told, self)


def _record(told: list[Any], items: list[Any]) -> Any:
    """A named tuple."""
    return collections.namedtuple(told[0], told[1])(*items)


def _named(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


class FakeTensor:
    """What Triton asks of an array when it specialises a kernel. Triton knows the name of this
    class, and asks such arrays for no address when it makes a descriptor of one."""

    def __init__(self, dtype: Any, address: int) -> None:
        self.dtype = dtype
        self.address = address

    def data_ptr(self) -> int:
        return self.address


class _Type:
    def __init__(self, name: str, itemsize: int) -> None:
        self.name, self.itemsize = name, itemsize
        self.is_floating_point = name.startswith(("fp", "bf"))

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Type) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def _pointer(kind: str, what: Any, told: list[Any], functions: Functions) -> Any:
    dtype, itemsize, address = what
    base = FakeTensor(_Type(dtype, itemsize), address)
    if kind == "pointer":
        return base
    made = importlib.import_module("triton.tools.tensor_descriptor").TensorDescriptor
    return made(base, *told[2])


def _texts(functions: Any) -> dict[str, list[str]]:
    """The lines of every file, as far as functions stand in them; the others are empty."""
    found: dict[str, list[str]] = {}
    for told in functions:
        lines = found.setdefault(told["file"], [])
        block = told["text"].splitlines(keepends=True)
        first = told["line"] - 1
        lines += ["\n"] * (first + len(block) - len(lines))
        lines[first : first + len(block)] = block
    return found


def _defined(told: dict[str, Any], names: dict[str, Any]) -> FunctionType:
    """The Python function, at its own file and line, with `names` for its globals."""
    indented = told["text"][:1].isspace()
    above = "\n" * (told["line"] - 2) + "if 1:\n" if indented else "\n" * (told["line"] - 1)
    tree = ast.parse(above + told["text"], told["file"])
    found = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    found.decorator_list = []
    module = ast.Module([found], [])
    flags = told["flags"] & _FLAGS
    outside = {found.name: names[found.name]} if found.name in names else {}
    exec(compile(module, told["file"], "exec", flags, dont_inherit=True), names)
    fn: FunctionType = names.pop(found.name)
    names.update(outside)  # what the function's own name stands for where it was defined
    fn.__qualname__ = told["qualname"]
    return fn


def compiled(request: dict[str, Any], triton: Any) -> dict[str, Any]:
    """Compiles one kernel as its launch would. Raises what Triton raises."""
    jit = importlib.import_module("triton.runtime.jit")
    compiler = importlib.import_module("triton.compiler")
    target = importlib.import_module("triton.backends.compiler").GPUTarget(*request["target"])
    backend = importlib.import_module("triton.compiler.compiler").make_backend(target)
    functions = Functions(request["functions"], triton)
    fn = functions.get(request["kernel"])
    arguments = [functions.value(told) for told in request["arguments"]]
    options = {key: functions.value(told) for key, told in request["options"].items()}
    binder = jit.create_function_from_signature(fn.signature, fn.params, backend)
    only_options = {key: value for key, value in options.items() if key not in fn.arg_names}
    bound, specialization, rest = binder(*arguments, **only_options)
    chosen, signature, constants, attrs = fn._pack_args(
        backend, dict(options), bound, specialization, rest
    )
    source = compiler.ASTSource(fn, signature, constants, attrs)
    _no_assembler(backend)
    made = compiler.compile(source, target=target, options=chosen.__dict__)
    return {
        "ptx": made.asm["ptx"],
        "rounds": _descriptors_round(),
        "signature": list(signature.values()),
        "metadata": {k: v for k, v in made.metadata._asdict().items() if k != "target"},
    }


def _descriptors_round() -> bool:
    """Whether host descriptors say if they round to tf32, which is passed to kernels, then."""
    descriptors = importlib.import_module("triton.tools.tensor_descriptor")
    return "round_f32_to_tf32" in descriptors.TensorDescriptor.__dataclass_fields__


def _no_assembler(backend: Any) -> None:
    """PTX is all that is asked for."""
    kind = type(backend)
    if hasattr(kind, "make_cubin"):
        kind.make_cubin = lambda *_: b""


def _answer(line: str, triton: Any) -> dict[str, Any]:
    try:
        return compiled(json.loads(line), triton)
    except Exception as error:  # noqa: BLE001  (whatever Triton raises is the answer)
        chain: BaseException = error
        while chain.__cause__ is not None:
            chain = chain.__cause__
        text = str(error) if chain is error else f"{error}\n{type(chain).__name__}: {chain}"
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        return {"error": f"{type(error).__name__}: {text}", "traceback": "".join(lines)}


def _hello() -> tuple[Any, dict[str, Any]]:
    try:
        triton: Any = importlib.import_module("triton")
        version = triton.__version__
        library: Any = importlib.import_module("triton._C.libtriton")
    except (ImportError, AttributeError) as error:
        return None, {"error": f"{type(error).__name__}: {error}"}
    asked = library.get_cache_invalidating_env_vars()
    return triton, {"version": version, "file": triton.__file__, "environment": asked}


def serve() -> None:
    """Answers until there are no more requests. What Triton prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="blockstep-triton-") as folder:
        os.environ["TRITON_CACHE_DIR"] = folder  # entries without machine code, for nobody else
        triton, hello = _hello()
        print(json.dumps(hello), file=out, flush=True)
        for line in sys.stdin if triton is not None else ():
            print(json.dumps(_answer(line, triton), default=str), file=out, flush=True)


if __name__ == "__main__":
    _here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != _here]
    serve()
