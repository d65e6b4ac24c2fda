"""What the front end accepts is what Triton's compiler accepts: `verdicts.txt`, one feature each."""

import linecache
import re
from pathlib import Path
from typing import Any

import pytest

from blockstep import language as tl
from blockstep.compiler.frontend import build
from blockstep.errors import CompilationError
from blockstep.ir import dump, parse, verify
from blockstep.runtime import redirect

TEXT = (Path(__file__).parent / "verdicts.txt").read_text()
VERDICTS = re.findall(r"^# (accepts|rejects)(, but)?.*\n@triton\.jit\ndef (\w+)", TEXT, re.M)


@pytest.fixture(scope="module")
def kernels() -> dict[str, Any]:
    """The file's functions, with `triton` meaning this package."""
    name = "verdicts"
    linecache.cache[name] = (len(TEXT), None, TEXT.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": name}
    redirected = redirect.installed()
    if not redirected:
        redirect.install(False)
    try:
        exec(compile(TEXT, name, "exec"), scope)
    finally:
        if not redirected:
            redirect.uninstall()
    return scope


def signature(kernel: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    types: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    for parameter in kernel.params:
        name = parameter.name
        if parameter.is_constexpr:
            constants[name] = "a" if name == "MODE" else 32
        elif name.endswith("_ptr"):
            types[name] = tl.pointer_type(tl.int32 if name.startswith("idx") else tl.float32)
        else:
            types[name] = tl.int32
    return types, constants


@pytest.mark.parametrize(("verdict", "but", "name"), VERDICTS, ids=[v[2] for v in VERDICTS])
def test_verdict(kernels: dict[str, Any], verdict: str, but: str, name: str) -> None:
    types, constants = signature(kernels[name])
    if (verdict == "accepts") is (but == ""):
        function = build(kernels[name], types, constants)
        verify(function)
        text = dump(function)
        if "host " not in text:
            assert dump(parse(text)) == text
    else:
        with pytest.raises(CompilationError):
            build(kernels[name], types, constants)
