"""`triton.runtime.cache`: files kept by key under `knobs.cache.dir`, safe with many processes.

A file appears whole or not at all: it is written beside its place and renamed. Groups are files
named in one JSON file.
"""

from __future__ import annotations

import abc
import base64
import functools
import hashlib
import importlib
import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any

from blockstep import knobs

__all__ = [
    "CacheManager", "FileCacheManager", "RedisRemoteCacheBackend", "RemoteCacheBackend",
    "get_cache_key", "get_cache_manager", "get_dump_manager", "get_override_manager", "knobs",
    "triton_key",
]  # fmt: skip


class CacheManager(abc.ABC):
    """Where the files of one key are."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key

    @abc.abstractmethod
    def get_file(self, filename: str) -> str | None: ...

    @abc.abstractmethod
    def put(self, data: Any, filename: str, binary: bool = True) -> str: ...

    @abc.abstractmethod
    def get_group(self, filename: str) -> dict[str, str] | None: ...

    @abc.abstractmethod
    def put_group(self, filename: str, group: dict[str, str]) -> str: ...


class FileCacheManager(CacheManager):
    """A folder for each key."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        root = (
            knobs.cache.dump_dir
            if dump
            else knobs.cache.override_dir
            if override
            else knobs.cache.dir
        )
        self.cache_dir = os.path.join(root, key)
        if not override:
            os.makedirs(self.cache_dir, exist_ok=True)

    def has_file(self, filename: str) -> bool:
        """Whether `filename` was put."""
        return os.path.exists(os.path.join(self.cache_dir, filename))

    def get_file(self, filename: str) -> str | None:
        """Path of `filename`, or None."""
        return os.path.join(self.cache_dir, filename) if self.has_file(filename) else None

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """Keep `data` (bytes, or anything as text) and return its path."""
        payload = data if isinstance(data, bytes) else str(data).encode()
        handle, temporary = tempfile.mkstemp(dir=self.cache_dir)
        with os.fdopen(handle, "wb") as file:
            file.write(payload)
        path = os.path.join(self.cache_dir, filename)
        os.replace(temporary, path)
        return path

    def get_group(self, filename: str) -> dict[str, str] | None:
        """Names and paths of the group kept as `filename`, or None."""
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        with open(path) as file:
            names = json.load(file)["child_paths"]
        paths = {name: self.get_file(name) for name in names}
        return {name: found for name, found in paths.items() if found is not None}

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        """Keep the names in `group` together, as `filename`."""
        text = json.dumps(
            {"child_paths": {name: os.path.basename(path) for name, path in group.items()}}
        )
        return self.put(text, f"__grp__{filename}", binary=False)


class RemoteCacheBackend(abc.ABC):
    """A store outside this machine; libraries derive their own."""

    def __init__(self, key: str) -> None:
        self.key = key

    @abc.abstractmethod
    def get(self, filenames: list[str]) -> dict[str, bytes]: ...

    @abc.abstractmethod
    def put(self, filename: str, data: bytes) -> None: ...


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """A store in Redis, which the package `redis` reaches."""

    def __init__(self, key: str) -> None:
        redis: Any = importlib.import_module("redis")

        super().__init__(key)
        self._redis = redis.Redis(host=knobs.redis.host, port=knobs.redis.port)

    def _name(self, filename: str) -> str:
        return str(knobs.redis.key_format).format(key=self.key, filename=filename)

    def get(self, filenames: list[str]) -> dict[str, bytes]:
        values = self._redis.mget([self._name(f) for f in filenames])
        return {f: v for f, v in zip(filenames, values, strict=True) if v is not None}

    def put(self, filename: str, data: bytes) -> None:
        self._redis.set(self._name(filename), data)


def _base32(key: str) -> str:
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


def _manager(key: str, **kind: bool) -> CacheManager:
    manager: type[CacheManager] = knobs.cache.manager_class or FileCacheManager
    return manager(_base32(key), **kind)


def get_cache_manager(key: str) -> CacheManager:
    """The files of the hexadecimal `key`."""
    return _manager(key)


def get_override_manager(key: str) -> CacheManager:
    """Files of `key` that replace what would be compiled."""
    return _manager(key, override=True)


def get_dump_manager(key: str) -> CacheManager:
    """Files of `key` that are written to be read by people."""
    return _manager(key, dump=True)


@functools.lru_cache
def triton_key() -> str:
    """What a cached result depends on besides its source: the version of blockstep."""
    import blockstep

    return f"blockstep-{blockstep.__version__}"


def get_cache_key(src: Any, backend: Any, backend_options: Any, env_vars: Mapping[str, str]) -> str:
    """Key of a compilation: source, backend, options, environment."""
    parts = (
        triton_key(),
        src.hash(),
        backend.hash(),
        backend_options.hash(),
        str(sorted(env_vars.items())),
    )
    return hashlib.sha256("-".join(parts).encode()).hexdigest()
