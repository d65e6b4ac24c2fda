"""`triton.runtime.build`: building C at run time. Nothing of ours needs it; libraries import the
names."""

from __future__ import annotations

import os
import shutil
import sysconfig
from types import ModuleType

from blockstep.errors import UnsupportedError


def _find_compiler() -> str | None:
    return os.environ.get("CC") or shutil.which("clang") or shutil.which("gcc")


def get_cc() -> str | None:
    """The C compiler of this machine, if there is one."""
    return _find_compiler()


def platform_key() -> str:
    """What a native module depends on besides its source."""
    return f"{os.uname().machine},{os.uname().sysname},{sysconfig.get_config_var('EXT_SUFFIX')}"


def compile_module_from_src(
    src: str,
    name: str,
    library_dirs: list[str] | None = None,
    include_dirs: list[str] | None = None,
    libraries: list[str] | None = None,
) -> ModuleType:
    """Refuse: launching and the driver need no C module here."""
    raise UnsupportedError(f"unsupported: blockstep builds no C modules ({name})")
