"""Each `.ir` file beside this one: a pass, the IR it is given, and what the result must say.

# RUN: simplify            (or `place {num_warps=1}`: the pass with other options)
# CHECK: text      some later line contains it
# CHECK-NEXT: text   the very next line does
# CHECK-NOT: text   no line up to the next CHECK (or the end) does
# -----            another function with its own checks
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blockstep.compiler.analysis import Hint
from blockstep.compiler.compile import pipeline, reasons
from blockstep.compiler.lower import Options
from blockstep.compiler.passes import Pass, apply, run
from blockstep.ir import dump, parse, verify

FOLDER = Path(__file__).parent
PASSES = {one.name: one for one in pipeline(Options(), {})}


def cases() -> Iterator[tuple[str, str, str]]:
    for path in sorted(FOLDER.glob("*.ir")):
        head, *parts = path.read_text().split("# -----")
        name = head.split("# RUN:")[1].split("\n")[0].strip()
        for number, part in enumerate([head.split("\n", 1)[1], *parts]):
            yield f"{path.stem}[{number}]", name, part


@pytest.mark.parametrize(
    ("label", "name", "text"), list(cases()), ids=lambda v: v if "[" in v else ""
)
def test_pass(label: str, name: str, text: str) -> None:
    code = "\n".join(line for line in text.splitlines() if not line.strip().startswith("#"))
    function = parse(code)
    verify(function)
    apply(chosen(name, [p.name for p in function.parameters]), function)
    verify(function)
    check(text, dump(function))


def chosen(text: str, parameters: list[str]) -> Pass:
    """A pass and its options: `place {num_warps=1, divisible=16}` says of all parameters that they
    are divisible by 16."""
    name, _, rest = text.partition(" ")
    one: Any = PASSES[name]
    options = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", rest)}
    if (divisor := options.pop("divisible", None)) is not None:
        one = replace(one, hints={parameter: Hint(divisor) for parameter in parameters})
    made: Pass = replace(one, **options)
    return made


def check(wanted: str, got: str) -> None:
    """Holds the `# CHECK` lines of one text against another text."""
    lines = got.splitlines()
    place, banned = 0, list[str]()
    for directive in wanted.splitlines():
        kind, _, text = directive.strip().partition(": ")
        if kind == "# CHECK-NOT":
            banned.append(text)
        elif kind in ("# CHECK", "# CHECK-NEXT"):
            end = len(lines) if kind == "# CHECK" else place + 1
            found = next((i for i in range(place, end) if text in lines[i]), None)
            assert found is not None, f"no {text!r} from line {place + 1} on in\n{got}"
            absent(banned, lines[place:found], got)
            place, banned = found + 1, []
    absent(banned, lines[place:], got)


def absent(banned: list[str], lines: list[str], got: str) -> None:
    for text in banned:
        assert not any(text in line for line in lines), f"{text!r} is still in\n{got}"


def test_every_pass_has_a_file() -> None:
    assert {name.partition(" ")[0] for _, name, _ in cases()} == set(PASSES)


def test_every_pass_has_a_reason_to_stand_where_it_does() -> None:
    assert all(reason for _, reason in reasons(Options(), {}))


def test_the_pipeline_stops_after_the_pass_that_is_named() -> None:
    text = "func @f(%n: int32) -> () const {} {\n  %0 = add %n, %n : int32\n  return\n}"
    function = parse(text)
    run(function, "licm")
    assert "add" in dump(function)
    run(function)
    assert "add" not in dump(function)


def test_an_unknown_pass_is_refused() -> None:
    function = parse("func @f() -> () const {} {\n  return\n}")
    with pytest.raises(ValueError, match="no pass is called 'fuse'"):
        run(function, "fuse")
