"""Verbs for agents: each runs as a command of its own, which can open the given paths, the toolchains and kernlens itself, and
nothing else of the machine's.

The operating system sees to that (``toolchain/confinement.py``), for the verb and for the compilers that it starts: no link, no
debug line and no ``#include`` leads out. It can be stopped at any moment, and ends with the server.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, UnsupportedError
from kernlens.toolchain.confinement import Confinement, Limits
from kernlens.toolchain.foreign_text import shown_to_compilers
from kernlens.toolchain.process import Completed, run, temporary_folder
from kernlens.toolchain.registered import roots
from kernlens.toolchain.shown_files import mechanism
from kernlens.toolchain.toolchains import igc_versions

#: Packages that the command imports.
_PACKAGES = ("kernlens", "click", "orjson", "rich", "pygments", "markdown_it", "mdurl", "zstandard")
#: Bytes of a verb's answer that are read.
ANSWER_LIMIT = 32 << 20
#: Characters of messages that are passed on.
_MESSAGES = 4000


@dataclass(frozen=True, slots=True)
class Answer:
    """The document that a verb printed, and its messages on standard error."""

    document: Any
    messages: str


class _CommandConfinement(Confinement):
    """A confinement in which Python runs, and starts compilers and drivers of its own."""

    def command(
        self, arguments: Sequence[str], variables: Mapping[str, str], *, of_driver: bool = False, of_cuda: bool = False
    ) -> list[str]:
        return super().command(arguments, variables, of_driver=True, of_cuda=of_cuda)


@contextmanager
def linked_toolchains() -> Iterator[str]:
    """Make a folder with a link to the root of each registered toolchain, for commands that see no other of them."""
    with temporary_folder() as folder:
        for name, root in roots().items():
            os.symlink(root, os.path.join(folder, name))
        yield folder


def check_confinement() -> None:
    """Raise UnsupportedError if this machine cannot confine a verb."""
    try:
        mechanism(of_driver=True)
    except UnsupportedError as error:
        reasons = str(error).partition(": ")[2].partition(". --unconfined")[0]
        raise UnsupportedError(
            f"kernlens mcp cannot keep its tools to the given paths on this machine: {reasons}; docs/confinement.md says what"
            " the machine must allow"
        ) from None


class ConfinedVerb:
    """The commands of one call of a tool, which see ``shown``. ``toolchains`` is the folder of ``linked_toolchains``. May be
    stopped from another thread, before it begins too."""

    def __init__(self, shown: Sequence[str], toolchains: str, seconds: float) -> None:
        self._shown = shown
        self._toolchains = toolchains
        self._limits = Limits(
            seconds=seconds, memory=1 << 46, file_size=256 << 20, written=1 << 30, output=ANSWER_LIMIT
        )
        self._confinement: Confinement | None = None
        self._stopped = False

    def stop(self) -> None:
        """End what runs, and let nothing else begin."""
        self._stopped = True
        if self._confinement is not None:
            self._confinement.stop()

    @contextmanager
    def folder(self) -> Iterator[str]:
        """Enter the confinement: yield its folder, the only one that the commands can write to."""
        shown = [*shown_to_compilers([]), *self._shown, self._toolchains, *_folders_of_packages()]
        if library := os.environ.get("KERNLENS_IGA_PATH"):
            shown.append(library)
        with temporary_folder() as folder, _CommandConfinement(folder, self._limits, shown) as confinement:
            self._confinement = confinement
            if self._stopped:
                confinement.stop()
            yield confinement.folder

    def answer(self, words: Sequence[str], cwd: str | None = None) -> Answer:
        """Run ``kernlens WORDS --json`` in the confinement, which was entered, in the folder ``cwd``. Raises KernlensError with
        what the command said if it printed no document, and if that is too large."""
        done = self.run([words[0], "--json", *words[1:]], cwd)
        if not done.stdout.startswith("{"):
            raise KernlensError(_sentence(done))
        return Answer(_document(done.stdout), _cut(_without_name(done.stderr)))

    def run(self, words: Sequence[str], cwd: str | None = None) -> Completed:
        """Run ``kernlens WORDS`` in the confinement, which was entered, in the folder ``cwd``; None: its own."""
        variables = {
            **{name: value for name, value in os.environ.items() if name != "KERNLENS_NEWEST_ROOT"},
            **igc_versions(),
            "KERNLENS_TOOLCHAINS": self._toolchains,
            "PYTHONPATH": os.pathsep.join(_folders_of_packages()),
        }
        command = [os.path.realpath(sys.executable), "-m", "kernlens", *words]
        return run(command, timeout=self._limits.seconds, cwd=cwd, env=variables, output_limit=ANSWER_LIMIT)


def _folders_of_packages() -> list[str]:
    """Return where Python imports from what the command needs: it runs without its virtual environment."""
    files = [spec.origin for name in _PACKAGES if (spec := find_spec(name)) is not None and spec.origin is not None]
    return list(dict.fromkeys(os.path.dirname(os.path.dirname(os.path.realpath(file))) for file in files))


def _document(text: str) -> Any:
    if len(text) > ANSWER_LIMIT:
        raise KernlensError(
            f"the answer has more than {ANSWER_LIMIT >> 20} MB; ask for one kernel, one line or one device, or for 'top'"
        )
    # A name that is no UTF-8 has lone surrogates, which the protocol has no way to write.
    return json.loads(json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace"))


def _sentence(done: Completed) -> str:
    """Return what a command that failed said, without its usage."""
    words = _without_name(done.stderr.rpartition("\nError: ")[2])
    return _cut(words) or f"kernlens {done.ending} without a message; please report it"


def _without_name(text: str) -> str:
    return "\n".join(line.removeprefix("kernlens: ") for line in text.strip().splitlines())


def _cut(text: str) -> str:
    return text if len(text) <= _MESSAGES else f"{text[:_MESSAGES]} [{len(text) - _MESSAGES:,} more characters]"
