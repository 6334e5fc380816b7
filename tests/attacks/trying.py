"""How an attack is tried: in a process of its own, with its guard or without."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from kernlens.report import style
from tests.attacks.attack import (
    BESIDE,
    COMPILER,
    PARTS,
    REPOSITORY,
    SERVER,
    SHOWN,
    SOURCE,
    SPOOL,
    TEXTS,
    Attack,
    changes,
    escaped,
    obeyed,
    told,
)
from tests.attacks.server_requests import answered, serving
from tests.tree import PACKAGE, package_files


def _unguarded_json(value: object) -> str:
    text = re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), json.dumps(value))
    for escape, character in (("\\n", "\n"), ("\\r", "\r"), ("\\b", "\b"), ("\\f", "\f")):
        text = text.replace(escape, character)
    return text


def _any_name(self: object, folder: tuple[str, ...], name: str, ending: str = "") -> tuple[str, ...]:
    return (*folder, name + ending)


def _write_anywhere(folder: Path, names: tuple[str, ...], content: bytes, checked: object) -> None:
    target = os.path.join(folder, *names)
    # A folder that a path goes through and leaves again has to be there.
    for step in itertools.accumulate(target.split("/"), lambda before, name: f"{before}/{name}"):
        if step != target and step and not os.path.isdir(step):
            os.mkdir(step)
    Path(target).write_bytes(content)


def _anywhere(folder: Path, path: str) -> Path:
    path = path.replace("\\", "/")
    return Path(os.path.normpath(folder / (path.lstrip("/") if path.startswith("/..") else path)))


def _shown(self: Any, *words: str) -> list[str]:
    """Return a command that shows a commit on the way, as who does not know what that may start would."""
    git = ["git", "-C", self._folder, "--no-pager"]
    return [
        "sh",
        "-c",
        f"{shlex.join([*git, 'show', '--ext-diff', 'HEAD'])} >/dev/null; exec {shlex.join([*git, *words])}",
    ]


DOOR = "kernlens.toolchain.sources.source_reading"
#: What takes a guard out.
_OUT: dict[str, dict[str, object]] = {
    BESIDE: {f"{DOOR}._is_below": lambda path, folder: True, f"{DOOR}._is_hidden": lambda path: False},
    SOURCE: {f"{DOOR}.SourceFolders._refusal": lambda self, real: None},
    SHOWN: {
        "kernlens.report.style._SPECIAL": style._MARK,
        "kernlens.report.json_text.encoded": _unguarded_json,
        "kernlens.analysis.parts._UNSAFE": re.compile("[/\0]+"),
    },
    PARTS: {"kernlens.analysis.parts._Names.make": _any_name, "kernlens.verbs.extract._write": _write_anywhere},
    TEXTS: {"kernlens.toolchain.sources.recorded_sources._below": _anywhere},
    COMPILER: {},
    REPOSITORY: {
        "kernlens.verbs.sources.git_repository._SETTINGS": (),
        "kernlens.verbs.sources.git_repository._VARIABLES": {"LC_ALL": "C"},
        "kernlens.verbs.sources.git_repository.is_plain": bool,
        "kernlens.verbs.sources.git_repository.Repository._command": _shown,
    },
    SERVER: {
        "kernlens.explorer.guard.Guard._check": lambda self, scope: None,
        "kernlens.explorer.compile_request.BODY_LIMIT": 1 << 40,
    },
    SPOOL: {
        "kernlens.verbs.capture.spool.Spool.recording": property(
            lambda self: Path((self.folder / "recording").read_text())
        )
    },
}


#: The guards of attacks after which something is changed.
_WRITING = (PARTS, TEXTS, SPOOL, REPOSITORY, COMPILER)
#: What is taken out in both cases.
_OUT_ALWAYS: dict[str, dict[str, object]] = {
    COMPILER: {
        "kernlens.toolchain.sources.recorded_sources.inclusions": lambda text: (),
        "kernlens.toolchain.sources.recorded_sources._own_options": lambda words, folder: (list(words), []),
    }
}
#: What a command is told without its guard.
_OUT_WORDS = {COMPILER: ("--unconfined",)}


def leak(attack: Attack, private: frozenset[str], *, are_guards_out: bool) -> str:
    """Run an attack in a child process; return what leaked, "" if nothing did."""
    # What only reads is not looked at by this process: strace counts what it opens.
    before = changes(attack.folder) if attack.guard in _WRITING else {}
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.close(reading)
            _run(attack, private, writing, are_guards_out=are_guards_out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        opened = pipe.read().decode()
    os.waitpid(child, 0)
    if attack.guard == SHOWN:
        return obeyed(attack)
    if attack.guard == COMPILER:
        return told(attack) or escaped(attack, before)
    if attack.guard in _WRITING:
        return escaped(attack, before)
    return f"opened {opened.splitlines()[0]}" if opened else told(attack)


def _run(attack: Attack, private: frozenset[str], writing: int, *, are_guards_out: bool) -> None:
    from kernlens.cli.main import main
    from tests.writers.programs import decoded

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        # Hidden copies lie in the attack's own folder.
        if event in ("open", "sqlite3.connect") and isinstance(arguments[0], str | bytes | os.PathLike):
            real = os.path.realpath(os.fsdecode(arguments[0]))
            if real in private or "/.hidden/" in real:
                os.write(writing, f"{real}\n".encode())

    output = os.open(attack.folder / "command.said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(attack.folder)
    sys.argv = ["kernlens", *attack.words, *(_OUT_WORDS.get(attack.guard, ()) if are_guards_out else ())]
    sys.addaudithook(watch)
    if attack.guard in (TEXTS, REPOSITORY):
        tempfile.tempdir = str(attack.folder / "out")
    with ExitStack() as patches:
        patches.enter_context(mock.patch("kernlens.isa.intel.decode.decode_many", decoded))
        out = _OUT_ALWAYS.get(attack.guard, {}) | (_OUT[attack.guard] if are_guards_out else {})
        for name, replacement in out.items():
            patches.enter_context(mock.patch(name, replacement))
        try:
            main()
        except SystemExit:
            pass
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        sys.stdout.flush()


def tried(chosen: list[Attack], private: frozenset[str], *, are_guards_out: bool) -> Iterator[tuple[Attack, str]]:
    """Yield each attack with what leaked."""
    for path in package_files():  # Once, and not in each child.
        with suppress(ImportError):
            if path.parent.name not in ("explorer", "agents") and path.stem not in ("__main__", "worker", "__init__"):
                import_module(".".join(("kernlens", *path.relative_to(PACKAGE).with_suffix("").parts)))
    with ExitStack() as stack:
        address: tuple[int, str] | None = None
        for attack in chosen:
            if attack.guard != SERVER:
                yield attack, leak(attack, private, are_guards_out=are_guards_out)
                continue
            if address is None:
                address = stack.enter_context(_served(attack, are_guards_out=are_guards_out))
            yield attack, answered(attack, address)


def _served(attack: Attack, *, are_guards_out: bool) -> AbstractContextManager[tuple[int, str]]:
    """Start the server that all requests are sent to."""
    (attack.folder / "command.said").unlink(missing_ok=True)
    words = ("serve", "a.bin", "--no-browser")
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            _run(replace(attack, words=words), frozenset(), 2, are_guards_out=are_guards_out)
        os._exit(0)
    return serving(attack.folder, child)
