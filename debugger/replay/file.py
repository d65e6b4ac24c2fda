"""What stands in a replay file: a zip archive with `replay.json`, memory and source lines.

    replay.json    the launch and where a person stood: see `writing.told`
    memory/N       the bytes of the N-th stretch of memory, before the launch
    written/N      one bit a byte: what somebody had written; absent where all was
    source/FILE    the lines of FILE that the kernel and its functions stand on, at their numbers

Opening one runs the kernel in it (and, where it has one, the function that makes the arguments), so
a replay file is to be trusted as a script is.
"""

from __future__ import annotations

import json
import zipfile
from typing import Any

FORMAT = 1
HEAD = "replay.json"
CHUNK = 1 << 20


class NoReplay(ValueError):
    """A file that cannot be opened as a replay file, and why."""


def is_replay(file: str) -> bool:
    """Whether a file is one, going by its contents."""
    if not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as archive:
        return HEAD in archive.namelist()


def write(file: str, head: dict[str, Any], parts: dict[str, bytes]) -> int:
    """Writes a replay file; its size in bytes. Equal contents give equal files."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        text = json.dumps({"format": FORMAT, **head}, indent=1)
        for name, data in {HEAD: text.encode(), **parts}.items():
            entry = zipfile.ZipInfo(name)  # dated 1980
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    with open(file, "rb") as written:
        return written.seek(0, 2)


def load(file: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The contents of a replay file. Raises NoReplay, and OSError for one that is not there."""
    try:
        with zipfile.ZipFile(file) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
    except zipfile.BadZipFile as error:
        raise NoReplay(f"{file} is no replay file: {error}") from error
    if HEAD not in parts:
        raise NoReplay(f"{file} is no replay file: it has no {HEAD}")
    head = json.loads(parts.pop(HEAD))
    if head.get("format") != FORMAT:
        raise NoReplay(
            f"{file} is of format {head.get('format')}, and this version reads format {FORMAT}"
        )
    return head, parts
