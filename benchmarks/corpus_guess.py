"""What a kernel's arguments probably are, guessed from its parameters' names and their use.

The guess reads the syntax tree only, so that two compilers asked in two processes get the same
signature. A guess is JSON: `signature` maps names to `*fp32`, `i32`, `fp32`, `constexpr`;
`constants` maps the constexprs to values (`{"dtype": "fp32"}` stands for `tl.float32`).
"""

from __future__ import annotations

import ast
import re
from typing import Any

_POINTER_CALLS = {"load", "store", "make_block_ptr", "make_tensor_descriptor"}
_INT_POINTER = re.compile(
    r"idx|index|indices|indptr|offset|seqlen|cu_|lens?($|_)|table|slot|_ids?($|_)|counts?|label|"
    r"target|token|perm|order|expert|positions?|batch_id|lock", re.I,
)  # fmt: skip
_BOOL_POINTER = re.compile(r"mask|bool|flag|cond|valid", re.I)
_FLOAT = re.compile(
    r"eps|scale|alpha|beta|gamma|(^|_)p($|_)|prob|dropout|smooth|momentum|(^|_)lr($|_)|decay|tau|"
    r"temperature|softcap|threshold|lambda|delta|value$|(^|_)val|inv_|negative_slope|clamp|limit|"
    r"fill|weight_|factor|theta|lower$|upper$|(^|_)(mean|std|min|max|low|high)($|_)", re.I,
)  # fmt: skip
_BOOLEAN = re.compile(
    r"^(is|use|has|do|need|with|enable|return|store|save|output|causal|even|apply|compute|allow|"
    r"transpose|trans|normalize|fuse|inplace|keep|exclusive|reverse|interleaved|varlen|skip)(_|$)|"
    r"(_flag|_causal|is_|_inplace)$|^(HEAD_FIRST|CAUSAL|VARLEN)", re.I,
)  # fmt: skip
_SIZES = {"num_stages": 2, "num_warps": 4, "GROUP_M": 8, "GROUP_SIZE_M": 8, "SPLIT_K": 1}


def guess(tree: ast.FunctionDef, callees: Any, truth: bool = True) -> dict[str, Any]:
    """Signature and constants for one jit function. `callees(node)` resolves the function that a
    call names to its tree, or None; `truth` is what booleans are set to."""
    uses = _Uses(tree, callees)
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    defaults = _defaults(tree)
    for argument in [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]:
        name = argument.arg
        kind = _kind(argument, uses)
        signature[name] = kind
        if kind == "constexpr":
            constants[name] = _constant(name, uses, defaults.get(name), truth)
    return {"signature": signature, "constants": constants}


def _defaults(tree: ast.FunctionDef) -> dict[str, Any]:
    names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]
    found = dict(
        zip(names[len(names) - len(tree.args.defaults) :], tree.args.defaults, strict=True)
    )
    return {k: v.value for k, v in found.items() if isinstance(v, ast.Constant)}


def _kind(argument: ast.arg, uses: _Uses) -> str:
    name = argument.arg
    annotation = ast.unparse(argument.annotation) if argument.annotation else ""
    if "constexpr" in annotation:
        return "constexpr"
    declared = re.search(r"\b(u?int(8|16|32|64)|float(16|32|64)|bfloat16)\b", annotation)
    if declared and name not in uses.pointers:
        return _short(declared[1])
    if name in uses.pointers or re.search(r"ptr|pointer", name, re.I):
        return "*" + _pointee(name)
    if re.fullmatch(r"int|bool", annotation):
        return "i32" if annotation == "int" else "i1"
    if annotation == "float" or (_FLOAT.search(name) and name not in uses.integers):
        return "fp32"
    return "i32"


def _short(name: str) -> str:
    return {"float": "fp", "bfloat": "bf"}.get(name.rstrip("0123456789"), "") + re.sub(
        r"^(b?float)|(u?)int", lambda m: "" if m[1] else ("u" if m[2] else "i"), name
    )


def _pointee(name: str) -> str:
    if _BOOL_POINTER.search(name):
        return "i1"
    return "i32" if _INT_POINTER.search(name) else "fp32"


def _constant(name: str, uses: _Uses, default: Any, truth: bool) -> Any:
    if default is not None:
        return default
    if name in uses.compared:
        return uses.compared[name]
    if re.search(r"dtype|(^|_)type$", name, re.I):
        return {"dtype": "fp32"}
    if name in uses.tested or _BOOLEAN.search(name):
        return truth
    if name in _SIZES:
        return _SIZES[name]
    return 1e-5 if re.search(r"^eps|_eps$", name, re.I) else 32


class _Uses(ast.NodeVisitor):
    """How a function uses its parameters."""

    def __init__(self, tree: ast.FunctionDef, callees: Any, depth: int = 0) -> None:
        self.pointers: set[str] = set()
        self.integers: set[str] = set()
        self.tested: set[str] = set()
        self.compared: dict[str, Any] = {}
        self.aliases: dict[str, str] = {}
        self.callees, self.depth = callees, depth
        for statement in tree.body:
            self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> None:
        base = self._base(node.value)
        if base is not None and isinstance(node.targets[0], ast.Name):
            self.aliases.setdefault(node.targets[0].id, base)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if node.args and (name in _POINTER_CALLS or name.startswith("atomic_")):
            self._pointer(node.args[0])
        for keyword in node.keywords:
            if keyword.arg in ("base", "pointer") and name in _POINTER_CALLS:
                self._pointer(keyword.value)
        if name in ("range", "cdiv", "arange"):
            for part in node.args:
                self.integers.update(n.id for n in ast.walk(part) if isinstance(n, ast.Name))
        self._called(node)
        self.generic_visit(node)

    def _called(self, node: ast.Call) -> None:
        callee = self.callees(node.func) if self.depth < 4 else None
        if callee is None:
            return
        inner = _Uses(callee, self.callees, self.depth + 1)
        names = [a.arg for a in (*callee.args.posonlyargs, *callee.args.args)]
        given = [*zip(names, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
        for name, value in given:
            if name in inner.pointers:
                self._pointer(value)
            if isinstance(value, ast.Name):
                self.tested |= {value.id} if name in inner.tested else set()
                self.integers |= {value.id} if name in inner.integers else set()
                if name in inner.compared:
                    self.compared.setdefault(value.id, inner.compared[name])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr == "element_ty":
            inner = node.value
            self._pointer(inner.value if isinstance(inner, ast.Attribute) else inner)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self._test(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._test(node.test)
        self.generic_visit(node)

    def _test(self, node: ast.expr) -> None:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._test(node.operand)
        elif isinstance(node, ast.BoolOp):
            for part in node.values:
                self._test(part)
        elif isinstance(node, ast.Name):
            self.tested.add(node.id)

    def visit_Compare(self, node: ast.Compare) -> None:
        other = node.comparators[0]
        if isinstance(node.left, ast.Name) and isinstance(other, ast.Constant):
            if isinstance(other.value, (str, bool)):
                self.compared.setdefault(node.left.id, other.value)
        self.generic_visit(node)

    def _pointer(self, node: ast.expr) -> None:
        base = self._base(node)
        if base is not None:
            self.pointers.add(self.aliases.get(base, base))
            self.pointers.add(base)

    def _base(self, node: ast.expr) -> str | None:
        """The name that pointer arithmetic starts from."""
        while isinstance(node, (ast.BinOp, ast.Subscript, ast.Call, ast.Attribute)):
            if isinstance(node, ast.BinOp):
                if not isinstance(node.op, (ast.Add, ast.Sub)):
                    return None
                node = node.left
            elif isinstance(node, ast.Call):
                if getattr(node.func, "attr", "") == "to" and isinstance(node.func, ast.Attribute):
                    node = node.func.value
                else:
                    return None
            else:
                return None
        return self.aliases.get(node.id, node.id) if isinstance(node, ast.Name) else None
