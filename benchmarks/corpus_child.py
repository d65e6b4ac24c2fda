"""Compiles jit functions of a folder of unpacked wheels with one front end; `corpus.py` runs it.

    python benchmarks/corpus_child.py {blockstep,triton} FOLDER < wanted.jsonl

Reads lines `{"file", "line", "truth"}`, writes lines `{"file", "line", "name", "ok", "why"}`. Files
are loaded leniently, statement by statement: what a library needs that is not installed stays
undefined, so both compilers see the same names.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import linecache
import signal
import sys
import time
import types
from pathlib import Path
from typing import Any

import corpus_guess

LIMIT = 20  # seconds a function
_JIT = ("jit", "constexpr_function")
FORCED = {"vllm.triton_utils.importing": {"HAS_TRITON": True}}
"""What a module decides by asking for a GPU or for packages that are not installed here."""


class Lenient(importlib.machinery.SourceFileLoader):
    """Runs what it can of a module; a package's own `__init__` only when a name is missed."""

    def exec_module(self, module: types.ModuleType) -> None:
        if self.is_package(module.__name__):
            waiting = [self.path]

            def missing(name: str) -> Any:
                while waiting:
                    execute(module.__dict__, waiting.pop())
                if name in module.__dict__:
                    return module.__dict__[name]
                raise AttributeError(name)

            module.__dict__["__getattr__"] = missing
        else:
            execute(module.__dict__, self.path)
            module.__dict__.update(FORCED.get(module.__name__, {}))


class Finder:
    """Modules below the unpacked wheels."""

    def __init__(self, roots: list[str]) -> None:
        self.roots = roots

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        found = importlib.machinery.PathFinder.find_spec(name, path or self.roots)
        if found is None or not isinstance(found.loader, importlib.machinery.SourceFileLoader):
            return None
        if not any(str(found.origin).startswith(root) for root in self.roots):
            return None
        found.loader = Lenient(name, str(found.origin))
        return found


def execute(scope: dict[str, Any], path: str) -> None:
    """Runs the top-level statements of a file, going on after each that fails."""
    try:
        text = Path(path).read_text()
        tree = ast.parse(text)
    except (SyntaxError, UnicodeDecodeError):
        return
    linecache.getlines(path)
    _statements(tree.body, scope, path)


def _statements(body: list[ast.stmt], scope: dict[str, Any], path: str) -> None:
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            _bare(statement)
        if isinstance(statement, ast.ImportFrom) and len(statement.names) > 1:
            for alias in statement.names:
                one = ast.ImportFrom(statement.module, [alias], statement.level)
                _one(ast.copy_location(one, statement), scope, path)
            continue
        if isinstance(statement, ast.If):
            taken = _chosen(statement, scope, path)
            _statements(taken, scope, path)
        elif not _one(statement, scope, path) and isinstance(statement, ast.Try):
            _statements(statement.orelse, scope, path)


def _chosen(statement: ast.If, scope: dict[str, Any], path: str) -> list[ast.stmt]:
    """The branch that a module's `if` takes; none where its condition fails."""
    asked = ast.parse("_taken = 0").body[0]
    assert isinstance(asked, ast.Assign)
    asked.value = statement.test
    if not _one(ast.copy_location(asked, statement), scope, path):
        return []
    return statement.body if scope.pop("_taken") else statement.orelse


def _one(statement: ast.stmt, scope: dict[str, Any], path: str) -> bool:
    """Runs one statement; False where it fails, whatever it raises: a wheel without its dependencies
    fails in many ways (`sys.exit` too), and the kernels that do not need the rest are still judged."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(ast.Module([statement], []), path, "exec"), scope)
        return True
    except (KeyboardInterrupt, TimeoutError):
        raise
    except BaseException:  # noqa: BLE001 (see above)
        return False


def _bare(node: ast.FunctionDef) -> None:
    """Leaves a jit function only its jit decorator: it is compiled, not tuned."""
    kept = [d for d in node.decorator_list if _name(d) in _JIT]
    node.decorator_list = kept or node.decorator_list


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return getattr(node, "attr", getattr(node, "id", ""))


class Corpus:
    """The modules of the wheels, loaded as they are asked for."""

    def __init__(self, folder: str) -> None:
        self.roots = [str(p) for p in sorted(Path(folder).iterdir()) if p.is_dir()] + [folder]
        vendored = [str(p.parent) for p in Path(folder).glob("*/*/third_party/triton_kernels")]
        sys.meta_path.insert(0, Finder(vendored + self.roots))
        self.loaded: dict[str, types.ModuleType] = {}

    def module(self, file: str) -> types.ModuleType:
        if file not in self.loaded:
            root = next(r for r in self.roots if file.startswith(r + "/"))
            name = file[len(root) + 1 : -3].replace("/", ".").removesuffix(".__init__")
            try:
                __import__(name)
                self.loaded[file] = sys.modules[name]
                if not Path(file).name == "__init__.py":
                    return self.loaded[file]
            except BaseException:  # noqa: BLE001 (a name that is no module path, or is another's)
                self.loaded[file] = types.ModuleType(name)
            execute(self.loaded[file].__dict__, file)
        return self.loaded[file]

    def function(self, file: str, name: str) -> Any:
        """By its dotted name: a kernel may be a class's static method."""
        first, *rest = name.split(".")
        found = self.module(file).__dict__.get(first)
        for part in rest:
            found = getattr(found, part, None)
        return found


def tree_of(function: Any) -> ast.FunctionDef | None:
    """The syntax tree of a jit function of either package."""
    fn = getattr(function, "fn", None)
    code = getattr(fn, "__code__", None)
    if code is None or "params" not in dir(function):
        return None
    named = [n for n in _trees(code.co_filename) if n.name == code.co_name]
    return next((n for n in named if _first(n) <= code.co_firstlineno <= n.lineno), None)


_KNOWN: dict[str, list[ast.FunctionDef]] = {}


def _trees(path: str) -> list[ast.FunctionDef]:
    if path not in _KNOWN:
        try:
            parsed = ast.parse("".join(linecache.getlines(path)))
        except SyntaxError:
            parsed = ast.Module([], [])
        _KNOWN[path] = [n for n in ast.walk(parsed) if isinstance(n, ast.FunctionDef)]
    return _KNOWN[path]


def _first(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def guessed(function: Any, truth: bool) -> dict[str, Any] | None:
    tree = tree_of(function)
    if tree is None:
        return None

    def callees(node: ast.expr) -> ast.FunctionDef | None:
        if isinstance(node, ast.Name):
            return tree_of(function.fn.__globals__.get(node.id))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            holder = function.fn.__globals__.get(node.value.id)
            return (
                tree_of(vars(holder).get(node.attr))
                if isinstance(holder, types.ModuleType)
                else None
            )
        return None

    return corpus_guess.guess(tree, callees, truth)


class Triton:
    """Triton's own front end, up to its first IR; no device."""

    def __init__(self) -> None:
        import triton
        from triton._C.libtriton import ir
        from triton.backends.compiler import GPUTarget
        from triton.compiler.compiler import ASTSource, make_backend

        self.target = GPUTarget("cuda", 90, 32)
        self.backend = make_backend(self.target)
        self.options = self.backend.parse_options({})
        self.source, self.ir, self.language = ASTSource, ir, triton.language
        driver = types.SimpleNamespace(
            get_current_target=lambda: self.target,
            get_current_device=lambda: 0,
            get_current_stream=lambda device: 0,
        )
        triton.runtime.driver.set_active(driver)

    def compile(self, function: Any, signature: dict[str, str], constants: dict[str, Any]) -> None:
        context = self.ir.context()
        self.ir.load_dialects(context)
        self.backend.load_dialects(context)
        made = self.backend.get_codegen_implementation(self.options)
        source = self.source(function, signature, constants, {})
        source.make_ir(self.target, self.options, made, self.backend.get_module_map(), context)


class Blockstep:
    """Our front end."""

    def __init__(self) -> None:
        sys.path.append(str(Path(__file__).parents[1]))
        from blockstep import language
        from blockstep.compiler.frontend import build
        from blockstep.runtime import redirect

        redirect.install(False)
        self.build, self.language = build, language
        short = {"i1": "int1", "i": "int", "u": "uint"}
        self.types = {
            f"{p}{n}": language.dtype(f"{short[p]}{n}") for p in "iu" for n in (8, 16, 32, 64)
        } | {n: language.dtype(n) for n in ("fp16", "bf16", "fp32", "fp64")}
        self.types["i1"] = language.int1

    def compile(self, function: Any, signature: dict[str, str], constants: dict[str, Any]) -> None:
        types = {}
        for name, text in signature.items():
            if text.startswith("*"):
                types[name] = self.language.pointer_type(self.types[text[1:]])
            elif text != "constexpr":
                types[name] = self.types[text]
        self.build(function, types, constants)


def _stop(*_: Any) -> None:
    raise TimeoutError(f"more than {LIMIT} s")


def answer(compiler: Any, corpus: Corpus, wanted: dict[str, Any]) -> dict[str, Any]:
    """What the compiler says of one function."""
    signal.alarm(60)
    function = corpus.function(wanted["file"], wanted["name"])
    told = guessed(function, wanted["truth"])
    if told is None:
        return {"ok": None, "why": "could not be loaded"}
    constants = {k: _value(compiler, v) for k, v in told["constants"].items()}
    signal.alarm(LIMIT)
    started = time.perf_counter()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            compiler.compile(function, told["signature"], constants)
        found = {"ok": True, "why": ""}
    except TimeoutError:
        raise
    except BaseException as error:  # noqa: BLE001 (a compiler's error is the answer)
        found = {"ok": False, "why": _why(error)}
    signal.alarm(0)
    return {**found, "seconds": round(time.perf_counter() - started, 4), "guess": told}


def _value(compiler: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return compiler.language.dtype(value["dtype"])
    return value


def _why(error: BaseException) -> str:
    """The innermost message, with its kind and line."""
    chain: list[BaseException] = [error]
    while (inner := chain[-1].__cause__ or chain[-1].__context__) is not None and len(chain) < 30:
        chain.append(inner)
    told = [
        getattr(e, "error_message", None) or (str(e) if i == len(chain) - 1 else "")
        for i, e in enumerate(chain)
    ]
    text = next((t for t in reversed(told) if t), type(error).__name__)
    span = next((e.span for e in reversed(chain) if getattr(e, "span", None)), None)
    where = "" if span is None else f" [{span.file}:{span.line}]"
    return f"{type(chain[-1]).__name__}: {text.strip()[:300]}{where}"


def main() -> None:
    signal.signal(signal.SIGALRM, _stop)
    out = sys.stdout
    compiler = Triton() if sys.argv[1] == "triton" else Blockstep()
    corpus = Corpus(sys.argv[2])
    for line in sys.stdin:
        wanted = json.loads(line)
        try:
            found = answer(compiler, corpus, wanted)
        except TimeoutError as error:
            found = {"ok": None, "why": str(error)}
        print(json.dumps({**wanted, **found}), file=out, flush=True)


if __name__ == "__main__":
    main()
