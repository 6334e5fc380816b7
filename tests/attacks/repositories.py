"""Repositories whose settings start a program, or whose trees lead out of the folder that they are written to."""

from __future__ import annotations

import subprocess
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


def _promise(own: Path, repository: Repository, protocol: str) -> None:
    """Take an object away, and say that a program gets it."""
    program = _program(own)
    number = git(own, "rev-parse", "HEAD~1:a.cl").strip()
    (own / ".git" / "objects" / number[:2] / number[2:]).unlink()
    url = {"ext": f"ext::{program}", "upload-pack": str(own), "ssh": "ssh://nowhere.invalid/a"}[protocol]
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
