"""What the kernel language does not have: every place in a kernel that Triton's compiler rejects.

`find` lists the places without judging whether the program gets there: Triton compiles only the
branches that its constexprs choose, so a rejected statement in the other branch is no error.
`blockstep.language.reach` decides what is certain before a launch; the rest is raised on the spot.
Allowed although Triton's compiler has none of it: `breakpoint()`, `import pdb`, a debugger's
functions and f-strings of blocks, which are what the step machine is for; `:=` as in Triton 3.9.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from blockstep.errors import CompilationError, UnsupportedLanguageConstruct
from blockstep.language import loops
from blockstep.language.allowed import (
    DEBUGGERS,
    global_message,
    is_allowed_global,
    is_our_object,
    is_supported_builtin,
)
from blockstep.language.names import ABSENT, Names
from blockstep.language.source import Source

_HOST_MODULES = frozenset({"math", "copy"})
_STATEMENTS: dict[type[ast.AST], str] = {
    ast.Break: "`break` is not in the language: make it the condition of a `while`",
    ast.Continue: "`continue` is not in the language: put the rest of the body under an `if`",
    ast.ClassDef: "a class cannot be defined in a kernel",
    ast.AsyncFunctionDef: "nested function definition is not supported.",
    ast.FunctionDef: "nested function definition is not supported.",
    ast.Delete: "`del` is not in the language",
    ast.Try: "`try` is not in the language",
    ast.Raise: "`raise` is not in the language: use `tl.device_assert` or `tl.static_assert`",
    ast.Global: "`global` is not in the language: a kernel writes through pointers only",
    ast.Nonlocal: "`nonlocal` is not in the language: a kernel writes through pointers only",
    ast.AsyncFor: "`async` is not in the language",
    ast.AsyncWith: "`async` is not in the language",
    ast.Match: "`match` is not in the language: use `if`",
}
_EXPRESSIONS: dict[type[ast.AST], str] = {
    ast.Lambda: "a lambda cannot be made in a kernel: define a @jit function",
    ast.Dict: "dict literals are not in the language",
    ast.Set: "set literals are not in the language",
    ast.DictComp: "dict comprehensions are not in the language",
    ast.SetComp: "set comprehensions are not in the language",
    ast.GeneratorExp: "generator expressions are not in the language: use a list comprehension",
    ast.Yield: "`yield` is not in the language",
    ast.YieldFrom: "`yield` is not in the language",
    ast.Await: "`await` is not in the language",
}
_LOOP_RETURN = "Cannot have `return` statements inside `while` or `for` statements in triton."


@dataclass(frozen=True, eq=False)
class Problem:
    """One place that the language rejects."""

    node: ast.AST
    message: str
    kind: type[CompilationError] = UnsupportedLanguageConstruct
    always: bool = False  # also in code that no constexpr chooses
    name: str | None = None  # a name whose meaning may still change before the kernel runs

    def error(self, source: Source) -> CompilationError:
        """The exception that says so, at the place."""
        span = source.span(self.node)
        return self.kind(source.text, source.relative(self.node), self.message, span=span)


def find(tree: ast.FunctionDef, names: Names) -> dict[int, Problem]:
    """Every rejected place of a kernel, by the identity of its node, in the order of the text."""
    rules = _Rules(names)
    rules.function(tree)
    return rules.found


class _Rules(ast.NodeVisitor):
    def __init__(self, names: Names) -> None:
        self.names = names
        self.found: dict[int, Problem] = {}
        self.loops: list[str] = []  # kinds of the statements around: loop, with
        self.bound: list[str] = []  # names bound by the comprehensions around

    def reject(self, node: ast.AST, message: str, **more: Any) -> None:
        self.found.setdefault(id(node), Problem(node, message, **more))

    def function(self, tree: ast.FunctionDef) -> None:
        for extra in (tree.args.vararg, tree.args.kwarg):
            if extra is not None:
                self.reject(extra, f"a kernel cannot take *{extra.arg}: name its parameters")
        for statement in tree.body:
            self.visit(statement)

    def visit(self, node: ast.AST) -> None:
        message = _STATEMENTS.get(type(node)) or _EXPRESSIONS.get(type(node))
        if message is not None:
            self.reject(node, message)
        else:
            super().visit(node)

    # Statements

    def visit_Import(self, node: ast.Import) -> None:
        if not all(alias.name.partition(".")[0] in DEBUGGERS for alias in node.names):
            self.reject(node, "`import` is not in the language: import above the kernel")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if (node.module or "").partition(".")[0] not in DEBUGGERS:
            self.reject(node, "`import` is not in the language: import above the kernel")

    def visit_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            message = "Simultaneous multiple assignment is not supported."
            self.reject(node, message, kind=CompilationError, always=True)
        self.target(node.targets[0])
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.target(node.target)
        self.operator(node, node.op)
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.target(node.target)
        if node.value is not None:
            self.visit(node.value)

    def target(self, node: ast.expr) -> None:
        """What is assigned to: names, and tuples of them."""
        if isinstance(node, (ast.Tuple, ast.List)):
            for element in node.elts:
                self.target(element)
        elif isinstance(node, ast.Subscript):
            self.reject(node, "__setitem__ is not supported in triton", kind=CompilationError)
        elif isinstance(node, ast.Attribute):
            message = "Attribute assignment is not supported in triton"
            self.reject(node, message, kind=CompilationError)
        elif not isinstance(node, ast.Name):
            self.reject(node, "a starred name cannot be assigned to in a kernel")

    def visit_Return(self, node: ast.Return) -> None:
        if "loop" in self.loops:
            self.reject(node, _LOOP_RETURN)
        elif "with" in self.loops:
            self.reject(node, "Cannot have `return` statements inside `with` statements in triton ")
        elif isinstance(node.value, ast.Constant) and node.value.value is None:
            message = "cannot convert None of type <class 'NoneType'> to tensor: write `return`"
            self.reject(node, message, kind=CompilationError)
        elif node.value is not None:
            self.visit(node.value)

    def visit_For(self, node: ast.For) -> None:
        static = isinstance(node.iter, ast.Call) and self.is_static_range(node.iter.func)
        if node.orelse and not static:
            self.reject(node.orelse[0], "a loop has no `else` in the language")
        if not isinstance(node.target, ast.Name):
            self.reject(node.target, "a loop runs one name over `range` or `tl.static_range`")
        if not isinstance(node.iter, ast.Call):
            message = "Only `range` and `static_range` iterators are currently supported"
            self.reject(node.iter, message, kind=CompilationError)
        self.visit(node.iter)
        self.inside("static" if static else "loop", node.body)
        for statement in node.orelse:
            self.visit(statement)

    def is_static_range(self, node: ast.expr) -> bool:
        found = self.names.resolve(node)
        return isinstance(found, type) and issubclass(found, loops.static_range)

    def visit_While(self, node: ast.While) -> None:
        if node.orelse:
            self.reject(node.orelse[0], "a loop has no `else` in the language")
        self.visit(node.test)
        self.inside("loop", node.body)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            self.visit(item.context_expr)
        self.inside("with", node.body)

    def inside(self, kind: str, body: list[ast.stmt]) -> None:
        self.loops.append(kind)
        for statement in body:
            self.visit(statement)
        self.loops.pop()

    # Expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) != 1:
            self.reject(node, "simultaneous multiple comparison is not supported")
        elif isinstance(node.ops[0], (ast.In, ast.NotIn)):
            self.reject(node, "`in` is not in the language: compare with `==`")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.operator(node, node.op)
        self.generic_visit(node)

    def operator(self, node: ast.AST, operator: ast.operator) -> None:
        if isinstance(operator, ast.MatMult):
            self.reject(node, "`@` is not in the language: use `tl.dot`")

    def visit_ListComp(self, node: ast.ListComp) -> None:
        if len(node.generators) != 1:
            message = "nested comprehensions are not supported"
            self.reject(node, message, kind=CompilationError)
        elif node.generators[0].ifs:
            self.reject(node.generators[0].ifs[0], "a comprehension has no `if` in the language")
        for generator in node.generators:
            self.visit(generator.iter)
        bound = [
            n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)
        ]
        self.bound += bound
        self.visit(node.elt)
        del self.bound[len(self.bound) - len(bound) :]

    def visit_Call(self, node: ast.Call) -> None:
        if any(keyword.arg is None for keyword in node.keywords):
            self.reject(node, "a call cannot take **keywords in the language")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            used = getattr(self.names.resolve(node.value.func), "_must_use_result", False)
            if used:
                name = ast.unparse(node.value.func)
                text = f"The result of {name} is not being used. {used if used is not True else ''}"
                self.reject(node.value, text.strip(), kind=CompilationError)
        self.visit(node.value)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        found = self.names.resolve(node)
        holder = self.names.resolve(node.value)
        module = holder.__name__ if isinstance(holder, ModuleType) else ""
        host = module in _HOST_MODULES or module.partition(".")[0] in DEBUGGERS
        host = host or hasattr(holder, "__triton_aggregate__")  # its plain static methods
        if found is not ABSENT and not host:
            self.reference(node, found)
        self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        name = node.id
        if name in self.names.locals or name in self.bound or not isinstance(node.ctx, ast.Load):
            return
        found = self.names.outer(name)
        if found is ABSENT:
            if not is_supported_builtin(name):
                message = f"{name} is not defined"
                self.reject(node, message, kind=CompilationError, name=name)
        elif not is_supported_builtin(name):
            self.reference(node, found)
            if not is_allowed_global(found):
                self.reject(node, global_message(name), kind=CompilationError, name=name)

    def reference(self, node: ast.expr, found: Any) -> None:
        """A function that is not the language's: rejected wherever it stands, as by Triton."""
        if callable(found) and not isinstance(found, type) and not is_our_object(found):
            called = getattr(found, "__qualname__", type(found).__name__)
            module = getattr(found, "__module__", None) or ""
            foreign = module.partition(".")[0] in ("numpy", "torch", "math", "builtins")
            fix = "use what tl has for it" if foreign else "decorate it with @triton.jit"
            message = f"Unsupported function referenced: {called} is plain Python; {fix}"
            self.reject(node, message, kind=CompilationError, always=True)
