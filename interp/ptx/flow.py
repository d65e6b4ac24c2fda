"""A kernel as basic blocks: calls inlined, blocks in the order in which diverged threads take them.

`blocks_of` puts the body of every called function in the place of the call, with names of its own
and with the parameters' memory as registers; so there is one flow graph and no stack. Recursion is
not supported.

Order: a weak topological order (F. Bourdoncle, "Efficient chaotic iteration strategies with
widenings", 1993). A loop is one stretch of it, and what follows a loop or a branch stands behind all
of its arms. Threads that are apart and always run the first block that any of them is at meet
again where the arms meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from blockstep.interp.ptx.faults import Malformed, NotSupported, Place
from blockstep.interp.ptx.isa.registry import Instruction
from blockstep.interp.ptx.parameters import completed, held, parameter_access
from blockstep.interp.ptx.syntax import (
    Address,
    Function,
    Label,
    Module,
    Negated,
    Register,
    Statement,
    Symbol,
    Variable,
)

CARRY = Register("%cc", "pred")
_BARRIERS = ("bar", "barrier")
_NESTED = frozenset({tuple, Address, Negated})
_NO_RESULT = frozenset({"bra", "brx", "nanosleep", "setmaxnreg", "griddepcontrol", "ret"})


@dataclass(slots=True)
class Block:
    """Instructions without a branch in between, and `end`, which says where threads go.

    `targets` are the blocks that `end` names; `next` is the one behind it, None behind the last."""

    number: int
    body: list[Statement] = field(default_factory=list)
    end: Statement | None = None
    targets: tuple[int, ...] = ()
    next: int | None = None

    @property
    def successors(self) -> tuple[int, ...]:
        """Where threads can be after this block."""
        opcode = None if self.end is None else self.end.instruction.opcode
        always = self.end is not None and self.end.guard is None
        if opcode in ("ret", "exit", "bra", "brx") and always:
            return self.targets
        return (*self.targets, *(() if self.next is None else (self.next,)))


@dataclass(slots=True)
class Flow:
    """A kernel's blocks in order, and the variables of it and of what it calls."""

    blocks: list[Block]
    variables: list[Variable]


def blocks_of(module: Module, entry: str) -> Flow:
    """The flow graph of a kernel. Raises Malformed and NotSupported."""
    function = module.functions.get(entry)
    if function is None or function.body is None or not function.is_entry:
        raise Malformed(f"there is no kernel {entry}", 1)
    inliner = _Inliner(module)
    nodes = completed(list(inliner.expand(function, "", {}, None, ())))
    inlined = list(_around_barriers(nodes))
    return Flow(_ordered(_cut(inlined, inliner.targets)), inliner.variables)


class _Inliner:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.variables: list[Variable] = []
        self.targets: dict[str, list[str]] = {}
        self.calls = 0

    def expand(
        self,
        function: Function,
        prefix: str,
        names: dict[str, Any],
        back: str | None,
        stack: tuple[str, ...],
    ) -> Iterator[Label | Statement]:
        """The statements of a function; `names` maps those of its parameters to the caller's."""
        if function.name in stack:
            raise NotSupported(f"recursion in {function.name}", Place(0))
        names = dict(names)
        slots = set(names.values())  # parameter memory that is kept in registers
        for variable in function.variables:
            names[variable.name] = prefix + variable.name
            if variable.space == "param":
                slots.add(prefix + variable.name)
            else:
                self.variables.append(replace(variable, name=prefix + variable.name))
        labels = {node.name for node in function.body or () if isinstance(node, Label)}
        names |= {name: prefix + name for name in (*labels, *function.targets)}
        for name, targets in function.targets.items():
            self.targets[prefix + name] = [prefix + t for t in targets]
        rename = _renamer(prefix, names)
        for node in function.body or ():
            if isinstance(node, Label):
                yield Label(prefix + node.name)
                continue
            yield from self.one(rename(node), slots, back, (*stack, function.name))

    def one(
        self, statement: Statement, slots: set[Any], back: str | None, stack: tuple[str, ...]
    ) -> Iterator[Label | Statement]:
        i = statement.instruction
        if i.opcode == "ret" and back is not None:
            jump = Instruction("bra", ("uni",), (), i.line, (Symbol(back),))
            yield replace(statement, instruction=jump)
        elif i.opcode == "call":
            yield from self.call(statement, stack)
        elif i.opcode in ("ld", "st") and "param" in {m.split("::")[0] for m in i.modifiers}:
            yield from parameter_access(statement, slots)
        else:
            yield statement

    def call(self, statement: Statement, stack: tuple[str, ...]) -> Iterator[Label | Statement]:
        i = statement.instruction
        results, target, given, *_ = i.operands
        callee = self.module.functions.get(target.name) if isinstance(target, Symbol) else None
        if callee is None:
            raise NotSupported("an indirect call", Place(i.line))
        if callee.body is None:
            ends = held(results, callee.results), target, held(given, callee.parameters)
            yield replace(statement, instruction=replace(i, operands=ends))
            return
        self.calls += 1
        prefix = f"{callee.name}@{self.calls}."
        after = f"{prefix}after"
        names: dict[str, Any] = {}
        pairs = [*zip(callee.parameters, given, strict=True)]
        for formal, actual in (*pairs, *zip(callee.results, results, strict=True)):
            if formal.space == "reg" or not isinstance(actual, Symbol):
                raise NotSupported("a call with registers as parameters", Place(i.line))
            names[formal.name] = actual.name
        if statement.guard is not None:
            jump = Instruction("bra", (), (), i.line, (Symbol(after),))
            yield replace(statement, instruction=jump, negated=not statement.negated)
        yield from self.expand(callee, prefix, names, after, stack)
        yield Label(after)


def _renamer(prefix: str, names: dict[str, Any]) -> Callable[[Statement], Statement]:
    def operand(x: Any) -> Any:
        if isinstance(x, Register):
            return Register(prefix + x.name, x.type) if prefix else x
        if isinstance(x, Symbol):
            return Symbol(names.get(x.name, x.name), x.offset)
        if isinstance(x, tuple):
            return tuple([operand(part) for part in x])
        if isinstance(x, Negated):
            return Negated(operand(x.operand))
        if isinstance(x, Address):
            return Address(operand(x.base), x.offset, operand(x.rest))
        return x

    def rename(statement: Statement) -> Statement:
        made = replace(
            statement.instruction,
            operands=tuple([operand(o) for o in statement.instruction.operands]),
        )
        guard = None if statement.guard is None else operand(statement.guard)
        return replace(statement, instruction=made, guard=guard)

    return rename


def is_barrier(i: Instruction) -> bool:
    """Whether threads may have to wait here for others."""
    return i.opcode in _BARRIERS and "arrive" not in i.modifiers


def _around_barriers(nodes: Iterable[Label | Statement]) -> Iterator[Label | Statement]:
    """Guards of barriers as branches around them, which may take the warps different ways."""
    for number, node in enumerate(nodes):
        if isinstance(node, Label) or node.guard is None or not is_barrier(node.instruction):
            yield node
            continue
        after = f"barrier@{number}"
        jump = Instruction("bra", (), (), node.instruction.line, (Symbol(after),))
        yield replace(node, instruction=jump, negated=not node.negated)
        yield replace(node, guard=None, negated=False)
        yield Label(after)


def _ends_block(i: Instruction) -> bool:
    return i.opcode in ("bra", "brx", "ret", "exit") or is_barrier(i)


def _cut(nodes: list[Label | Statement], lists: dict[str, list[str]]) -> list[Block]:
    blocks = [Block(0)]
    labels: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, Label):
            if blocks[-1].body:
                blocks[-1].next = len(blocks)
                blocks.append(Block(len(blocks)))
            labels[node.name] = len(blocks) - 1
        elif _ends_block(node.instruction):
            blocks[-1].end, blocks[-1].next = node, len(blocks)
            blocks.append(Block(len(blocks)))
        else:
            blocks[-1].body.append(node)
    line = blocks[-1].body[-1].instruction.line if blocks[-1].body else 0
    blocks[-1].end = Statement(Instruction("exit", (), (), line, ()))  # behind the last statement
    for block in blocks:
        block.targets = tuple(_targets(block, labels, lists))
    return blocks


def _targets(block: Block, labels: dict[str, int], lists: dict[str, list[str]]) -> Iterator[int]:
    if block.end is None or block.end.instruction.opcode not in ("bra", "brx"):
        return
    i = block.end.instruction
    named = i.operands[-1].name
    for name in [named] if i.opcode == "bra" else lists.get(named, []):
        if name not in labels:
            raise Malformed(f"there is no label {name}", i.line)
        yield labels[name]


def _ordered(blocks: list[Block]) -> list[Block]:
    """The blocks that can be reached, in weak topological order and numbered so."""
    order = _weak_order(blocks, _reachable(blocks), 0)
    numbers = {old: new for new, old in enumerate(order)}
    made = [blocks[old] for old in order]
    for new, block in enumerate(made):
        block.number = new
        block.targets = tuple([numbers[t] for t in block.targets])
        block.next = None if block.next is None else numbers.get(block.next)
    return made


def _weak_order(blocks: list[Block], nodes: set[int], entry: int) -> list[int]:
    order = []
    for part in _components(blocks, nodes, entry):
        if len(part) == 1:
            order += part
            continue
        head = entry if entry in part else _head(blocks, part)
        rest = set(part) - {head}
        order += [head, *_weak_order(blocks, rest, min(rest))]
    return order


def _head(blocks: list[Block], part: list[int]) -> int:
    """Where a loop is entered."""
    inside = set(part)
    entered = {s for b in blocks if b.number not in inside for s in b.successors if s in inside}
    return min(entered or inside)


def _components(blocks: list[Block], nodes: set[int], entry: int) -> list[list[int]]:
    """The strongly connected components among `nodes`, in topological order (R. Tarjan, 1972)."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for root in (entry, *sorted(nodes - {entry})):
        if root in number:
            continue
        work = [(root, iter(blocks[root].successors))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            following = next((s for s in rest if s in nodes), None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    found.append(_popped(stack, on_stack, node))
            elif following not in number:
                number[following] = low[following] = len(number)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(blocks[following].successors)))
            elif following in on_stack:
                low[node] = min(low[node], number[following])
    return found[::-1]


def _popped(stack: list[int], on_stack: set[int], last: int) -> list[int]:
    part: list[int] = []
    while not part or part[-1] != last:
        part.append(stack.pop())
        on_stack.discard(part[-1])
    return part


def _reachable(blocks: list[Block]) -> set[int]:
    found, work = {0}, [0]
    while work:
        for s in blocks[work.pop()].successors:
            if s not in found:
                found.add(s)
                work.append(s)
    return found


def all_of(block: Block) -> list[Statement]:
    """The statements of a block, its end among them."""
    return [*block.body, *([] if block.end is None else [block.end])]


def flattened(x: Any) -> Iterator[Any]:
    """The operands inside vectors, addresses and negations."""
    if isinstance(x, tuple):
        for part in x:
            yield from flattened(part)
    elif isinstance(x, Address):
        yield from flattened(x.base)
        yield from flattened(x.rest)
    elif isinstance(x, Negated):
        yield from flattened(x.operand)
    else:
        yield x


def written(statement: Statement) -> list[Register]:
    """The registers that a statement defines."""
    i = statement.instruction
    found = [CARRY] if "cc" in i.modifiers else []
    if not i.operands or isinstance(i.operands[0], Address) or _has_no_result(i):
        return found
    return found + registers_in(i.operands[:1])


def registers_in(operands: Iterable[Any]) -> list[Register]:
    """The registers among operands, also inside of others."""
    found: list[Register] = []
    for one in operands:
        kind = type(one)  # most are registers and numbers, and there are many
        if kind is Register:
            found.append(one)
        elif kind in _NESTED:
            found += [o for o in flattened(one) if isinstance(o, Register)]
    return found


def _has_no_result(i: Instruction) -> bool:
    if i.opcode in _BARRIERS:
        return "red" not in i.modifiers
    return i.opcode in _NO_RESULT


def read(statement: Statement) -> list[Register]:
    """The registers that a statement uses; a guarded one uses what it may leave as it was."""
    i = statement.instruction
    results = written(statement)
    at = 1 if results and results != [CARRY] else 0
    if i.opcode == "wgmma":
        at = 0
    found = registers_in(i.operands[at:])
    if i.opcode in ("addc", "subc", "madc"):
        found.append(CARRY)
    if statement.guard is not None:
        found += [statement.guard, *results]
    return found
