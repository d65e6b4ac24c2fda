"""Judging the processes that a judged program starts.

The parent puts a folder and its options into the environment and `child/sitecustomize.py` on
PYTHONPATH. A child (also one made by `fork`) files its findings in a report of its own and writes it
to the folder after every launch, so that even a child that ends by `os._exit` is heard. At the end
the parent merges what lies there.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blockstep import export
from blockstep.options import Options
from blockstep.runtime import factories, redirect, session

VARIABLE = "BLOCKSTEP_CHILD"
FOLDER = str(Path(__file__).with_name("child"))


class Children:
    """The parent's side: opened before the program runs, `collect`ed after it."""

    def __init__(self, options: Options, redirected: bool, device_map: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="blockstep-"))
        self._before = {k: os.environ.get(k) for k in (VARIABLE, "PYTHONPATH")}
        os.environ[VARIABLE] = json.dumps(
            {
                "folder": str(self.folder),
                "options": _plain(options),
                "redirected": redirected,
                "device_map": device_map,
            }
        )
        path = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = FOLDER + (os.pathsep + path if path else "")
        os.register_at_fork(after_in_child=_forked)

    def collect(self, into: session.Session) -> None:
        """Merges what the children found, and forgets them."""
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for file in sorted(self.folder.glob("*.json")):
            findings, launches = export.from_json(json.loads(file.read_text()))
            into.report.merge(findings, launches)
        shutil.rmtree(self.folder, ignore_errors=True)


def _plain(options: Options) -> dict[str, Any]:
    fields = asdict(options)
    fields["only"] = None if options.only is None else sorted(options.only)
    fields["skip"] = sorted(options.skip)
    return fields


def _options(fields: dict[str, Any]) -> Options:
    only, programs = fields["only"], fields["programs"]
    launches = fields["launches"]
    return Options(
        **{
            **fields,
            "only": None if only is None else frozenset(only),
            "skip": frozenset(fields["skip"]),
            "programs": None if programs is None else tuple(tuple(p) for p in programs),
            "launches": None if launches is None else tuple(launches),
            "progress": False,
        }
    )


def start() -> None:
    """In a child process: opens the session that the environment describes."""
    told = json.loads(os.environ[VARIABLE])
    if told["redirected"]:
        redirect.install(told["device_map"])
    options = _options(told["options"])
    if options.judged:
        factories.factories.install()
    opened = session.make(options)
    opened.file = Path(told["folder"]) / f"{os.getpid()}.json"
    session.set_process(opened)
    atexit.register(_finish, opened)
    os.register_at_fork(after_in_child=_forked)  # forkserver, and children that fork


def _forked() -> None:
    """In a forked child: a report of its own, else it would tell the parent's findings again."""
    if VARIABLE not in os.environ:
        return
    told = json.loads(os.environ[VARIABLE])
    opened = session.make(_options(told["options"]))
    opened.file = Path(told["folder"]) / f"{os.getpid()}.json"
    session.set_process(opened)


def _finish(opened: session.Session) -> None:
    session.finish(opened)
    save(opened)


def save(opened: session.Session) -> None:
    """Writes the report of a child where the parent will look; whole or not at all."""
    if opened.file is None or not opened.file.parent.is_dir():
        return
    part = opened.file.with_suffix(".part")
    part.write_text(json.dumps(export.to_exchange(opened.report)))
    part.replace(opened.file)
