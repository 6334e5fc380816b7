"""Repositories whose settings start a program, or whose trees lead out of the folder that they are written to."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.attacks.attack import REPOSITORY, Attack
from tests.writers.programs import SOURCE
from tests.writers.repositories import Repository, git

_WORDS = ("--device", "dg2", "--toolchain", "system")


def attacks(folder: Path, private: Mapping[str, Path]) -> Iterator[Attack]:
    """Write the attacks below a folder, and yield them."""
    for protocol in ("ext", "upload-pack", "ssh"):
        for revisions in ("HEAD~1..HEAD", "HEAD~1", "HEAD~1...HEAD"):
            own, repository = _repository(folder / f"{protocol}_{revisions}")
            _promise(own, repository, protocol)
            yield Attack(f"git {own.name}", own, ("diff", "--git", revisions, *_WORDS), REPOSITORY)
    for protocol in ("git", "http"):
        own, repository = _repository(folder / protocol)
        _promise(own, repository, protocol, _listening(own))
        yield Attack(f"git {own.name} of the network", own, ("diff", "--git", "HEAD~1", *_WORDS), REPOSITORY)
    for kind in ("textconv", "command"):
        own, repository = _repository(folder / kind)
        (own / ".git" / "info").mkdir(exist_ok=True)
        (own / ".git" / "info" / "attributes").write_text("*.cl diff=shown\n")
        git(own, "config", f"diff.shown.{kind}", str(_program(own)))
        yield Attack(f"git {own.name}", own, ("diff", "--git", "HEAD~1..HEAD", *_WORDS), REPOSITORY)
    own, repository = _repository(folder / "fsmonitor")
    git(own, "config", "core.fsmonitor", str(_program(own)))
    yield Attack("git fsmonitor", own, ("diff", "--git", "HEAD~1", *_WORDS), REPOSITORY)
    # Both sides are two folders below ``out``.
    for name, path in {"upwards": "../../..", "inside and upwards": "x/../../../..", "dotted": "./../../.."}.items():
        own, repository = _repository(folder / name.replace(" ", "_"))
        _commit_at(repository, path.split("/"))
        yield Attack(f"git {own.name}", own, ("diff", "--git", "HEAD~1..HEAD", *_WORDS), REPOSITORY)


def _repository(own: Path) -> tuple[Path, Repository]:
    """Return an attack's folder, and a repository there that is the command's working folder."""
    own.parent.mkdir(parents=True, exist_ok=True)
    repository = Repository(own)
    (own / "out").mkdir()
    repository.commit("First", {"a.cl": SOURCE, ".gitignore": "out\nhooks\nprogram*\ncommand.said\n"})
    repository.commit("Second", {"a.cl": f"{SOURCE}// edited\n"})
    return own, repository


def _program(own: Path) -> Path:
    program = own / "program"
    program.write_text(f"#!/bin/sh\ntouch {own}/program-ran\n")
    program.chmod(0o755)
    return program


def _listening(own: Path) -> int:
    """Return the port of a server on this machine, which leaves a file if anybody connects."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            connection, _ = server.accept()
            (own / "connected").touch()
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    port: int = server.getsockname()[1]
    return port


def _promise(own: Path, repository: Repository, protocol: str, port: int = 0) -> None:
    """Take an object away, and say that a program gets it, or a server."""
    program = _program(own)
    number = git(own, "rev-parse", "HEAD~1:a.cl").strip()
    (own / ".git" / "objects" / number[:2] / number[2:]).unlink()
    url = {"ext": f"ext::{program}", "upload-pack": str(own), "ssh": "ssh://nowhere.invalid/a"}.get(
        protocol, f"{protocol}://127.0.0.1:{port}/a"
    )
    for name, value in (
        ("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "origin"), ("remote.origin.promisor", "true"),
        ("remote.origin.url", url), ("protocol.ext.allow", "always"), ("protocol.allow", "always"),
        ("remote.origin.uploadpack", str(program)), ("core.sshCommand", str(program)),
    ):  # fmt: skip
        git(own, "config", name, value)


def _commit_at(repository: Repository, folders: list[str]) -> None:
    """Commit a tree in which folders of these names lie in one another, and a source in the last."""
    content = repository.folder / "out" / "content"
    content.write_text(SOURCE)
    entry = f"100644 blob {git(repository.folder, 'hash-object', '-w', str(content)).strip()}\tescaped.cl\n"
    for name in (*reversed(folders), ""):
        done = subprocess.run(
            ["git", "mktree"], cwd=repository.folder, input=entry, capture_output=True, text=True, check=True
        )
        entry = f"040000 tree {done.stdout.strip()}\t{name}\n"
    head = git(repository.folder, "commit-tree", done.stdout.strip(), "-p", "HEAD", "-m", "Upwards").strip()
    git(repository.folder, "update-ref", "HEAD", head)
    content.unlink()
