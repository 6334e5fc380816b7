"""Asked kernels, with every verb that takes ``--kernel``: answers are held against the full listing of the path."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import kernlens as package
from kernlens.errors import AmbiguousKernelError, UnknownKernelError
from kernlens.model.build import Build, BuildToolchain, HeldParts, Source
from kernlens.verbs.absent import kernels_of_failed
from tests.unit.conftest import Kernlens
from tests.writers.programs import binary, spirv
from tests.writers.recordings import CHAIN, record

#: The kernels of the recording by the device that they are for, as the binary has them, and with what else means them alone.
TEMPLATE, MEMBER = "_ZN3rng5scaleIfEEvPT_", "_ZTSN3rng4fillIiEE"
SPELT = {
    TEMPLATE: (TEMPLATE, "void rng::scale<float>(float*)", "*rng::scale<*", "scale<float>(float*)"),
    MEMBER: (MEMBER, "rng::fill<int>", "typeinfo name for rng::fill<int>", "rng::fi??<int>", "fill<int>"),
    "bcast_mul": ("bcast_mul", "bcast*", "b?ast_mul", "cast_mu"),
}
#: Both for the device that is asked for and for another.
HERE, ELSEWHERE = "skl", "pvc"
#: Names of no kernel, and what is like them.
NOWHERE = {"RNG::FILL<INT>": "rng::fill<int>", "bcast_mull": "bcast_mul", "zzz*": ""}

VERBS = {
    "advise": ("advise",),
    "annotate": ("annotate",),
    "check": ("check", "--max-spill-bytes", "99", "--allow-unknown", "--allow-failed-builds"),
    "diff": ("diff", "all.klens"),
    "disasm": ("disasm",),
    "editable": ("disasm", "--editable"),
    "extract": ("extract", "-o", "parts"),
    "inspect": ("inspect",),
    "report": ("report", "-o", "x.html"),
    "top": ("annotate", "--top", "1"),
    "variable": ("annotate", "--variable", "*"),
}
#: The source of a build that fails.
BROKEN = """\
__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void broken_one(global int *a) { /* kernel void no() {} */ x; }
"""
OLD = BuildToolchain("old", "22.43", "1.0")


def built(name: str, kernel: str, device: str, toolchain: BuildToolchain = CHAIN) -> Build:
    return Build(name, device, toolchain, parts=HeldParts(binary=binary(kernel=kernel)))


@pytest.fixture
def folder(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder with a recording of two kernels for skl, and a failed build for it."""
    monkeypatch.chdir(tmp_path)
    parts = HeldParts(log="x.cl:2:1: error: x\n", sources=(Source("x.cl", BROKEN),))
    failed = Build("x", HERE, CHAIN, ok=False, reason="it does not build", parts=parts)
    builds = [built("a", TEMPLATE, HERE), built("b", MEMBER, HERE), built("c", "bcast_mul", HERE, OLD), failed]
    record(tmp_path / "all.klens", *builds)
    (tmp_path / "folder").mkdir()
    record(tmp_path / "folder" / "all.klens", *builds)
    (tmp_path / "module.spv").write_bytes(spirv(exports="one"))
    record(tmp_path / "spirv.klens", built("a", TEMPLATE, HERE), Build("m", "", CHAIN, parts=HeldParts(spirv=spirv())))
    return tmp_path


def listing(kernlens: Kernlens, path: str) -> dict[str, list[str]]:
    """Return every kernel that the path holds, with the devices that it is for: what all answers are held against."""
    kernels: dict[str, list[str]] = {}
    for program in json.loads(kernlens("inspect", path, "--json").out)["programs"]:
        for kernel in program["kernels"]:
            kernels.setdefault(kernel["name"], []).append(program["device"])
    return kernels


@pytest.mark.parametrize("verb", VERBS)
def test_every_spelling_means_the_kernel(verb: str, kernlens: Kernlens, folder: Path) -> None:
    held = listing(kernlens, "all.klens")
    for name, spellings in SPELT.items():
        assert held[name] == [HERE]
        for spelling in spellings:
            done = kernlens(*VERBS[verb], "all.klens", "--kernel", spelling)
            answer = done.out + done.err
            assert "there is no kernel" not in answer, (verb, spelling, answer)
            assert done.status == 0 or verb in ("editable", "variable"), (verb, spelling, done.err)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("path", ["all.klens", "folder"])
def test_what_is_said_of_a_kernel_that_is_not_chosen_is_true(
    verb: str, path: str, kernlens: Kernlens, folder: Path
) -> None:
    if verb == "diff" and path == "folder":
        path = "all.klens"
    held = listing(kernlens, path)
    for asked, like in NOWHERE.items():
        done = kernlens(*VERBS[verb], path, "--kernel", asked)
        assert done.status == 2, (verb, asked, done.out)
        assert f"there is no kernel '{asked}'; the binary holds " in done.err
        assert like in done.err
        assert asked not in held
    done = kernlens(*VERBS[verb], path, "--kernel", "broken_one")
    assert (done.status, done.out) == (2, ""), verb
    assert "broken_one is in a build that failed: x.cl for skl by newest: it does not build" in done.err, verb
    assert "broken_one" not in held


@pytest.mark.parametrize("verb", ["advise", "annotate", "check", "diff", "disasm", "extract", "inspect", "report"])
def test_a_choice_of_device_hides_it(
    verb: str, kernlens: Kernlens, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The binaries of this test are all for skl, so the recording says of one that it is for another."""
    two = with_device(kernlens, folder, monkeypatch)
    done = kernlens(*VERBS[verb], two, "--kernel", "bcast_mul", "--device", HERE)
    assert (done.status, done.out) == (2, ""), verb
    assert "bcast_mul is there for pvc" in done.err, verb
    assert "there is no kernel" not in done.err
    done = kernlens(*VERBS[verb], two, "--kernel", "nothing_like_it", "--device", HERE)
    assert "there is no kernel 'nothing_like_it'" in done.err


def with_device(kernlens: Kernlens, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    from kernlens.isa.devices import device
    from kernlens.loading import open as opening

    unpacked = opening._open_recording

    def elsewhere(path: str, context: object) -> opening.Contents:
        contents = unpacked(path, context)  # type: ignore[arg-type]
        programs = [
            replace(program, device=device(ELSEWHERE)) if "bcast_mul" in program.kernels else program
            for program in contents.programs
        ]
        return opening.Contents(path, contents.containers, programs, contents.recorded)

    monkeypatch.setattr(opening, "_open_recording", elsewhere)
    path = folder / "two.klens"
    other = replace(built("c", "bcast_mul", ELSEWHERE), name="c")
    record(path, built("a", TEMPLATE, HERE), other)
    return path.name


def test_a_toolchain_hides_it(kernlens: Kernlens, folder: Path) -> None:
    for verb in ("advise", "check", "diff"):
        done = kernlens(*VERBS[verb], "all.klens", "--toolchain", "newest", "--kernel", "bcast_mul")
        assert done.status == 2
        assert "bcast_mul is there for skl by old, not for what was chosen" in done.err, verb
    done = kernlens("check", "all.klens", "--toolchain", "none", "--max-spill-bytes", "0")
    assert "contains no program of the toolchain none, only of newest, old" in done.err


def test_a_kernel_without_machine_code(kernlens: Kernlens, folder: Path) -> None:
    for verb in ("annotate", "disasm", "check", "advise", "report"):
        done = kernlens(*VERBS[verb], "spirv.klens", "--kernel", "work")
        assert (done.status, done.out) == (2, ""), verb
        assert (
            "work is there as SPIR-V only, without machine code; compile it: kernlens compile spirv.klens" in done.err
        )
    assert kernlens("inspect", "spirv.klens", "--kernel", "work").status == 0


def test_pairs_and_limits_say_where_it_is(kernlens: Kernlens, folder: Path) -> None:
    done = kernlens("diff", "all.klens", "--pair", f"{MEMBER}=rng::fill<int>")
    assert done.status == 0, done.err
    done = kernlens("diff", "all.klens", "--pair", "broken_one=bcast_mul")
    assert "broken_one is in a build that failed" in done.err
    (folder / "kernlens.toml").write_text(
        '[kernel."rng::fill<int>"]\nmax-spill = 99\n[kernel.broken_one]\nmax-spill = 0\n[kernel.nowhere]\nmax-spill = 0\n'
    )
    done = kernlens("check", "all.klens", "--allow-unknown", "--allow-failed-builds")
    assert done.status == 0, done.err
    assert 'kernel."broken_one": broken_one is in a build that failed: x.cl for skl by newest' in done.out
    assert "there is no kernel 'nowhere'" in done.out


def test_python_takes_every_whole_name_and_pattern(folder: Path) -> None:
    program = package.load("all.klens")[0]
    for spelling in SPELT[TEMPLATE][:3]:
        assert program.kernels[spelling].name == TEMPLATE
    with pytest.raises(AmbiguousKernelError):
        program.kernels["*"]
    with pytest.raises(UnknownKernelError):
        program.kernels["scal"]
    assert ("rng" in program.kernels, program.kernels.get("*rng*")) == (False, None)


def test_kernels_in_the_source_of_a_failed_build() -> None:
    text = (
        "// kernel void in_a_comment() {}\n"
        'constant char *t = "kernel void in_a_text() {";\n'
        "kernel void one(int a) { x }\n__kernel void __attribute__((vec_type_hint(float4))) two(int b)\n{ }\n"
        "kernel void declared(int c);\nvoid kernel_like(int d) { }\n"
    )
    build = Build("x", "skl", ok=False, parts=HeldParts(sources=(Source("x.cl", text),)))
    assert kernels_of_failed(build) == ["one", "two"]
    assert kernels_of_failed(Build("x", "skl", ok=False, parts=HeldParts(spirv=spirv()))) == ["work"]


def test_a_kernel_that_two_programs_have_is_no_text_to_edit(kernlens: Kernlens, tmp_path: Path) -> None:
    """Of one device, ``--device`` cannot choose among them; files of their own can."""
    recording = record(tmp_path / "one.klens", built("a", "k", HERE), built("b", "k", HERE))
    done = kernlens("disasm", "--editable", "--kernel", "k", recording)
    assert f"there are 2 (k): kernlens extract {recording} -o DIR writes each program as a file" in done.err
