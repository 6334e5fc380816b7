"""``compile`` of SPIR-V that lies in other files: libraries, recordings, and modules with chosen constants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import zstandard

from kernlens import compile as compile_sources
from kernlens import load
from kernlens.errors import FormatError, KernlensError, UnknownKernelError
from kernlens.formats.spirv.specialization import read_spec_constants, specialized
from kernlens.loading.linkable import module_of
from kernlens.model.build import Build, HeldParts
from kernlens.model.module import Module
from kernlens.model.program import Program
from kernlens.recording.reader import Recording
from kernlens.recording.writer import RecordingWriter
from tests.unit.conftest import Kernlens
from tests.unit.formats.test_offload_bundle import host, table
from tests.writers.programs import spirv
from tests.writers.spirv import SpirvWriter

#: rng::scale<float>(float*) and the type of a SYCL kernel, rng::fill<int>.
SCALE, FILL = "_ZN3rng5scaleIfEEvPT_", "_ZTSN3rng4fillIiEE"


def module(kernel: str, *more: int, order: str = "<") -> bytes:
    """A module with this kernel, and the specialisation constants 5 (int), 6 (bool), 7 (64 bits) and 8 (float)."""
    writer = SpirvWriter().add(17, 4).add(17, 6).add(14, 2, 2).add(15, 6, 40, kernel)
    for number, id in enumerate((30, 31, 32, 33), 5):
        writer.add(71, id, 1, number)
    writer.add(19, 10).add(20, 11).add(21, 12, 32, 0).add(21, 13, 64, 0).add(22, 14, 32).add(33, 15, 10)
    writer.add(50, 12, 30, 1).add(49, 11, 31).add(50, 13, 32, 2, 0).add(50, 14, 33, 0)
    writer.add(54, 10, 40, 0, 15).add(248, 60).add(253).add(56)
    return bytes(writer.build(order))


@pytest.fixture
def library(tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library with three images, of which the last two are equal and the first is packed."""
    monkeypatch.chdir(tmp_path)
    first, second = module(SCALE), module(FILL)
    packed = zstandard.ZstdCompressor().compress(first)
    places, images = [], b""
    for content, size in ((packed, len(first)), (second, len(second)), (second, len(second))):
        places.append((0x2000 + len(images), size))
        images += content + bytes(-len(content) % 16)
    Path("lib.so").write_bytes(host(table(*places), images=images).build())
    return Path("lib.so")


def compiled(compiler: Path) -> int:
    calls = compiler.parent / "calls"
    return len(calls.read_text().splitlines()) if calls.exists() else 0


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (SCALE, "sycl-spir64.0"),
        ("void rng::scale<float>(float*)", "sycl-spir64.0"),
        ("*scale*", "sycl-spir64.0"),
        ("rng::fill<int>", "sycl-spir64.1"),
        ("typeinfo name for rng::fill<int>", "sycl-spir64.1"),
        ("rng::f?ll*", "sycl-spir64.1"),
    ],
)
def test_only_images_that_hold_the_kernel(
    kernel: str, name: str, kernlens: Kernlens, library: Path, compiler: Path
) -> None:
    done = kernlens("compile", library, "--kernel", kernel, "--device", "skl")
    assert done.status == 0, done.err
    assert "2 kernels recorded in lib.klens" in done.out
    (build,) = Recording("lib.klens").builds()
    assert (build.name, build.ok) == (name, True)
    assert build.spirv == module(SCALE if name.endswith("0") else FILL)
    assert "0.spv" not in build.command + build.log
    assert f"lib.so:{name}" in build.command
    assert compiled(compiler) == 0  # as a compiler of what comes out of another file can write nothing beside it


def test_images_have_no_options_of_kernlens_toml(kernlens: Kernlens, library: Path) -> None:
    Path("kernlens.toml").write_text('[source."*"]\noptions = "-DSOURCES"')
    assert kernlens("compile", library, "--kernel", SCALE, "--device", "skl").status == 0
    (build,) = Recording("lib.klens").builds()
    assert build.options == "-gline-tables-only"


def test_python_compiles_images(library: Path, compiler: Path) -> None:
    programs = compile_sources(library, ["skl", "dg2"], kernel="rng::f?ll*", recording=Path("lib.klens"))
    builds = list(Recording("lib.klens").builds())
    assert [(each.name, each.device) for each in builds] == [("sycl-spir64.1", "skl"), ("sycl-spir64.1", "dg2")]
    assert all("lib.so:sycl-spir64.1" in each.command and "0.spv" not in each.command for each in builds)
    assert [program.build.spirv for program in programs] == [module(FILL), module(FILL)]
    names = [list(program.kernels.keys()) for program in programs]
    assert names == [list(program.kernels.keys()) for program in load("lib.klens")]
    assert compiled(compiler) == 0  # which can write nothing beside it
    (program,) = compile_sources([library], "skl", kernel=["*scale*"], unconfined=True)
    assert (program.build.name, compiled(compiler)) == ("sycl-spir64.0", 1)


def test_python_gives_constants_and_recorded_options(library: Path, compiler: Path) -> None:
    constants: dict[int, bool | float | str] = {5: -1, 6: True, 7: "0x300000004", 8: 0.5}
    with RecordingWriter("a.klens") as writer:
        writer.add(
            Build("x", "skl", options="-cl-mad-enable", created="2026-01-01", parts=HeldParts(spirv=module("x")))
        )
    compile_sources("a.klens", "dg2", options="-cl-opt-disable", specialize=constants, recording=Path("b.klens"))
    (build,) = Recording("b.klens").builds()
    bits = {5: 0xFFFFFFFF, 6: 1, 7: 3 << 32 | 4, 8: 0x3F000000}
    assert build.spirv == specialized(memoryview(module("x")), bits)
    assert build.options == "-cl-mad-enable -gline-tables-only -cl-opt-disable"


def test_programs_are_in_the_order_of_the_sources(kernlens: Kernlens, library: Path) -> None:
    Path("x.cl").write_text("kernel void x() {}\n")
    Path("one.so").write_bytes(host(table((0x2000, len(module(SCALE)))), images=module(SCALE)).build())
    names = ["sycl-spir64.0", "x"]
    assert [program.build.name for program in compile_sources(["one.so", "x.cl"], "skl")] == names
    programs = kernlens("compile", "one.so", "x.cl", "--device", "skl", "--json").document["programs"]
    assert [program["name"] for program in programs] == names


@pytest.mark.parametrize(
    ("source", "keywords", "error", "sentence"),
    [
        ("lib.so", {}, KernlensError, "lib.so contains 2 SPIR-V modules; choose with"),
        ("lib.so", {"kernel": "scael"}, UnknownKernelError, "there is no kernel 'scael'"),
        ("x.cl", {"kernel": "x"}, KernlensError, "x.cl is a source, which is compiled as a whole"),
        ("lib.so", {"kernel": "*", "specialize": {9: 1}}, KernlensError, "has specialisation constant 9; there are 5"),
        (
            "lib.so",
            {"kernel": "*", "specialize": {6: "2"}},
            KernlensError,
            "'2' is no value of specialisation constant 6",
        ),
    ],
    ids=lambda value: str(value),
)
def test_wrong_use_in_python(
    source: str, keywords: dict[str, Any], error: type[KernlensError], sentence: str, library: Path, compiler: Path
) -> None:
    Path("x.cl").write_text("kernel void x() {}\n")
    with pytest.raises(error) as raised:
        compile_sources(source, "skl", **keywords)
    assert sentence in str(raised.value)
    assert compiled(compiler) == 0


def test_several_devices_and_names(kernlens: Kernlens, library: Path, compiler: Path) -> None:
    done = kernlens("compile", library, "--kernel", "*scale*", "--kernel", "*", "--device", "skl,dg2", "--json")
    programs = done.document["programs"]
    assert sorted((program["name"], program["device"]) for program in programs) == [
        ("sycl-spir64.0", "dg2"), ("sycl-spir64.0", "skl"), ("sycl-spir64.1", "dg2"), ("sycl-spir64.1", "skl"),
    ]  # fmt: skip
    assert {program["source"] for program in programs} == {"lib.so:sycl-spir64.0", "lib.so:sycl-spir64.1"}


def test_spirv_of_recordings_is_compiled_once(kernlens: Kernlens, library: Path, compiler: Path) -> None:
    with RecordingWriter("a.klens") as writer:
        for device in ("skl", "dg2"):
            writer.add(Build("../x", device, parts=HeldParts(spirv=module(SCALE))))
    done = kernlens("compile", "a.klens", "--device", "icllp", "-o", "b.klens", "--unconfined")
    assert done.status == 0, done.err
    (build,) = Recording("b.klens").builds()
    assert (build.name, build.device) == ("../x:skl", "icllp")
    assert compiled(compiler) == 1


def test_programs_whose_kernels_have_one_name(kernlens: Kernlens, library: Path, compiler: Path) -> None:
    with RecordingWriter("a.klens") as writer:
        for number, order in enumerate("<>"):
            writer.add(Build(f"program-{number}", "skl", parts=HeldParts(spirv=module(SCALE, order=order))))
    done = kernlens("compile", "a.klens", "--device", "skl", "-o", "b.klens", "--unconfined")
    assert done.status == 2
    step = "kernlens recording prune a.klens --keep program-0 -o one.klens"
    assert f"; {step} takes one of those whose kernels have the same names" in done.err
    assert kernlens(*step.split()[1:]).status == 0
    assert kernlens("compile", "one.klens", "--device", "skl", "-o", "c.klens", "--unconfined").status == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("lib.so",), "lib.so contains 2 SPIR-V modules; choose with --kernel K"),
        (
            ("lib.so", "--kernel", "scael"),
            "there is no kernel 'scael'; the binary holds void rng::scale<float>(float*)",
        ),
        (("lib.so", "--kernel", "*nothing*"), "there is no kernel '*nothing*'; the binary holds"),
        (("x.cl", "--kernel", "x"), "x.cl is a source, which is compiled as a whole"),
        (("lib.so", "x.cl", "--spec-constant", "5=1"), "x.cl is a source, which is compiled as a whole"),
        (("lib.so", "--kernel", "x", "--library"), "--library compiles whole sources"),
        (("x.spv", "--spec-constant", "9=1"), "has specialisation constant 9; there are 5 (int, 32 bits), 6 (bool)"),
        (("x.spv", "--spec-constant", "6=2"), "x.spv: '2' is no value of specialisation constant 6 (bool)"),
        (("x.spv", "--spec-constant", "6"), "is not of the form 5=1"),
        (("empty.so", "--kernel", "x"), "empty.so contains no SPIR-V that can be compiled"),
        (("damaged.so", "--kernel", "*"), "spirv, offset 0x50: instruction 71"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_use(words: tuple[str, ...], sentence: str, kernlens: Kernlens, library: Path, compiler: Path) -> None:
    Path("x.cl").write_text("kernel void x() {}\n")
    Path("x.spv").write_bytes(module("x"))
    Path("empty.so").write_bytes(host(b"", images=b"").build())
    Path("damaged.so").write_bytes(host(table((0x2000, 88)), images=module("x")[:88]).build())
    done = kernlens("compile", *words, "--device", "skl")
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert "Traceback" not in done.err
    assert compiled(compiler) == 0


def test_a_damaged_image_keeps_no_other_from_being_compiled(kernlens: Kernlens, library: Path) -> None:
    images = module("x")[:88] + bytes(8) + module(SCALE)
    Path("lib.so").write_bytes(host(table((0x2000, 88), (0x2060, len(images) - 96)), images=images).build())
    assert kernlens("compile", library, "--kernel", "*", "--device", "skl").status == 0
    assert [build.name for build in Recording("lib.klens").builds()] == ["sycl-spir64.1"]


def test_a_failure_names_the_image(kernlens: Kernlens, library: Path, compiler: Path) -> None:
    Path("lib.so").write_bytes(host(table((0x2000, len(module("broken")))), images=module("broken")).build())
    done = kernlens("compile", library, "--kernel", "*", "--device", "skl")
    assert done.status == 3
    assert "lib.so:sycl-spir64.0" in done.err
    assert "/tmp" not in done.err


@pytest.mark.parametrize("order", ["<", ">"])
def test_constants_get_their_values(order: str) -> None:
    data = memoryview(module("x", order=order))
    assert specialized(data, {}) == data
    changed = specialized(data, {5: 0xFFFFFFFF, 6: 1, 7: 3 << 32 | 4, 8: 0x3F000000})
    assert len(changed) == len(data)
    expected = module("x", order=order)
    for before, after in (
        ((50, 12, 30, 1), (50, 12, 30, 0xFFFFFFFF)),
        ((49, 11, 31), (48, 11, 31)),
        ((50, 13, 32, 2, 0), (50, 13, 32, 4, 3)),
        ((50, 14, 33, 0), (50, 14, 33, 0x3F000000)),
    ):
        written = [bytes(SpirvWriter().add(*words).build(order)[20:]) for words in (before, after)]
        assert written[0] in expected
        expected = expected.replace(written[0], written[1])
    assert changed == expected
    assert read_spec_constants(memoryview(changed)).keys() == {5, 6, 7, 8}
    for end in range(24, len(data), 4):
        try:
            specialized(data[:end], dict.fromkeys(read_spec_constants(data[:end]), 1))
        except FormatError:
            continue


def test_a_module_of_chosen_constants(kernlens: Kernlens, library: Path) -> None:
    Path("x.spv").write_bytes(module("x"))
    done = kernlens("compile", "x.spv", "--spec-constant", "6=true", "--spec-constant", "5=0x10", "--device", "skl")
    assert done.status == 0, done.err
    (build,) = Recording("x.klens").builds()
    assert (build.name, build.spirv) == ("x", specialized(memoryview(module("x")), {5: 16, 6: 1}))


def test_plain_sources_and_libraries_together(kernlens: Kernlens, library: Path) -> None:
    Path("x.cl").write_text("kernel void x() {}\n")
    Path("one.so").write_bytes(host(table((0x2000, len(spirv()))), images=spirv()).build())
    done = kernlens("compile", "x.cl", "one.so", "--device", "skl")
    assert done.status == 0, done.err
    assert {build.name for build in Recording("x.klens").builds()} == {"x", "sycl-spir64.0"}


def test_symbols_reads_what_is_twice_in_a_library_once(
    library: Path, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []

    def counted(program: Program, **options: Any) -> Module:
        read.append(program.name)
        return module_of(program, **options)

    monkeypatch.setattr("kernlens.loading.linkable.module_of", counted)
    modules = kernlens("symbols", library, "--json").document["modules"]
    assert [(each["name"], each["kernels"]) for each in modules] == [
        ("lib.so:sycl-spir64.0", [SCALE]),
        ("lib.so:sycl-spir64.1", [FILL]),
        ("lib.so:sycl-spir64.2", [FILL]),
    ]
    assert read == ["sycl-spir64.0", "sycl-spir64.1"]
