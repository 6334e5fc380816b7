"""Git repositories for tests, made by git itself, with no settings but those of the test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_VARIABLES = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b",
}  # fmt: skip


def git(folder: Path, *words: str) -> str:
    """Run git in a folder and return what it prints."""
    done = subprocess.run(
        ["git", *words], cwd=folder, env=os.environ | _VARIABLES, capture_output=True, text=True, check=True
    )
    return done.stdout


class Repository:
    """A repository in a new folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        git(folder, "init", "--quiet", "--initial-branch=main")

    def write(self, files: Mapping[str, str | None]) -> None:
        """Write these files into the working tree; those without text are removed."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)

    def commit(self, subject: str, files: Mapping[str, str | None]) -> str:
        """Write these files, commit all there is, and return the commit's id."""
        self.write(files)
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--quiet", "--allow-empty", "--message", subject)
        return git(self.folder, "rev-parse", "HEAD").strip()
