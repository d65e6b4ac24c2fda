"""The disk cache: whatever happens to its files costs time and nothing else."""

import multiprocessing
import os
import time
import warnings
from pathlib import Path

import pytest

from blockstep import knobs, options
from blockstep.compiler import store
from blockstep.compiler.store import Entry, Store, key_of

KEY = key_of({"source": "def kernel(): ...", "target": "sm_90a"})
ENTRY = Entry(
    {"registers": 26, "names": ["a", "é"]}, {"ptx": b".version 8.4", "cubin": b"\0\x7fELF"}
)
GIB = 1 << 30


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    assert Store(tmp_path, GIB).save(KEY, ENTRY)
    assert Store(tmp_path, GIB).load(KEY) == ENTRY
    assert Store(tmp_path, GIB).load(key_of({})) is None


def test_keys_differ_where_parts_do() -> None:
    keys = [
        key_of({"a": "bc"}),
        key_of({"ab": "c"}),
        key_of({"a": b"bc"}),
        key_of({"a": "b", "c": ""}),
        key_of({"a": "b", "": "c"}),
        key_of({}),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of({"a": "1", "b": "2"}) == key_of({"b": "2", "a": "1"})


def test_an_entry_with_any_byte_changed_is_absent(tmp_path: Path) -> None:
    whole = store.encoded(ENTRY, KEY)
    assert store.decoded(whole, KEY) == ENTRY
    for at in range(len(whole)):
        broken = bytearray(whole)
        broken[at] ^= 1 << at % 8
        assert store.decoded(bytes(broken), KEY) is None, at


def test_an_entry_cut_off_anywhere_or_longer_is_absent() -> None:
    whole = store.encoded(ENTRY, KEY)
    for size in range(len(whole)):
        assert store.decoded(whole[:size], KEY) is None, size
    assert store.decoded(whole + b"\0", KEY) is None


def test_an_entry_under_another_name_is_absent(tmp_path: Path) -> None:
    other = key_of({"source": "another"})
    kept = Store(tmp_path, GIB)
    kept.save(KEY, ENTRY)
    os.rename(tmp_path / f"{KEY}{store.SUFFIX}", tmp_path / f"{other}{store.SUFFIX}")
    assert kept.load(other) is None


def test_a_broken_entry_is_written_anew(tmp_path: Path) -> None:
    kept = Store(tmp_path, GIB)
    kept.save(KEY, ENTRY)
    (tmp_path / f"{KEY}{store.SUFFIX}").write_bytes(b"")
    assert kept.load(KEY) is None
    assert kept.save(KEY, ENTRY)
    assert kept.load(KEY) == ENTRY


def keys(count: int) -> list[str]:
    return [key_of({"number": str(number)}) for number in range(count)]


def test_the_entries_used_longest_ago_go(tmp_path: Path) -> None:
    size = 1000
    many = keys(10)
    filled = Store(tmp_path, GIB)
    for at, key in enumerate(many):
        filled.save(key, Entry({}, {"cubin": bytes(size)}))
        os.utime(tmp_path / f"{key}{store.SUFFIX}", (at + 1, at + 1))
    assert filled.load(many[0]) is not None  # used just now
    each = os.path.getsize(tmp_path / f"{many[0]}{store.SUFFIX}")
    Store(tmp_path, 8 * each).evict()
    left = {key for key in many if (tmp_path / f"{key}{store.SUFFIX}").exists()}
    assert left == {many[0], *many[5:]}


def test_a_cache_within_its_limit_keeps_everything(tmp_path: Path) -> None:
    filled = Store(tmp_path, GIB)
    for key in keys(10):
        filled.save(key, ENTRY)
    filled.evict()
    assert all(filled.load(key) == ENTRY for key in keys(10))


def test_writing_alone_keeps_the_cache_near_its_limit(tmp_path: Path) -> None:
    limit = 100_000
    bounded = Store(tmp_path, limit)
    largest = 0
    for key in keys(1500):
        bounded.save(key, Entry({}, {"cubin": bytes(500)}))
        largest = max(largest, sum(f.stat().st_size for f in tmp_path.iterdir()))
    assert limit / 2 < largest < 1.5 * limit


def test_few_writes_look_at_all_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(Store, "evict", lambda self: looked.append(1))
    bounded = Store(tmp_path, 1 << 20)
    for key in keys(500):
        bounded.save(key, ENTRY)
    assert len(looked) < 20


def test_an_entry_over_the_limit_and_a_cache_of_nothing_keep_nothing(tmp_path: Path) -> None:
    for limit in (0, 10):
        assert not Store(tmp_path / "none", limit).save(KEY, ENTRY)
    assert not (tmp_path / "none").exists()


def test_unfinished_files_go_when_their_writer_is_gone(tmp_path: Path) -> None:
    old, new = tmp_path / f"{store.UNFINISHED}old", tmp_path / f"{store.UNFINISHED}new"
    for file in (old, new):
        file.write_bytes(b"x")
    an_age = time.time() - 2 * store.ABANDONED_SECONDS
    os.utime(old, (an_age, an_age))
    Store(tmp_path, GIB).evict()
    assert not old.exists()
    assert new.exists()


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where the folder would be")
    kept = Store(blocked / "cache", GIB)
    with pytest.warns(RuntimeWarning, match="compiled kernels are not kept.*BLOCKSTEP_CACHE_DIR"):
        assert not kept.save(KEY, ENTRY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not kept.save(KEY, ENTRY)
        assert kept.load(KEY) is None


def _hammer(folder: Path, seed: int, rounds: int) -> None:
    """Writes, reads and evicts; every entry that is found must be the one of its key."""
    kept = Store(folder, 60_000)
    names = keys(40)
    for step in range(rounds):
        at = (seed * 7919 + step * 31) % len(names)
        expected = Entry({"number": at}, {"cubin": bytes([at]) * 2000})
        found = kept.load(names[at])
        if found is not None and found != expected:
            raise AssertionError(f"entry {at} is that of another key")
        kept.save(names[at], expected)


def test_many_processes_share_a_cache(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_hammer, args=(tmp_path, n, 150)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * len(workers)
    assert not list(tmp_path.glob(f"{store.UNFINISHED}*"))
    Store(tmp_path, 60_000).evict()
    assert sum(f.stat().st_size for f in tmp_path.iterdir()) <= 60_000


@pytest.fixture
def clean_settings(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("BLOCKSTEP_CACHE_DIR", "TRITON_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_which_folder_is_used(clean_settings: pytest.MonkeyPatch) -> None:
    assert options.cache_folder() == Path.home() / ".cache" / "blockstep"
    clean_settings.setenv("XDG_CACHE_HOME", "/x")
    assert options.cache_folder() == Path("/x/blockstep")
    clean_settings.setenv("TRITON_CACHE_DIR", "/t")
    assert options.cache_folder() == Path("/t/blockstep")
    with knobs.cache.scope():
        knobs.cache.dir = "/assigned"
        assert options.cache_folder() == Path("/assigned/blockstep")
    clean_settings.setenv("BLOCKSTEP_CACHE_DIR", "/b")
    assert options.cache_folder() == Path("/b")
    assert store.current().folder == Path("/b")
    assert store.current() is store.current()


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("1000", 1000), ("500M", 500 << 20), ("2GiB", 2 << 30), ("3 k", None)],
)
def test_which_size_is_kept(text: str, size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSTEP_CACHE_SIZE", text)
    if size is None:
        with pytest.raises(ValueError, match="BLOCKSTEP_CACHE_SIZE='3 k'"):
            options.cache_size()
    else:
        assert options.cache_size() == size


def test_the_size_is_a_gibibyte_if_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BLOCKSTEP_CACHE_SIZE", raising=False)
    assert options.cache_size() == GIB
