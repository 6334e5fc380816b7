"""The two compilers of the corpus: Debian 12's own ocloc, and the newest one in a root folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.corpus.packages import CorpusError, packages_folder

TIME_LIMIT_SECONDS = 300

#: What ocloc calls its results after ``-output program -output_no_suffix``, and what they are called here.
#: Debian 12's writes the binary without an ending and debug data beside it; the newest has both in ``program.bin``.
RESULTS = {"program": "program", "program.bin": "program", "program.dbg": "program.dbg", "program.spv": "program.spv"}


#: IGC's dumps that are kept: listings of machine code, and the LLVM IR that tells what each instruction came from.
KEPT_DUMPS = ("*.asm", "*.visa.ll", "*_codegen*.ll")


@dataclass(frozen=True)
class Compiler:
    """An ocloc. ``root`` None: this machine's own, of Debian's ``packages``; otherwise that root folder's.

    ``options`` are added to each program's, ``settings`` are variables of IGC's in its environment, ``kept`` the patterns of
    the dumps that it leaves."""

    command: str
    packages: tuple[str, ...] = ()
    root: Path | None = None
    options: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    dumps: tuple[str, ...] = KEPT_DUMPS

    def __str__(self) -> str:
        return self.version

    @property
    def version(self) -> str:
        """The exact version. Raises CorpusError if it is not installed."""
        return _version(self)

    def compile(self, source: str, device: str, options: str, folder: Path) -> str | None:
        """Compile ``source`` (below the packages' folder) into ``folder``, IGC's dumps (``kept``) included.

        None if that succeeded, else the compiler's output.
        """
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            scratch = Path(name)
            command = [self.command, "compile", "-file", source, "-device", device, "-options", options]
            command += ["-output", "program", "-output_no_suffix", "-out_dir", f"{scratch}/out"]
            dumps = {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCustomDir": f"{scratch}/dump", **dict(self.settings)}
            (scratch / "out").mkdir()
            (scratch / "dump").mkdir()
            try:
                done = self._run(command, dumps)
            except subprocess.TimeoutExpired:
                return f"{self.command} did not end within {TIME_LIMIT_SECONDS} s"
            if done.returncode != 0 or not _collect(scratch, folder, self.dumps):
                return done.stdout.decode(errors="replace") + f"(exit status {done.returncode})"
        return None

    def _run(self, command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*self._loader, *command],
            cwd=packages_folder(),
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIME_LIMIT_SECONDS,
        )

    @property
    def _loader(self) -> list[str]:
        """The command that starts a program of the root with the root's own C library, so that it sees this machine's files."""
        if self.root is None:
            return []
        libraries = self.root / "usr/lib/x86_64-linux-gnu"
        return [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries)]


DEBIAN = Compiler("ocloc", ("intel-opencl-icd", "libigc1"))


def newest(root: Path) -> Compiler:
    """Return the compiler of a root folder made by ``kernlens toolchain add``. Raises CorpusError if it has none."""
    result = sorted((root / "usr/bin").glob("ocloc-*"))
    if not result:
        raise CorpusError(f"{root} holds no /usr/bin/ocloc-*")
    return Compiler(str(result[-1]), root=root)


def _collect(scratch: Path, folder: Path, kept_dumps: tuple[str, ...]) -> bool:
    """Move the results into ``folder``; return False if there is no binary (ocloc makes none of a source without kernels)."""
    (folder / "dump").mkdir(parents=True)
    for result, name in RESULTS.items():
        if (scratch / "out" / result).is_file():
            shutil.move(scratch / "out" / result, folder / name)
    for path in (path for pattern in kept_dumps for path in (scratch / "dump").glob(pattern)):
        shutil.move(path, folder / "dump" / path.name)
    return (folder / "program").is_file()


@cache
def _version(compiler: Compiler) -> str:
    if compiler.root is not None:
        return _libraries(compiler.root)
    if shutil.which(compiler.command) is None:
        raise CorpusError(f"{compiler.command} is not installed: apt-get install {compiler.packages[0]}")
    command = ["dpkg-query", "-W", "-f", "${Package}=${Version} ", *compiler.packages]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise CorpusError(f"dpkg does not know {' '.join(compiler.packages)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _libraries(root: Path) -> str:
    """Return a root's libraries, whose names carry their versions: packages are only unpacked, and dpkg knows none of them."""
    folder = root / "usr/lib/x86_64-linux-gnu"
    names = sorted(path.name for path in folder.glob("lib*.so.*.*") if path.name.startswith(("libigc.", "libocloc.")))
    return " ".join([*(path.name for path in sorted((root / "usr/bin").glob("ocloc-*"))), *names])
