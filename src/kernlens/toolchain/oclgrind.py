"""Oclgrind, the interpreter of LLVM IR that is an OpenCL device: found on this machine or in a toolchain's root, and run.

The host program and the plugin are kernlens's own (``native/observer``). Debian 12 has the release that the plugin knows, 21.10
with LLVM 14; ``kernlens toolchain add oclgrind`` brings it to other systems. These observations shape the module:

* Its own compiler gives the program as bitcode. With ``-cl-opt-disable`` that is what clang writes; without, it is optimised
  for size, which splits vectors.
* After a fatal error in a launch its worker ends and ``clFinish`` succeeds: what it prints has to be looked at.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import ToolError, UnsupportedError
from kernlens.formats.oclgrind_message import in_words
from kernlens.model.behaviour import ObservedMachine
from kernlens.toolchain.confinement import Confinement, Limits, confinement
from kernlens.toolchain.packages import reinstall
from kernlens.toolchain.process import Completed, run, temporary_folder
from kernlens.toolchain.registered import roots
from kernlens.toolchain.shown_files import is_offered, parts_of_root
from kernlens.toolchain.sources.includes import join_options
from kernlens.toolchain.sources.source_reading import read_beside
from kernlens.toolchain.toolchains import SYSTEM, Toolchain
from kernlens.toolchain.toolchains import toolchain as find_toolchain

#: The name of the root that ``toolchain add`` makes.
NAME = "oclgrind"
_LIBRARY, _CORE = "usr/lib/oclgrind/liboclgrind-rt.so", "usr/lib/*/liboclgrind-21.10.so"
#: The same for loaders, and the headers that its compiler reads.
_DRIVER, _HEADERS = "liboclgrind-rt-icd.so", "usr/lib/*/oclgrind/21.10"
_MAJOR = 14
#: What its compiler calls the program's source in debug data.
SOURCE_NAMES = ("input.cl", "<stdin>")
#: Seconds that the host may need beside what the kernel runs.
GRACE = 60.0
BUILD_TIMEOUT = 120.0
_REFUSED = 1
_MEMORY = 16 << 30
_FATAL = re.compile(r"OCLGRIND FATAL ERROR[^\n]{0,200}\n\s{0,200}([^\n]+)")
#: What the host's line about progress is.
_TOLD = re.compile(r"kernlens (\d+) (\d+)")


@dataclass(frozen=True, slots=True)
class Oclgrind:
    """The interpreter of a ``toolchain``: its OpenCL ``library``, and LLVM's ``llvm-dis`` and the ``translator`` of SPIR-V
    beside it, None where they are missing."""

    toolchain: Toolchain
    library: str
    disassembler: str | None
    translator: str | None = None

    def variables(self) -> dict[str, str]:
        """Return the variables that lead an application's loaders to this interpreter alone."""
        driver = str(Path(self.library).with_name(_DRIVER))
        headers = next((str(each) for each in (self.toolchain.root or Path("/")).glob(_HEADERS)), None)
        own = {} if headers is None or self.toolchain.root is None else {"OCLGRIND_PCH_DIR": headers}
        return {"OCL_ICD_VENDORS": driver, "OCL_ICD_FILENAMES": driver, **own}

    def build(self, source: str, options: str, folder: str) -> bytes:
        """Return the bitcode of a source, not optimised. Raises ToolError, with the compiler's log, if it does not compile."""
        target = os.path.join(folder, "program.bc")
        beside = join_options(["-I", os.path.dirname(os.path.abspath(source))])
        words = " ".join(each for each in ("-cl-opt-disable", options, beside) if each)
        completed = run(self._host("build", source, target, words), timeout=BUILD_TIMEOUT)
        if completed.returncode == _REFUSED:
            first = next((line for line in completed.log.splitlines() if "error" in line), "")
            told = first.replace(SOURCE_NAMES[0], source).strip()
            raise ToolError(f"{source} does not compile in Oclgrind: {told or 'it says nothing'}", log=completed.log)
        if not completed.ok:
            raise _failure(completed, "build this source")
        return read_beside(target, folder)

    def translate(self, module: str, folder: str) -> bytes:
        """Return the bitcode of a SPIR-V module. Raises ToolError if the translator refuses it, UnsupportedError if it is not
        installed."""
        if self.translator is None:
            raise UnsupportedError(self.why_no_spirv)
        target = os.path.join(folder, "program.bc")
        completed = run(self.toolchain.command(self.translator, "-r", module, "-o", target), timeout=BUILD_TIMEOUT)
        if not completed.ok:
            raise _failure(completed, f"run {module}, as llvm-spirv refuses it")
        return read_beside(target, folder)

    @property
    def why_no_spirv(self) -> str:
        """The reason why it runs no SPIR-V; empty if it does."""
        if self.translator is not None:
            return ""
        return (
            f"llvm-spirv of LLVM {_MAJOR}, which translates SPIR-V, is not installed: apt install llvm-spirv-{_MAJOR}, or"
            " kernlens toolchain add oclgrind"
        )

    @property
    def translator_script(self) -> str | None:
        """A script for sh that writes the bitcode of a SPIR-V module, its argument, to standard output, and what is wrong to a
        file beside the module; None if the translator is not installed."""
        if self.translator is None:
            return None
        words = map(shlex.quote, self.toolchain.command(self.translator, "-r"))
        return f'exec {" ".join(words)} "$1" -o - 2>"$1.log"\n'

    def text(self, bitcode: bytes, folder: str) -> str:
        """Return LLVM's text of bitcode."""
        assert self.disassembler is not None
        path = os.path.join(folder, "text.bc")
        Path(path).write_bytes(bitcode)
        completed = run(
            self.toolchain.command(self.disassembler, path, "-o", "-"), timeout=BUILD_TIMEOUT, output_limit=1 << 28
        )
        if not completed.ok:
            raise _failure(completed, "read its program")
        return completed.stdout

    def launch(self, job: str, seconds: float, on_progress: Callable[[int, int], None] | None) -> Completed:
        """Run the host with a job, a file. Raises ToolError, with one sentence, where the interpreter failed."""

        def tell(line: str) -> None:
            if on_progress is not None and (match := _TOLD.fullmatch(line)) is not None:
                on_progress(int(match[1]), int(match[2]))

        completed = run(self._host("run", job), timeout=seconds + GRACE, on_line=tell)
        if not completed.ok or _FATAL.search(completed.log):
            raise _failure(completed, "run this kernel")
        return completed

    def _host(self, *words: str) -> list[str]:
        return self.toolchain.command(_native("kernlens_interpreter"), self.library, *words)

    @contextmanager
    def confined(self, seconds: float) -> Iterator[str]:
        """Let the interpreter within the context open nothing but a folder, which is given; it runs foreign kernels."""
        if (confined := confinement()) is not None:
            yield confined.folder
            return
        limits = Limits(seconds + GRACE, memory=_MEMORY, file_size=8 << 30, written=16 << 30, output=16 << 20)
        shown = [*(parts_of_root(str(self.toolchain.root)) if self.toolchain.root else ()), str(plugin().parent)]
        with temporary_folder() as folder, Confinement(folder, limits, shown if is_offered() else None):
            yield folder


def oclgrind(name: str = "") -> Oclgrind:
    """Return the interpreter of a toolchain, or the first of the machine's own and of all toolchains. Raises UnsupportedError,
    with what to install, if there is none."""
    if name not in ("", SYSTEM, *roots()):
        find_toolchain(name)  # It says which ones there are.
    for toolchain in _toolchains(name):
        root = toolchain.root or Path("/")
        if has_oclgrind(root):
            tools = [_tool(toolchain, each) for each in ("llvm-dis", "llvm-spirv")]
            return Oclgrind(toolchain, str(root / _LIBRARY), *tools)
    if name and name != SYSTEM:
        raise UnsupportedError(
            f"the toolchain {name} has no Oclgrind 21.10: leave --toolchain out for the first that has it, or get one with"
            " kernlens toolchain add oclgrind"
        )
    error = UnsupportedError(
        "Oclgrind 21.10, which runs kernels without a GPU, is not installed: apt install oclgrind llvm-14 (Debian 12), or"
        f" anywhere without root: kernlens toolchain add {NAME}"
    )
    raise error.cured_by(NAME)


def has_oclgrind(root: Path) -> bool:
    """Return whether the folder of a system has the interpreter, in the release that the plugin knows."""
    return (root / _LIBRARY).is_file() and any(root.glob(_CORE))


def race_memory() -> int:
    """Return the bytes that a look for data races may take: a quarter of the machine's, as the application needs the rest."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4


def machine_words(machine: ObservedMachine, *, races: bool = True) -> str:
    """Return the words that tell the plugin what requests are counted for, and how much memory its look for data races may
    take. Oclgrind itself must not look for them."""
    memory = race_memory() if races else 0
    return (
        f"width={machine.width} banks={machine.banks} bank_bytes={machine.bank_bytes} phases={machine.has_phases:d}"
        f" split={machine.is_split:d} races={memory}"
    )


def plugin() -> Path:
    """Return the plugin that counts. Raises UnsupportedError if it was not built."""
    return _native("libkernlens_observer.so")


def _toolchains(name: str) -> Iterator[Toolchain]:
    if not name or name == "system":
        yield Toolchain("system", None, None, None, None)
    for each, root in sorted(roots().items(), key=lambda item: (item[0] != NAME, item[0])):
        if name in ("", each):
            yield Toolchain(each, root, None, None, None)


def _tool(toolchain: Toolchain, name: str) -> str | None:
    for place in (f"usr/lib/llvm-{_MAJOR}/bin/{name}", f"usr/bin/{name}-{_MAJOR}"):
        path = (toolchain.root or Path("/")) / place
        if path.is_file():
            return str(path)
    return shutil.which(f"{name}-{_MAJOR}") if toolchain.root is None else None


def _native(name: str) -> Path:
    path = Path(str(files("kernlens").joinpath("native", name)))
    if not path.is_file():
        raise UnsupportedError(
            f"this installation has no {name}, which is built on Linux where compilers and the OpenCL headers are; then apt"
            f" install build-essential opencl-headers && {reinstall()}"
        )
    return path


def _failure(completed: Completed, what: str) -> ToolError:
    fatal = _FATAL.search(completed.log)
    lines = [line.strip() for line in completed.stderr.splitlines() if line.strip()]
    reason = (
        in_words(fatal[1].strip())
        if fatal
        else lines[-1]
        if lines and completed.signal is None
        else f"it {completed.ending}"
    )
    told = f"Oclgrind cannot {what}: {reason.rstrip('.')}; nothing was counted"
    return ToolError(told, command=" ".join(completed.command), log=completed.log)
