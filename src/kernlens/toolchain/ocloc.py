"""Intel's offline compiler, ocloc: from OpenCL C or SPIR-V to a device binary, without a device.

These observations on ocloc 22.43 and 26.27 shape the module:

* Messages go to standard output. ``-q`` suppresses them altogether (22.43), so it is never given.
* The exit status is the negative error code as a byte (245 for a failed build, 223 for an unknown device), and 0 when
  the output folder could not be written. A compile has succeeded when the status is 0 *and* the binary exists.
* The source is compiled from memory: ``#include "x.h"`` is looked up in the working folder, not in that of the source.
  The source's folder is therefore added as the last ``-I``.
* With ``-g`` ocloc names the source to the compiler (``-s``), with ``-gline-tables-only`` it does not, and the line
  table then says ``<stdin>`` and ``1``. ``-s`` is therefore added, so that the line table names the source's real path.
* The compiler runs in the caller's folder, so that relative ``-I`` mean what they mean by hand, and writes into a
  temporary one. This holds for toolchain roots too: see ``toolchains.py``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens.errors import NotFoundError, ToolError, nearest
from kernlens.formats.spirv.magic import is_spirv
from kernlens.isa.amd.gpu_devices import is_of_amd
from kernlens.isa.devices import DEVICES, known_device, name_among
from kernlens.model.build import Build, HeldParts
from kernlens.model.compiler_options import LINE_TABLES, OPENCL_OPTIONS
from kernlens.model.stages import OTHER_DEVICES
from kernlens.runtime.file_limit import FILE_SIZE_LIMIT
from kernlens.toolchain.child import Child
from kernlens.toolchain.diagnostics import error_lines
from kernlens.toolchain.packages import how_to_get
from kernlens.toolchain.process import Completed, command_line, run, temporary_folder
from kernlens.toolchain.registered import NEWEST
from kernlens.toolchain.sources.includes import existing_source, operand, source_files, source_options, split_options
from kernlens.toolchain.sources.source_reading import open_regular, read_beside, read_named
from kernlens.toolchain.toolchains import QUESTION_TIMEOUT, Toolchain, find_toolchains, toolchain

if TYPE_CHECKING:
    from kernlens.toolchain.sources.source_copy import SourceCopy

#: Seconds that one compile may take unless the caller says otherwise.
TIMEOUT = 600.0
#: What gets a toolchain for devices that are newer than this machine's packages.
GET_NEWEST = f"kernlens toolchain add {NEWEST} gets a toolchain for it, then add --toolchain {NEWEST}"
#: The same, where there is one that lacks them.
GET_AGAIN = f"kernlens toolchain remove {NEWEST}, then kernlens toolchain add {NEWEST} gets today's"
#: What compiles for devices that the newest compilers have dropped.
GET_OLDER = "Debian 12's compiler still has it: kernlens toolchain add NAME --root DIR takes a folder with Debian 12"
#: The base name of ocloc's output files, in a temporary folder.
OUTPUT_NAME = "program"

DEVICE_LIST = re.compile(r"<device_type> can be: ([^\n]+)")
DEVICE_NAME = re.compile(r"[a-z][a-z0-9_]*(?:-[a-z0-9]+)*")
#: The name of a whole family or release of devices, for each of which ocloc would compile.
FAMILY_NAME = re.compile(r"gen\d\w*|xe\d*p?(?:-.*)?")
#: What the front end says of an option that it does not know.
UNKNOWN_OPTION = re.compile(r"Unrecognized build options: (\S+)")
#: What ``_reason`` says of a compiler that ended by a signal of its own. ocloc answers SIGSEGV and SIGILL by SIGABRT.
_CRASH = re.compile(r"ocloc was killed by SIG(?:ABRT|BUS|FPE|ILL|SEGV|TRAP|XFSZ) ")
#: A device's number: an IP version (12.55.8), or a PCI device id (0x56a0).
DEVICE_NUMBER = re.compile(r"\d+\.\d+\.\d+|0x[0-9a-fA-F]{1,8}")


def compile_source(
    source: str | Path,
    device: str,
    options: str = "",
    using: Toolchain | None = None,
    timeout: float = TIMEOUT,
    on_start: Callable[[Child], None] | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    has_sources: bool = True,
    copy: SourceCopy | None = None,
) -> Build:
    """Compile one source file for one device; a source that the compiler refuses gives a Build that is not ``ok``.

    ``source`` holds OpenCL C, or SPIR-V (known by its first bytes). ``device`` is a name that ``devices_of`` lists, or
    an IP version, or a PCI device id. ``using`` is the toolchain (None: the default one). ``timeout`` is in seconds.
    ``environment`` is added to the variables that the compiler inherits. Without ``has_sources`` the Build holds no texts.
    ``copy`` is what the compiler reads in place of a source that is not a file here; the Build holds no texts then.

    Raises NotFoundError for a source that does not exist and for a device that the toolchain does not know, ToolError
    if there is no compiler or it did not finish in time.
    """
    path = Path(source)
    split_options(options)  # which refuses those that no compiler should get
    chosen = using if using is not None else toolchain()
    file = path if copy is None else copy.path
    from_spirv = is_spirv(first_bytes(existing_source(file)))
    check_device(device, chosen)
    sources = () if from_spirv or not has_sources or copy is not None else source_files(path, options)
    fault = _why_unfit(file) if from_spirv else None
    if fault is not None:
        reason = f"{_refusal(str(path), device)}{fault}"
        return Build(path.stem, device, chosen.of_build, options, ok=False, reason=reason, path=str(path))
    name, cwd = (str(path), None) if copy is None else (copy.name, copy.folder)
    with temporary_folder() as folder:
        if copy is not None:
            full = copy.options
        else:
            full = options if from_spirv else source_options(path, options, naming=(LINE_TABLES,))
        command = _command(chosen, name, device, folder, full, from_spirv)
        env = {**os.environ, **environment} if environment else None
        completed = run(command, timeout=timeout, cwd=cwd, env=env, file_size_limit=FILE_SIZE_LIMIT, on_start=on_start)
        binary, debug, spirv = _outputs(Path(folder))
    if from_spirv and not spirv:
        spirv = read_named(file)
    ok = completed.ok and bool(binary)
    parts = HeldParts(completed.log, binary if ok else b"", debug if ok else b"", spirv, sources)
    return Build(
        path.stem,
        device,
        chosen.of_build,
        options,
        command=command_line(command),
        ok=ok,
        reason=None if ok else _reason(completed, path, device, file),
        seconds=completed.seconds,
        path=str(path),
        folder="" if copy is None else copy.folder,
        parts=parts,
    )


def _command(chosen: Toolchain, file: str, device: str, folder: str, options: str, from_spirv: bool) -> list[str]:
    """Return the command that compiles a file into a folder."""
    command = chosen.command(compiler(chosen), "compile", "-file", operand(file), "-device", device)
    command += ["-output", OUTPUT_NAME, "-output_no_suffix", "-out_dir", folder]
    command += ["-spirv_input"] if from_spirv else []
    return command + (["-options", options] if options else [])


def compiler(chosen: Toolchain) -> Path:
    """Return the toolchain's ocloc. Raises ToolError, with what to install, if there is none."""
    if chosen.ocloc is not None:
        return chosen.ocloc
    if chosen.root is None:
        others = [other.name for other in find_toolchains() if other.ocloc is not None]
        if not others:
            error = ToolError(f"there is no compiler: ocloc was not found; to get it: {how_to_get('ocloc')}")
            raise error.cured_by(NEWEST)
        raise ToolError(f"there is no compiler: ocloc was not found; {others[0]} has one: --toolchain {others[0]}")
    raise ToolError(f"the toolchain {chosen.name} has no ocloc below {chosen.root}; add it again")


def devices_of(chosen: Toolchain) -> tuple[str, ...]:
    """Return the devices that the toolchain compiles for, as it names them, in its order (oldest first). Raises
    ToolError if there is no compiler."""
    path = compiler(chosen)
    return _ask_devices(tuple(chosen.command(path, "compile", "--help")), path.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _ask_devices(command: tuple[str, ...], modified: int) -> tuple[str, ...]:
    # ``modified`` is part of the cache's key, so a replaced compiler is asked again.
    answer = run(command, timeout=QUESTION_TIMEOUT)
    names = []
    for listing in DEVICE_LIST.findall(answer.stdout):
        for word in listing.split(","):
            name = word.strip()
            if DEVICE_NAME.fullmatch(name) and not FAMILY_NAME.fullmatch(name) and name != "version":
                names.append(name)
    if not names:
        raise ToolError("ocloc did not list its devices", command=command_line(command), log=answer.log)
    return tuple(dict.fromkeys(names))


def check_device(device: str, chosen: Toolchain) -> None:
    """Raise NotFoundError, with the next step, if the toolchain does not compile for ``device``."""
    devices = devices_of(chosen)
    if device in devices or (DEVICE_NUMBER.fullmatch(device) and not is_newer(device, devices)):
        return
    if "," in device:
        raise NotFoundError(f"{device!r} is several devices, and one is asked for here; compile and sweep take several")
    message = f"the toolchain {chosen.name} ({chosen.title}) knows no device {device!r}"
    toolchains = find_toolchains()
    others = [other.name for other in toolchains if other.ocloc and name_among(device, devices_of(other))]
    if others:
        raise NotFoundError(f"{message}, but {others[0]} does: add --toolchain {others[0]}")
    if is_newer(device, devices):
        advice = GET_AGAIN if NEWEST in {other.name for other in toolchains} else GET_NEWEST
        raise NotFoundError(f"{message}, which is newer; {advice}")
    if is_of_amd(device):
        raise NotFoundError(f"{message}; for AMD GPUs kernlens compile and stages take OpenCL C, with clang")
    if device in OTHER_DEVICES:
        raise NotFoundError(f"{message}; kernlens stages compiles for it")
    known = known_device(device)
    if known is not None and known.intel is None:
        raise NotFoundError(
            f"{message}: kernlens compiles for GPUs of Intel and AMD; it records what other drivers compile (kernlens capture)"
        )
    if known is not None:
        raise NotFoundError(f"{message}; {GET_OLDER}")
    of_stages = [f"{name} (with kernlens stages)" for name in nearest(device.lower(), OTHER_DEVICES)]
    products = [word for word in device.lower().split() if known_device(word) is not None]
    near = products or [*nearest(device.lower(), devices), *of_stages]
    advice = f"; did you mean {', '.join(near)}?" if near else "; kernlens devices lists the devices that there are"
    raise NotFoundError(message + advice)


def is_newer(device: str, devices: Sequence[str]) -> bool:
    """Return whether a known device is younger than all of these, which are a compiler's or a driver's."""
    order = [known.name for known in DEVICES]
    ages = [order.index(known.name) for name in devices if (known := known_device(name)) and known.name in order]
    asked = known_device(device)
    return asked is not None and asked.name in order and bool(ages) and order.index(asked.name) > max(ages)


def first_bytes(path: Path) -> bytes:
    """Return the first bytes of a source, which tell whether it is SPIR-V. Raises KernlensError if it cannot be read."""
    with open_regular(path, "source file") as file:
        return file.read(4)


def _why_unfit(path: Path) -> str | None:
    """Return why the compiler would make nothing of this SPIR-V; None if no reason is known."""
    from kernlens.formats.spirv.opencl_fitness import why_unfit

    return why_unfit(memoryview(read_named(path)))


def _outputs(folder: Path) -> tuple[bytes, bytes, bytes]:
    """Read (binary, debug data, SPIR-V). Older versions give the binary no ending, newer ones ``.bin`` or ``.ar``."""

    def read(*endings: str) -> bytes:
        for ending in endings:
            path = folder / (OUTPUT_NAME + ending)
            if path.is_file():
                return read_beside(path, folder)
        return b""

    return read("", ".bin", ".ar"), read(".dbg"), read(".spv")


def is_refused(build: Build) -> bool:
    """Return whether the compiler says that the source is wrong, as it will each time; False if it crashed or wrote nothing."""
    return not build.ok and (build.reason or "").startswith(_refusal(build.path, build.device))


def has_crashed(build: Build) -> bool:
    """Return whether the compiler crashed, or wrote more than a file may have, as it will each time: nobody else sends these
    signals, as the kernel kills for want of memory by SIGKILL."""
    return not build.ok and _CRASH.match(build.reason or "") is not None


def _refusal(source: str, device: str) -> str:
    return f"{source} does not compile for {device}: "


def _reason(completed: Completed, source: Path, device: str, file: Path) -> str:
    if completed.signal is not None:
        return f"ocloc was killed by {completed.signal} while it compiled {source} for {device}"
    messages = error_lines(completed.log, str(source))
    errors = [message for message in messages if message.severity == "error"]
    if errors:
        first = errors[0]
        unknown = UNKNOWN_OPTION.match(first.message)
        if unknown is not None:
            near = " or ".join(nearest(unknown[1], OPENCL_OPTIONS)[:1])
            advice = f"did you mean {near}?" if near else "the compiler's own documentation lists those that it has"
            return f"{_refusal(str(source), device)}{first.message}; {advice}"
        where = f" at {first.place}" if first.path else ""
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return f"{_refusal(str(source), device)}{first.words}{where}{more}"
    if completed.ok:
        return f"ocloc reported success for {source} on {device} but wrote no binary; is the temporary folder full?"
    if file.is_file() and file.stat().st_size == 0:  # ocloc itself ends with a number, and no word of it.
        return f"{_refusal(str(source), device)}the file is empty; write a kernel into it"
    lines = [line for line in completed.log.splitlines() if line.strip() and not line.startswith("Command was:")]
    detail = f": {lines[-1].strip()}" if lines else ""
    return f"ocloc {completed.ending} while it compiled {source} for {device}{detail}"
