"""What a kernel's arguments probably are, guessed from its parameters' names and their use.

The guess reads the syntax tree only, so that two compilers asked in two processes get the same
signature. Use goes before names: what is an address's offset, a loop's bound or a bit operation's
operand is an integer, and so is what it is computed from, through assignments, loads and calls. A guess is JSON: `signature` maps names to `*fp32`, `i32`, `fp32`, `constexpr`;
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
_INTEGER = re.compile(r"stride|size|(^|_)n(um)?_|len(gth)?s?($|_)|offset|(^|_)dim|rows|cols", re.I)
_BITS = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor, ast.FloorDiv, ast.Mod)
_REAL_CALLS = {
    "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sqrt_rn", "sigmoid", "softmax", "tanh", "sin",
    "cos", "erf", "dot", "dot_scaled", "pow", "floor", "ceil", "isnan", "isfinite",
}  # fmt: skip
_SAME_TYPE = {
    "where": 1, "minimum": 0, "maximum": 0, "max": 0, "min": 0, "sum": 0, "abs": 0, "cumsum": 0,
    "reshape": 0, "trans": 0, "broadcast_to": 0, "expand_dims": 0, "multiple_of": 0, "view": 0,
    "max_contiguous": 0, "ravel": 0, "fma": 0, "gather": 0, "sort": 0, "flip": 0, "permute": 0,
}  # fmt: skip
"""Calls whose value has the type of the argument at this position and of those after it."""
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
    call names to its tree, or None; `truth` is what booleans are set to, and whether there are the
    arguments that the function compares with None."""
    uses = _Uses(tree, callees)
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    defaults = _defaults(tree)
    for argument in [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]:
        name = argument.arg
        kind = _kind(argument, uses)
        if name in uses.optional and not truth:
            signature[name], constants[name] = "constexpr", None
            continue
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
        return "*" + _pointee(name, uses)
    if re.fullmatch(r"int|bool", annotation):
        return "i32" if annotation == "int" else "i1"
    if annotation == "float":
        return "fp32"
    if name in uses.integers or _INTEGER.search(name):
        return "i32"
    return "fp32" if name in uses.reals or _FLOAT.search(name) else "i32"


def _short(name: str) -> str:
    return {"float": "fp", "bfloat": "bf"}.get(name.rstrip("0123456789"), "") + re.sub(
        r"^(b?float)|(u?)int", lambda m: "" if m[1] else ("u" if m[2] else "i"), name
    )


def _pointee(name: str, uses: _Uses) -> str:
    if name in uses.widths:
        return f"i{uses.widths[name]}"
    if _BOOL_POINTER.search(name):
        return "i1"
    if name in uses.whole_pointees:
        return "i32"
    if name in uses.real_pointees:
        return "fp32"
    return "i32" if _INT_POINTER.search(name) else "fp32"


def _constant(name: str, uses: _Uses, default: Any, truth: bool) -> Any:
    if default is not None:
        return default
    if name in uses.compared:
        return uses.compared[name]
    if re.search(r"dtype|(^|_)type$", name, re.I):
        return {"dtype": "fp8e4nv" if re.search(r"fp8|float8", name, re.I) else "fp32"}
    if name in uses.tested or _BOOLEAN.search(name):
        return truth
    if re.search(r"precision", name, re.I):
        return "ieee"
    if name in _SIZES:
        return _SIZES[name]
    return 1e-5 if re.search(r"^eps|_eps$", name, re.I) else 32


class _Uses(ast.NodeVisitor):
    """How a function uses its parameters."""

    def __init__(self, tree: ast.FunctionDef, callees: Any, depth: int = 0) -> None:
        self.pointers: set[str] = set()
        self.integers: set[str] = set()
        self.reals: set[str] = set()
        self.whole_pointees: set[str] = set()
        self.real_pointees: set[str] = set()
        self.widths: dict[str, str] = {}
        self.optional: set[str] = set()
        self.tested: set[str] = set()
        self.compared: dict[str, Any] = {}
        self.aliases: dict[str, str] = {}
        self.values: dict[str, list[ast.expr]] = {}
        self.callees, self.depth = callees, depth
        for statement in tree.body:
            self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> None:
        base = self._base(node.value)
        target = node.targets[0]
        if base is not None and isinstance(target, ast.Name):
            self.aliases.setdefault(target.id, base)
        if isinstance(target, ast.Name):
            self._assigned(target.id, node.value)
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for part, value in zip(target.elts, node.value.elts, strict=False):
                if isinstance(part, ast.Name):
                    self._assigned(part.id, value)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._assigned(node.target.id, ast.BinOp(node.target, node.op, node.value))
        if isinstance(node.op, _BITS):
            self._whole(node.target)
            self._whole(node.value)
        self.generic_visit(node)

    def _assigned(self, name: str, value: ast.expr) -> None:
        """A value that a name gets, at once of the kind that the name is known to have."""
        self.values.setdefault(name, []).append(value)
        if name in self.integers:
            self._mark(value, self.integers, self.whole_pointees)
        if name in self.reals:
            self._mark(value, self.reals, self.real_pointees)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, _BITS):
            self._whole(node.left)
            self._whole(node.right)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        if isinstance(node.target, ast.Name):
            self.integers.add(node.target.id)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name, text = getattr(node.func, "attr", getattr(node.func, "id", "")), ast.unparse(node)
        if node.args and (name in _POINTER_CALLS or name.startswith("atomic_")):
            self._pointer(node.args[0])
        for keyword in node.keywords:
            if keyword.arg in ("base", "pointer") and name in _POINTER_CALLS:
                self._pointer(keyword.value)
        if name in ("range", "static_range", "cdiv", "arange"):
            for part in node.args:
                self._whole(part)
        if name == "to" and isinstance(node.func, ast.Attribute):
            self._bits(node.func.value, text)
        if name in _REAL_CALLS:
            for part in node.args[:2]:
                self._mark(part, self.reals, self.real_pointees)
        self._called(node)
        self.generic_visit(node)

    def _bits(self, value: ast.expr, text: str) -> None:
        """The bits of what was loaded are read as another type, of the same width; an address has
        64."""
        cast = text.rsplit(".to(", 1)[1]
        width = re.search(r"(?:int|float)(1|8|16|32|64)[^0-9]", cast)
        bits = width[1] if width and "bitcast=True" in cast else ""
        bits = "64" if "pointer_type" in cast else bits
        if bits:
            found: set[str] = set()
            self._mark(value, set(), found)
            self.widths.update(dict.fromkeys(found, bits))

    def _called(self, node: ast.Call) -> None:
        callee = self.callees(node.func) if self.depth < 4 else None
        if callee is None:
            return
        inner = _Uses(callee, self.callees, self.depth + 1)
        names = [a.arg for a in (*callee.args.posonlyargs, *callee.args.args)]
        given = [*zip(names, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
        for name, value in given:
            self._passed(name, value, inner)

    def _passed(self, name: str | None, value: ast.expr, inner: _Uses) -> None:
        """What a called function does with one of its parameters is done with the argument."""
        if name in inner.pointers:
            self._pointer(value)
            base = self._base(value)
            self.whole_pointees |= {base} if base and name in inner.whole_pointees else set()
            self.real_pointees |= {base} if base and name in inner.real_pointees else set()
            if base and name in inner.widths:
                self.widths[base] = inner.widths[name]
        elif name in inner.integers:
            self._whole(value)
        elif name in inner.reals:
            self._mark(value, self.reals, self.real_pointees)
        if isinstance(value, ast.Name):
            self.tested |= {value.id} if name in inner.tested else set()
            self.optional |= {value.id} if name in inner.optional else set()
            if name in inner.compared:
                self.compared.setdefault(value.id, inner.compared[name])

    def _whole(self, node: ast.expr) -> None:
        self._mark(node, self.integers, self.whole_pointees)

    def _mark(self, node: ast.expr, names: set[str], pointees: set[str]) -> None:
        """Everything that the value has its type from is of this kind."""
        if isinstance(node, ast.Name):
            if node.id not in names:
                names.add(node.id)
                for value in self.values.get(node.id, ()):
                    self._mark(value, names, pointees)
        elif isinstance(node, ast.BinOp):
            self._mark(node.left, names, pointees)
            self._mark(node.right, names, pointees)
        elif isinstance(node, (ast.UnaryOp, ast.Subscript)):
            self._mark(getattr(node, "operand", getattr(node, "value", node)), names, pointees)
        elif isinstance(node, ast.IfExp):
            self._mark(node.body, names, pointees)
            self._mark(node.orelse, names, pointees)
        elif isinstance(node, ast.Call):
            self._mark_call(node, names, pointees)

    def _mark_call(self, node: ast.Call, names: set[str], pointees: set[str]) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if (name == "load" or name.startswith("atomic_")) and node.args:
            base = self._base(node.args[0])
            pointees |= {base} if base is not None else set()
        elif name == "to" and isinstance(node.func, ast.Attribute):
            wanted = "int" if names is self.integers else "float"
            if node.args and wanted in ast.unparse(node.args[0]):
                self._mark(node.func.value, names, pointees)
        elif name in _SAME_TYPE:
            for part in node.args[_SAME_TYPE[name] : 3]:
                if not isinstance(part, (ast.Constant, ast.Tuple, ast.List)):
                    self._mark(part, names, pointees)

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
            elif other.value is None:
                self.optional.add(node.left.id)
        self.generic_visit(node)

    def _pointer(self, node: ast.expr) -> None:
        base = self._base(node)
        if base is not None:
            self.pointers.add(self.aliases.get(base, base))
            self.pointers.add(base)
            self._offsets(node)

    def _offsets(self, node: ast.expr) -> None:
        """What is added to the pointer, here and where the name was assigned, is an integer."""
        while isinstance(node, ast.BinOp):
            self._whole(node.right)
            node = node.left
        if isinstance(node, ast.Name):
            for value in self.values.pop(node.id, ()):
                self._offsets(value)

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
