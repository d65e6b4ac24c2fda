"""The disk cache of compiled kernels: entries by key, shared by any number of processes.

An entry is one file that appears whole or not at all: it is written beside its place and renamed.
Nothing is locked. Two processes that compile the same kernel write the same entry, and the later
one wins; an entry that goes away while it is read stays readable, or counts as absent. So the
cache may only ever cost time: a file that is broken, cut off or of another key is absent (the
checksum covers all that follows it), and a folder that cannot be written means no cache, said once.

The folder is bounded. A read marks its entry as used (its modification time); when the entries are
larger than the limit, the ones that were used longest ago go. Looking at all entries takes a
while when there are thousands, so not every write does it: a write of 1/32 of the limit always
does, a smaller one in proportion, decided by its key (which is a hash, so as good as a die).
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import tempfile
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockstep import options

MAGIC = b"blockstep 1\n"
DIGEST_BYTES = 32
LENGTH_BYTES = 4
SUFFIX = ".kernel"
UNFINISHED = ".writing-"
SCANS_PER_LIMIT = 32
KEPT = 0.75  # of the limit, after eviction
ABANDONED_SECONDS = 3600  # an unfinished file this old has lost its writer


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept of a compiled kernel: facts that JSON can write, and named texts and binaries
    ("ptx", "cubin", ...)."""

    metadata: dict[str, Any]
    parts: dict[str, bytes]


def key_of(parts: Mapping[str, str | bytes]) -> str:
    """The key of what is compiled from `parts`: everything the result depends on, by name. 64
    hexadecimal digits. Lengths are hashed too, so no two different mappings run into one text."""
    digest = hashlib.sha256(MAGIC)
    for name in sorted(parts):
        value = parts[name]
        kind, data = ("s", value.encode()) if isinstance(value, str) else ("b", value)
        digest.update(f"{kind}{len(name.encode())} {len(data)} {name}".encode())
        digest.update(data)
    return digest.hexdigest()


class Store:
    """The cache in one folder; `limit` is in bytes, and 0 keeps nothing."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.writable = limit > 0

    def load(self, key: str) -> Entry | None:
        """The entry of `key`, or None if there is none that is whole."""
        path = self._path(key)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            return None
        entry = decoded(data, key)
        if entry is not None:
            with suppress(OSError):  # a folder of somebody else's can be read all the same
                os.utime(path)
        return entry

    def save(self, key: str, entry: Entry) -> bool:
        """Keep `entry`; whether it was kept. A folder that cannot be written warns once."""
        if not self.writable:
            return False
        data = encoded(entry, key)
        if len(data) > self.limit:
            return False
        try:
            self._write(self._path(key), data)
        except OSError as error:
            self._give_up(error)
            return False
        if int(key[:8], 16) * self.limit < (len(data) * SCANS_PER_LIMIT) << 32:
            self.evict()
        return True

    def evict(self) -> None:
        """Remove the entries that were used longest ago, if all together are over the limit."""
        files = sorted(self._files())
        total = sum(size for _, size, _ in files)
        excess = total - KEPT * self.limit if total > self.limit else 0
        for _, size, path in files:
            if excess <= 0:
                break
            with suppress(OSError):  # another process has removed it
                os.unlink(path)
            excess -= size

    def _files(self) -> list[tuple[float, int, str]]:
        """Time of use, size and path of each entry; unfinished files without a writer are removed."""
        found = []
        with suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    facts = entry.stat()
                    if entry.name.endswith(SUFFIX):
                        found.append((facts.st_mtime, facts.st_size, entry.path))
                    elif _is_abandoned(entry.name, facts.st_mtime):
                        os.unlink(entry.path)
        return found

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key + SUFFIX)

    def _write(self, path: str, data: bytes) -> None:
        os.makedirs(self.folder, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=self.folder, prefix=UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(unfinished, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished)
            raise

    def _give_up(self, error: OSError) -> None:
        self.writable = False
        warnings.warn(
            f"compiled kernels are not kept: {self.folder} cannot be written ({error.strerror}); "
            "set BLOCKSTEP_CACHE_DIR to a folder that can",
            RuntimeWarning,
            stacklevel=3,
        )


def current() -> Store:
    """The cache that the settings name."""
    return _store(options.cache_folder(), options.cache_size())


@functools.cache
def _store(folder: Path, limit: int) -> Store:
    return Store(folder, limit)


def encoded(entry: Entry, key: str) -> bytes:
    """An entry as the bytes of its file: magic, checksum, key, length of the head, head, parts."""
    sizes = [[name, len(data)] for name, data in entry.parts.items()]
    head = json.dumps({"metadata": entry.metadata, "parts": sizes}).encode()
    body = b"".join(
        (bytes.fromhex(key), len(head).to_bytes(LENGTH_BYTES), head, *entry.parts.values())
    )
    return MAGIC + hashlib.sha256(body).digest() + body


def decoded(data: bytes, key: str) -> Entry | None:
    """The entry in the bytes of a file; None if they are not what was written for `key`."""
    start = len(MAGIC) + DIGEST_BYTES
    body = memoryview(data)[start:]
    if not data.startswith(MAGIC) or data[len(MAGIC) : start] != hashlib.sha256(body).digest():
        return None
    at = DIGEST_BYTES + LENGTH_BYTES
    if body[:DIGEST_BYTES] != bytes.fromhex(key):
        return None
    end = at + int.from_bytes(body[DIGEST_BYTES:at])
    head = json.loads(bytes(body[at:end]))
    parts = {}
    for name, size in head["parts"]:
        parts[name] = bytes(body[end : end + size])
        end += size
    return Entry(head["metadata"], parts)


def _is_abandoned(name: str, written: float) -> bool:
    return name.startswith(UNFINISHED) and time.time() - written > ABANDONED_SECONDS
