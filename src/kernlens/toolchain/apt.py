"""Debian's packages, fetched by the machine's own apt into a folder of the user's: no privilege is needed.

apt keeps what the machine configures (proxies, credentials, time-outs). Its lists, cache and package states are in the folder,
so that nothing of the machine's changes. apt checks the signatures of the lists against the keyring, and each package against
the lists. Sources: apt-get(8), apt.conf(5), sources.list(5).
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from kernlens.errors import KernlensError, NotFoundError, ToolError, UnsupportedError
from kernlens.toolchain.process import Completed, run

Progress = Callable[[str], None]

#: The keys of Debian's archive, from the package debian-archive-keyring.
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
UPDATE_TIMEOUT = 900.0
DOWNLOAD_TIMEOUT = 3600.0
QUESTION_TIMEOUT = 60.0
#: An address that is Debian's own archive, or a list of mirrors of it, as images for clouds have.
DEBIAN = re.compile(r"[a-z+]+:\S*/debian(?:\.list)?/?")
#: What goes before the machine's configuration: no command of the machine's runs after a download, and what is not
#: signed is refused. Without a user of its own apt can write into a folder of root's, too.
CONFIGURATION = """\
#clear APT::Update;
#clear APT::Architectures;
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Sandbox::User "";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::Retries "3";
"""
_FETCHED = re.compile(r"Get:(\d+) \S+ \S+ \S+ (\S+) \S+ \S+ \[([^]]+)\]")
_NUMBER = re.compile(r"\d+ upgraded, (\d+) newly installed")


def debian_mirror() -> str:
    """Return the first address of packages in apt's configuration that ends in ``/debian``.

    Raises NotFoundError if there is none, UnsupportedError on a machine without apt.
    """
    _check_tools()
    command = ["apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI)", "Identifier: Packages"]
    completed = run(command, timeout=QUESTION_TIMEOUT)
    for address in completed.stdout.splitlines():
        if DEBIAN.fullmatch(address):
            return address.rstrip("/")
    raise NotFoundError(
        "apt's sources on this machine name no Debian mirror; name one: kernlens toolchain add newest --mirror"
        " http://deb.debian.org/debian"
    )


def debian_keyring() -> Path:
    """Return the keyring of Debian's archive. Raises NotFoundError, with the package that holds it, if it is missing."""
    keyring = Path(KEYRING)
    if not keyring.is_file():
        raise NotFoundError(
            f"the keys of Debian's archive ({KEYRING}) are missing; apt install debian-archive-keyring, or name a"
            " keyring with --keyring FILE"
        )
    return keyring


def download(
    packages: Sequence[str], suite: str, mirror: str, keyring: Path, folder: Path, lock: int, on_progress: Progress
) -> list[Path]:
    """Download packages of a Debian release, and all that they depend on, into ``folder``; return their files. If the first
    has ``{}`` in its name, that is the greatest number with which the release has it, in all names.

    ``lock`` is a file descriptor that apt inherits. Raises NotFoundError if the release does not have the first, ToolError if
    one cannot be had.
    """
    _check_tools()
    if re.fullmatch(r"[A-Za-z+-]+:\S+", mirror) is None:
        raise KernlensError(f"{mirror!r} is no address of a mirror; give one such as https://HOST/debian")
    own = _configured(suite, mirror, keyring, folder)
    environment = {**os.environ, "LC_ALL": "C"}

    def fetch(words: Sequence[str], timeout: float, on_line: Progress | None = None) -> None:
        command = ["apt-get", "-q", "-y", *own, *words]
        completed = run(command, timeout=timeout, env=environment, on_line=on_line, keep_open=(lock,))
        if not completed.ok:
            raise ToolError(
                f"the packages could not be had from {mirror}: {_reason(completed)}; try another mirror with --mirror URL",
                command=" ".join(completed.command),
                log=completed.log,
            )

    number = ""

    def tell(line: str) -> None:
        nonlocal number
        if (match := _NUMBER.match(line)) is not None:
            number = f" of {match[1]}"
        elif (match := _FETCHED.match(line)) is not None:
            on_progress(f"Retrieving {match[2]}, {match[3]} ({match[1]}{number})")

    on_progress(f"Reading the lists of Debian {suite} from {mirror}")
    fetch(["update", "--error-on=any"], UPDATE_TIMEOUT)
    question = ["apt-cache", *own, "pkgnames", packages[0].partition("{}")[0]]
    names = run(question, timeout=QUESTION_TIMEOUT, env=environment).stdout.split()
    if "{}" in packages[0]:
        packages = _of_newest(packages, names, suite)
    elif packages[0] not in names:
        raise NotFoundError(f"Debian {suite} has no package {packages[0]}")
    fetch(["install", "--download-only", "--no-install-recommends", *packages], DOWNLOAD_TIMEOUT, tell)
    return sorted((folder / "archives").glob("*.deb"))


def _configured(suite: str, mirror: str, keyring: Path, folder: Path) -> list[str]:
    """Write what apt shall work with into the folder, and return the options that have it do so."""
    # From a mirror in a folder apt would take the packages where they are.
    address = re.sub(r"^file:", "copy:", mirror)
    archives = folder / "archives"
    for path in (folder / "lists/partial", archives / "partial", folder / "trusted"):
        path.mkdir(parents=True)
    (folder / "status").touch()
    (folder / "trusted/debian.gpg").symlink_to(keyring.resolve())
    lists = [f"deb [arch=amd64 lang=none target=Packages] {address} {each} main\n" for each in _suites(suite)]
    (folder / "sources.list").write_text("".join(lists))
    (folder / "apt.conf").write_text(CONFIGURATION)
    places = {
        "Dir::State": folder, "Dir::State::lists": folder / "lists", "Dir::State::status": folder / "status",
        "Dir::Cache": folder, "Dir::Cache::archives": archives, "Dir::Log": folder,
        "Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": os.devnull,
        "Dir::Etc::trusted": os.devnull, "Dir::Etc::trustedparts": folder / "trusted",
        "Dir::Etc::preferences": os.devnull, "Dir::Etc::preferencesparts": os.devnull,
    }  # fmt: skip
    options = (("-o", f"{name}={place}") for name, place in places.items())
    return ["-c", str(folder / "apt.conf"), *itertools.chain.from_iterable(options)]


def _suites(suite: str) -> tuple[str, ...]:
    """Return the releases that a release is completed by, and itself: experimental has only what differs from sid."""
    return ("sid", suite) if suite == "experimental" else (suite,)


def _of_newest(patterns: Sequence[str], names: Sequence[str], suite: str) -> list[str]:
    """Return packages by their patterns, with the greatest number in place of ``{}`` with which the first one is a name."""
    start, _, end = patterns[0].partition("{}")
    numbers = [match[1] for name in names if (match := re.fullmatch(rf"{re.escape(start)}(\d+){re.escape(end)}", name))]
    if not numbers:
        raise NotFoundError(f"Debian {suite} has no package {patterns[0].replace('{}', 'N')}")
    return [pattern.replace("{}", max(numbers, key=int)) for pattern in patterns]


def _check_tools() -> None:
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise UnsupportedError(
                f"this machine has no {program}, which fetches the packages; on another one 'kernlens toolchain add' makes a"
                " folder that can be copied here and registered with --root DIR"
            )


def _reason(completed: Completed) -> str:
    """Return apt's first error, in one line."""
    errors = [line.removeprefix("E: ").strip() for line in completed.log.splitlines() if line.startswith("E: ")]
    return errors[0].rstrip(".") if errors else f"apt-get {completed.ending}"
