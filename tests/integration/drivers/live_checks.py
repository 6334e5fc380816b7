"""The agreement of a live program: with its own binary, between the two interfaces, and with the offline compiler.

``python -m tests.integration.drivers.live_checks`` asks this of the whole corpus, on every simulated device.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from kernlens.errors import ToolError
from kernlens.formats.neo_elf import is_neo_elf, read_neo_elf
from kernlens.loading import load
from kernlens.model.build import Build
from kernlens.model.kernel import Kernel
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import LEVEL_ZERO, OPENCL, IsolatedDriver
from kernlens.toolchain.simulation import simulated_driver
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.corpus.build import JOINED, Built, build, main_source
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import programs
from tests.corpus.packages import packages_folder
from tests.integration.drivers.live_fixtures import NEWEST_DEVICES, SYSTEM_DEVICES

DEBUG_OPTION = "-gline-tables-only"
#: Sections of a zebin that the driver's debug ELF repeats, code with the addresses filled in; it relocates the others.
UNRELOCATED = (".text.", ".debug_abbrev", ".debug_ranges", ".debug_str", ".ze_info", ".note.intelgt.compat")


@dataclass
class Tally:
    """The number of things compared, by kind; what differed; and what a driver refused to build, with its words."""

    compared: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def equal(self, kind: str, where: str, ours: object, theirs: object) -> None:
        self.compared[kind] += 1
        if ours != theirs:
            self.differences.append(f"{where}: {kind} differs")

    def add(self, other: Tally) -> None:
        self.compared.update(other.compared)
        self.differences += other.differences
        self.refused += other.refused


def check_program(driver: IsolatedDriver, built: Built) -> Tally:
    """Check one corpus program, from its SPIR-V through both interfaces and from its source through OpenCL."""
    tally = Tally()
    spirv = built.spirv.read_bytes()
    lives: dict[str, Build] = {}
    for api in (LEVEL_ZERO, OPENCL):
        try:
            driver.build_spirv(built.name, spirv, DEBUG_OPTION, api)
        except ToolError as error:
            tally.refused.append(f"{built.name} ({api}): {error}")
            continue
        (lives[api],) = driver.live_builds(built.name, api)
        check_kernels(tally, f"{built.name} ({api})", lives[api])
        check_debug(tally, f"{built.name} ({api})", lives[api])
    if len(lives) == 2:
        first, second = ({kernel.name: kernel for kernel in lives[api].kernels} for api in (LEVEL_ZERO, OPENCL))
        tally.equal("kernel names of both interfaces", built.name, sorted(first), sorted(second))
        for name in first.keys() & second.keys():
            tally.equal("kernel of both interfaces", f"{built.name}: {name}", first[name].binary, second[name].binary)
    return tally


def check_kernels(tally: Tally, where: str, live: Build) -> None:
    """Check that each kernel's binary equals its bytes in the program binary, found by other readers than kernlens' own."""
    assert live.binary
    for kernel in live.kernels:
        place = f"{where}: {kernel.name}"
        assert kernel.binary is not None, f"{place}: {kernel.reason}"
        assert kernel.code is not None, f"{place}: {kernel.reason}"
        tally.equal("kernel binary", place, kernel.binary, _section(live.binary, kernel.name, kernel.binary))
        tally.equal("unpadded code", place, kernel.code, kernel.binary[: len(kernel.code)])
        tally.equal("padding", place, set(kernel.binary[len(kernel.code) :]) <= {0}, True)


def _section(binary: bytes, kernel: str, expected: bytes) -> bytes:
    """Return ``.text.KERNEL`` of a zebin by pyelftools; in a patch-token program, the bytes behind the kernel's name."""
    if is_neo_elf(memoryview(binary)):
        padded = kernel.encode() + b"\0"
        padded += bytes(-len(padded) % 4)
        at = binary.find(padded + expected)
        return b"" if at < 0 else binary[at + len(padded) :][: len(expected)]
    return _sections(binary)[f".text.{kernel}"]


def _sections(elf: bytes) -> dict[str, bytes]:
    from elftools.elf.elffile import ELFFile

    return {section.name: section.data() for section in ELFFile(BytesIO(elf)).iter_sections() if section.name}


def check_debug(tally: Tally, where: str, live: Build) -> None:
    """Check that the debug data is that of the binary: the same bytes, but for what the driver relocates; the same lines."""
    assert live.binary
    assert live.debug, f"{where}: {live.missing}"
    if is_neo_elf(memoryview(live.binary)):
        part = read_neo_elf(memoryview(live.binary)).device_debug
        tally.equal("debug data", where, live.debug, None if part is None else bytes(part.data))
        return
    inside, outside = _sections(live.binary), _sections(live.debug)
    for name in inside:
        if name.startswith(UNRELOCATED):
            sites = _relocated(live.binary, name)
            result, expected = _blanked(outside.get(name, b""), sites), _blanked(inside[name], sites)
            tally.equal("debug section", f"{where}: {name}", result, expected)
    ours, theirs = _kernels(live.binary), _kernels(live.debug)
    for name in ours:
        tally.equal("line table of debug data", f"{where}: {name}", lines(ours[name]), lines(theirs[name]))


def check_source(driver: IsolatedDriver, built: Built) -> Tally:
    """Compare the program built from source by the live driver with the offline compiler's file.

    Everything is equal with 22.43. With 26.27 two differences are known: a simulated device is told to address buffers
    and images in the older way (``UseBindlessMode=0``, which ``offline_environment`` takes back), and each kernel holds a hash
    of what it was compiled from, where the offline compiler's input has another file name.
    """
    tally = Tally()
    home = packages_folder()
    main = home / main_source(built.program)
    text = main.read_text()
    options = " ".join(
        f"-I{home / option[2:]}" if option.startswith("-I") else option for option in built.program.options.split()
    )
    try:
        driver.build_source(built.name, text, f"{options} -I{main.parent} -I{home / JOINED} -I{home} {DEBUG_OPTION}")
    except ToolError as error:
        tally.refused.append(f"{built.name} (source): {error}")
        return tally
    (live,) = driver.live_builds(built.name, OPENCL)
    where = f"{built.name} (source)"
    check_kernels(tally, where, live)
    check_debug(tally, where, live)
    tally.equal("source text", where, [source.text for source in live.sources], [text])
    assert live.binary
    ours, theirs = _kernels(live.binary), {kernel.name: kernel for kernel in _only(built.binary).values()}
    tally.equal("kernel names of ocloc's file", where, sorted(ours), sorted(theirs))
    for name in ours.keys() & theirs.keys():
        code, expected = bytes(ours[name].code), bytes(theirs[name].code)
        tally.equal("code of ocloc's file", f"{where}: {name}", without_hash(code, expected), expected)
        tally.equal("lines of ocloc's file", f"{where}: {name}", lines(ours[name]), lines(theirs[name]))
    return tally


def without_hash(code: bytes, other: bytes) -> bytes:
    """Return ``code`` with the kernel's hash of ``other``: two words, the operands of two neighbouring instructions."""
    differing = [at & ~3 for at in range(min(len(code), len(other))) if code[at] != other[at]]
    if not differing:
        return code
    mended = bytearray(code)
    for at in (differing[0], differing[0] + 16):
        mended[at : at + 4] = other[at : at + 4]
    return bytes(mended)


def offline_environment(device: str, toolchain: str) -> DriverEnvironment:
    """Return a simulated device that builds as the offline compiler does."""
    environment = later_stepping(simulated_driver(device, toolchain))
    if toolchain != NEWEST:
        return environment
    return replace(environment, variables={**environment.variables, "UseBindlessMode": "1"})


def later_stepping(environment: DriverEnvironment) -> DriverEnvironment:
    """Return ``environment``, with tgllp no longer simulated as its first stepping: for that, OpenCL's driver alone has
    the compiler emulate integer division."""
    if environment.device != "tgllp":
        return environment
    return replace(environment, variables={**environment.variables, "OverrideRevision": "1"})


def lines(kernel: Kernel) -> list[tuple[int, int, int]] | str | None:
    """Return a kernel's rows without their files, which the offline compiler names otherwise; or why there are none."""
    table = kernel.line_table
    return kernel.line_table_reason if table is None else [(row.offset, row.line, row.column) for row in table.rows]


def _relocated(elf: bytes, section: str) -> list[int]:
    """Return the offsets of the words in ``section`` that the driver fills in."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.relocation import RelocationSection

    table = ELFFile(BytesIO(elf)).get_section_by_name(f".rel{section}")
    if not isinstance(table, RelocationSection):
        return []
    return [relocation["r_offset"] for relocation in table.iter_relocations()]


def _blanked(content: bytes, sites: list[int]) -> bytes:
    blanked = bytearray(content)
    for site in sites:
        blanked[site : site + 4] = bytes(4)
    return bytes(blanked)


def _kernels(binary: bytes) -> dict[str, Kernel]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "program")
        path.write_bytes(binary)
        return _only(path)


def _only(path: Path) -> dict[str, Kernel]:
    kernels: dict[str, Kernel] = {}
    for program in load(path):
        kernels.update(program.kernels)
    # Read while the file is there: the parts of a kernel come on first use.
    for kernel in kernels.values():
        _ = kernel.line_table
    return kernels


def main() -> int:
    """Check the corpus on all devices; print figures per device and return 1 if anything differs."""
    import os

    root = Path(os.environ["KERNLENS_NEWEST_ROOT"])
    chosen = [program for program in programs() if sys.argv[1:] == [] or program.name.startswith(tuple(sys.argv[1:]))]
    failed = False
    for name, devices, compiler in (
        (SYSTEM, SYSTEM_DEVICES, DEBIAN),
        (NEWEST, NEWEST_DEVICES, newest(root)),
    ):
        for device in devices:
            tally = Tally()
            done, _ = build(chosen, (device,), compiler=compiler)
            for environment, check in (
                (later_stepping(simulated_driver(device, name)), check_program),
                (offline_environment(device, name), check_source),
            ):
                with IsolatedDriver(environment) as driver:
                    for built in done:
                        tally.add(check(driver, built))
            failed |= bool(tally.differences)
            print(f"{name}/{device}: {len(done)} programs,", dict(tally.compared), flush=True)
            for line in tally.differences[:20] + tally.refused[:20]:
                print(f"    {line[:300]}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
