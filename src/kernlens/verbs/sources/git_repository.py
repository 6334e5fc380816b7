"""A git repository's commits and files, read with git's plumbing.

The files of a repository, and its settings, may be anybody's. ``rev-parse``, ``merge-base``, ``ls-tree``, ``ls-files`` and
``cat-file`` run no hooks, filters, text converters, pagers or submodules; what else could start a program (a monitor of files,
a fetch of missing objects) is switched off. Source: git's manual pages, 2.39.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from typing import Self

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, NotFoundError, ToolError
from kernlens.model.source_path import why_unfit
from kernlens.toolchain.process import run

#: Seconds that one question may take.
_TIMEOUT = 300.0
#: Bytes of the list of a tree's files, at most: some half a million files.
_LIST_LIMIT = 48 << 20
_SETTINGS = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.allow=never", "core.quotePath=false")
#: The repository's own settings could allow a protocol that starts a program (``protocol.ext.allow``). GIT_ALLOW_PROTOCOL goes
#: before all settings; older gits do not know the variable that forbids to fetch missing objects.
_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "LC_ALL": "C",
}  # fmt: skip
_CHUNK = 1 << 20

FILE, LINK = "file", "link"
#: The modes of what a tree holds that has a content; the others are folders and submodules.
_KINDS = {"100644": FILE, "100755": FILE, "100664": FILE, "120000": LINK}


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a tree, or a link: its kind, and the id of its content."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its id, and the first line of its message."""

    id: str
    subject: str

    @property
    def title(self) -> str:
        """The start of its id, and the subject."""
        return f"{self.id[:10]} {self.subject}".rstrip()


class Repository:
    """The repository of a folder, a context manager. ``root`` is the top of its working tree, "" if it has none, and
    ``prefix`` the folder below it that the repository was opened in, which ends with a slash unless it is empty. ``digest`` is
    the name of the function that its ids are made with.

    Raises NotFoundError if the folder belongs to no repository, ToolError if git is missing or refuses it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._reader: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        inside = self._answer("rev-parse", "--is-inside-work-tree").strip() == "true"
        self.root = self._answer("rev-parse", "--show-toplevel").removesuffix("\n") if inside else ""
        self.prefix = self._answer("rev-parse", "--show-prefix").removesuffix("\n") if inside else ""
        self.digest = self._answer("rev-parse", "--show-object-format").strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._reader is not None:
            self._reader.kill()
            self._reader.communicate()

    def commit(self, name: str) -> Commit:
        """Return the commit that a revision names. Raises NotFoundError if there is none."""
        done = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if not done[0]:
            raise NotFoundError(
                f"git knows no revision {name!r} here; git log --oneline lists commits, and a shallow clone lacks older ones"
                " (git fetch --unshallow)"
            )
        number = done[1].strip()
        _, _, message = self.content(number).decode("utf-8", "replace").partition("\n\n")
        return Commit(number, next((line for line in message.split("\n") if line.strip()), ""))

    def merge_base(self, first: str, second: str) -> str:
        """Return the id of the last commit that both have. Raises NotFoundError if they have none in common."""
        is_done, answer, _ = self._run("merge-base", first, second)
        if not is_done:
            raise NotFoundError("the two revisions have no commit in common; name both with two dots: OLD..NEW")
        return answer.split()[0]

    def entries(self, commit: Commit) -> dict[str, Entry]:
        """Return the files and links of a commit by their names, which hold no ``..``."""
        listed = (line.partition("\t") for line in self._list("ls-tree", "-r", "-z", "--full-tree", commit.id))
        entries = {}
        for words, _, name in listed:
            mode, _, number = words.partition(" ")
            if (kind := _KINDS.get(mode)) and is_plain(name):
                entries[name] = Entry(kind, number.rpartition(" ")[2])
        return entries

    def files_at_work(self) -> Iterator[str]:
        """Yield the names of the working tree's files that git tracks or would: ignored ones are left out."""
        names = self._list("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--full-name", ":/")
        return (name for name in names if is_plain(name))

    def content(self, number: str, limit: int = 16 << 20) -> bytes:
        """Return the content of an object. Raises KernlensError for one that is missing, or larger than ``limit`` bytes."""
        with self._lock:
            if self._reader is None:
                self._reader = subprocess.Popen(
                    self._command("cat-file", "--batch"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, env=os.environ | _VARIABLES, start_new_session=True,
                )  # fmt: skip
            pipe, answer = self._reader.stdin, self._reader.stdout
            assert pipe is not None
            assert answer is not None
            try:
                pipe.write(f"{number}\n".encode())
                pipe.flush()
            except BrokenPipeError:
                raise ToolError("git cat-file ended early; git fsck checks the repository") from None
            words = answer.readline().decode("ascii", "replace").split()
            if len(words) != 3 or not words[2].isdigit():
                raise KernlensError(
                    f"the repository has no object {number}, so its clone is a partial or a damaged one; git fetch --refetch"
                    " gets all objects"
                )
            left, size = int(words[2]) + 1, int(words[2])
            pieces = []
            while left and (piece := answer.read(min(left, _CHUNK))):
                left -= len(piece)
                if size <= limit:
                    pieces.append(piece)
        if size > limit:
            raise KernlensError(
                f"the object {number} of the repository has {size:,} bytes, more than a source may have"
            )
        return b"".join(pieces)[:size]

    def _list(self, *words: str) -> list[str]:
        """Return the names that git lists. Raises KernlensError, and ends git, for too many: a tree that holds another one ten
        times, as that does, has 10,000,000,000."""
        with subprocess.Popen(
            self._command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=os.environ | _VARIABLES, start_new_session=True,
        ) as listing:  # fmt: skip
            assert listing.stdout is not None
            answer = listing.stdout.read(_LIST_LIMIT + 1)
            if len(answer) > _LIST_LIMIT:
                listing.kill()
                raise KernlensError(
                    f"the revision lists more than {_LIST_LIMIT >> 20} MB of file names, too many to compare"
                )
        if listing.returncode:
            self._answer(*words)  # Raises, with git's reason.
        return answer.decode("utf-8", "replace").split("\0")

    def _answer(self, *words: str) -> str:
        is_done, answer, complaint = self._run(*words)
        if not is_done:
            raise _refusal(self._folder, complaint)
        return answer

    def _run(self, *words: str) -> tuple[bool, str, str]:
        """Return whether git did it, what it answered, and its complaint."""
        if not os.path.isdir(self._folder):
            raise NotFoundError(f"there is no folder {self._folder}; name a folder of a git repository")
        done = run(
            self._command(*words), timeout=_TIMEOUT, env=os.environ | _VARIABLES, output_limit=_LIST_LIMIT,
        )  # fmt: skip
        return done.ok, done.stdout, done.stderr

    def _command(self, *words: str) -> list[str]:
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        return ["git", "-C", self._folder, "--no-pager", *settings, *words]


def is_plain(name: str) -> bool:
    """Return whether a name leads to a place below the folder that it is in, and to no part of git's own."""
    pieces = name.split("/")
    is_plain_path = not {"", ".", "..", ".git"} & set(pieces) and "\0" not in name and "\\" not in name
    return bool(name) and is_plain_path and why_unfit(name) is None


def _refusal(folder: str, complaint: str) -> KernlensError:
    lines = [line.removeprefix("fatal: ") for line in complaint.splitlines() if line.strip()]
    first = lines[0] if lines else "it does not say why"
    if "not a git repository" in first:
        return NotFoundError(
            f"{folder} is in no git repository; go into one, or compare two folders: kernlens diff OLD NEW"
        )
    if "dubious ownership" in first:
        return ToolError(
            f"git does not trust the repository at {folder}, which another user owns: git config --global --add"
            " safe.directory FOLDER trusts it"
        )
    return ToolError(f"git refuses the repository at {folder}: {first}")
