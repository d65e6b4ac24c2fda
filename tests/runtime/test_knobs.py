"""Knobs follow the environment until they are assigned; scopes and chains undo what was done."""

from __future__ import annotations

import os
from typing import Any

import pytest

from blockstep import knobs


class group(knobs.base_knobs):
    text = knobs.env_str("BLOCKSTEP_TEST_TEXT", "default")
    flag = knobs.env_bool("BLOCKSTEP_TEST_FLAG", True)
    maybe = knobs.env_opt_bool("BLOCKSTEP_TEST_MAYBE")
    number = knobs.env_int("BLOCKSTEP_TEST_NUMBER", 3)
    manager = knobs.env_class("BLOCKSTEP_TEST_CLASS", "CacheManager")


KEYS = [knob.key for knob in group().knob_descriptors.values()]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.setenv(key, "set")
        monkeypatch.delenv(key)


def test_defaults() -> None:
    assert group().knobs == {
        "text": "default",
        "flag": True,
        "maybe": None,
        "number": 3,
        "manager": None,
    }


@pytest.mark.parametrize("word", ["1", "true", "TRUE", "y", "YES", "on"])
def test_true_words(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSTEP_TEST_MAYBE", word)
    assert group().maybe is True


@pytest.mark.parametrize("word", ["0", "false", "n", "off", ""])
def test_false_words(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSTEP_TEST_FLAG", word)
    assert group().flag is False


def test_assigning_wins_and_reaches_the_environment() -> None:
    knob = group()
    knob.flag, knob.number, knob.text = False, 7, "mine"
    assert [os.environ[key] for key in KEYS[:2]] == ["mine", "0"]
    os.environ["BLOCKSTEP_TEST_NUMBER"] = "8"
    assert knob.number == 7
    knob.number = knobs.env
    assert knob.number == 8


def test_nothing_reaches_the_environment_without_propagation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(knobs, "propagate_env", False)
    group().text = "mine"
    assert "BLOCKSTEP_TEST_TEXT" not in os.environ


def test_a_scope_undoes_assignments() -> None:
    knob = group()
    knob.text = "outside"
    with knob.scope():
        knob.text, knob.number = "inside", 9
        del knob.flag
    assert (knob.text, knob.number) == ("outside", 3)
    assert os.environ["BLOCKSTEP_TEST_TEXT"] == "outside"
    assert "BLOCKSTEP_TEST_NUMBER" not in os.environ


def test_a_copy_is_independent_and_reset_follows_the_environment() -> None:
    knob = group()
    knob.text = "mine"
    copy = knob.copy()
    os.environ.pop("BLOCKSTEP_TEST_TEXT")
    assert copy.reset().text == "default"
    assert knob.text == "mine"


def test_a_wrong_integer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSTEP_TEST_NUMBER", "many")
    with pytest.raises(RuntimeError, match="BLOCKSTEP_TEST_NUMBER=many: expected int"):
        _ = group().number


def test_a_class_is_found_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSTEP_TEST_CLASS", "blockstep.runtime.compat.cache:FileCacheManager")
    assert group().manager.__name__ == "FileCacheManager"
    monkeypatch.setenv("BLOCKSTEP_TEST_CLASS", "collections:OrderedDict")
    with pytest.raises(RuntimeError, match="not of type 'CacheManager'"):
        _ = group().manager
    monkeypatch.setenv("BLOCKSTEP_TEST_CLASS", "collections")
    with pytest.raises(RuntimeError, match="MODULE:CLASS"):
        _ = group().manager


def test_interpreting_is_the_default_and_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert knobs.runtime.interpret is True
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    assert knobs.runtime.interpret is False


def test_hooks_run_in_order_and_reversed() -> None:
    seen: list[str] = []
    forward: knobs.HookChain[Any] = knobs.HookChain()
    backward: knobs.HookChain[Any] = knobs.HookChain(reversed=True)
    first, second = (lambda: seen.append("first")), (lambda: seen.append("second"))
    for chain in (forward, backward):
        chain.add(first)
        chain.add(second)
        chain.add(first)
        chain()
    assert seen == ["first", "second", "second", "first"]
    forward.remove(first)
    forward.remove(first)
    forward()
    assert seen[4:] == ["second"]


def test_the_cache_folder_follows_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    monkeypatch.setenv("TRITON_HOME", "/somewhere")
    assert knobs.cache.dir == "/somewhere/.triton/cache"


def test_compile_times_add_up() -> None:
    times = knobs.CompileTimes(1, [("ttir", 2), ("ptx", 3)], 4)
    assert (times.total_lowering, times.total) == (5, 10)
