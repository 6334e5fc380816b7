"""What the public functions take: paths and Programs alike; and what they answer to anything else."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens import level_zero
from kernlens.answers import Difference, Pipeline
from kernlens.arguments import checked
from kernlens.errors import ArgumentError, KernlensError, NotFoundError, UnknownKernelError
from kernlens.model.build import Build, HeldParts
from kernlens.model.program import Kernels, Program
from kernlens.model.stages import IGC_2, held
from kernlens.verbs.capture.replacing import Replacement
from tests.unit.analysis.test_comparison import with_code


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a kernel of 3 instructions and the same with 5."""
    monkeypatch.chdir(tmp_path)
    Path("small.bin").write_bytes(with_code(48))
    Path("large.bin").write_bytes(with_code(80, simd=8))
    return tmp_path


def wrong(call: Callable[[], object]) -> str:
    """The sentence that a wrong call is answered by."""
    with pytest.raises(KernlensError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_diff_takes_programs_and_paths(folder: Path) -> None:
    small, large = kernlens.load("small.bin"), kernlens.load("large.bin")
    by_path = kernlens.diff("small.bin", "large.bin")
    assert isinstance(by_path, Difference)
    assert [change.pair.new.name for change in by_path.changes] == ["scale"]
    for old, new in ((small, large), (small[0], "large.bin"), (Path("small.bin"), large[0])):
        difference = kernlens.diff(old, new)
        assert difference.document()["kernels"] == by_path.document()["kernels"]
    assert (kernlens.diff(small[0], large).old_title, kernlens.diff(small[0], "large.bin").new_title) == (
        small[0].name,
        "large.bin",
    )
    assert kernlens.diff(small[0], small[0]).equal
    assert "of a compile, and a Program is compiled already" in wrong(lambda: kernlens.diff(small, large, options="-g"))
    assert "contains no program for bmg, only for skl" in wrong(lambda: kernlens.diff(small, large, device="bmg"))
    assert wrong(kernlens.diff).startswith("there is nothing to compare: name two sides")
    assert wrong(lambda: kernlens.diff(small)).startswith("there is nothing to compare with: name")


def test_stages_takes_a_program_whose_stages_were_kept(tmp_path: Path) -> None:
    snapshot = held(IGC_2.stage("visa"), b"text", "text", "k")
    program = Program("p", "stages", Kernels({}), Build("p", "dg2", parts=HeldParts(snapshots=(snapshot,))))
    pipeline = kernlens.stages(program)
    assert isinstance(pipeline, Pipeline)
    assert list(pipeline) == [snapshot]
    assert "a Program has its own" in wrong(lambda: kernlens.stages(program, "dg2"))
    assert "which device is a.cl to be compiled for?" in wrong(lambda: kernlens.stages("a.cl"))
    recording = tmp_path / "a.klens"
    recording.write_bytes(b"SQLite format 3\0" + bytes(84))
    assert wrong(lambda: kernlens.stages(recording, "dg2")).startswith(f"{recording} is no source but a recording; ")
    bare = Program("p", "raw", Kernels({}), Build("p", "dg2"))
    assert "contains neither source nor SPIR-V of p" in wrong(lambda: kernlens.stages(bare))


def test_nothing_is_no_answer() -> None:
    assert wrong(lambda: kernlens.diff([], [])) == "a side of the comparison holds no Program"
    assert wrong(lambda: kernlens.annotate([])) == "there is no kernel to annotate"
    assert wrong(lambda: kernlens.check([], max_spill=0)) == "there is no kernel to check"


def test_a_program_can_stand_in_for_an_applications(folder: Path) -> None:
    (program,) = kernlens.load("small.bin")
    by_path, by_program = Replacement.of("scale", "small.bin"), Replacement.of("scale", program)
    assert (by_program.path, by_program.kernel, by_program.form) == (program.name, "scale", by_path.form)
    assert by_program.content


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: kernlens.from_level_zero(3), "kernlens.from_level_zero: module must be a LiveModule, not int; "),
        (lambda: kernlens.from_opencl(3), "the OpenCL program handle 0x3 is not the address of an object"),
        (
            lambda: level_zero.build_spirv(1, 2, b"3"),  # type: ignore[arg-type]
            "kernlens.level_zero.build_spirv: context must be a Context, not 1 (int)",
        ),
        (lambda: level_zero.dynamic_link([3]), "zeModuleDynamicLink links LiveModule objects, not int"),  # type: ignore[list-item]
        (lambda: kernlens.load(3), "kernlens.load: path must be a string or a path, not 3 (int)"),  # type: ignore[arg-type]
        (
            lambda: kernlens.load("a", devise="dg2"),  # type: ignore[call-arg]
            "kernlens.load has no argument 'devise'; did you mean device?",
        ),
        (
            lambda: kernlens.diff("a", 3),  # type: ignore[arg-type]
            "kernlens.diff: new must be a string, a path, a Program, a list of Programs or None, not 3 (int)",
        ),
        (
            lambda: kernlens.capture("clinfo -l"),
            "kernlens.capture: command_line must be a list of strings or paths, not 'clinfo -l' (str)",
        ),
        (
            lambda: kernlens.load("a", source_roots="src"),
            "kernlens.load: source_roots must be a list of strings, not 'src' (str)",
        ),
        (
            lambda: kernlens.compile("a.cl", "dg2", specialize={"5": 1}),  # type: ignore[dict-item]
            "kernlens.compile: specialize must be a mapping, not {'5': 1} (dict)",
        ),
        (
            lambda: kernlens.sweep("a.cl", "dg2", on_progress=3),  # type: ignore[arg-type]
            "kernlens.sweep: on_progress must be a function or None, not 3 (int)",
        ),
        (lambda: kernlens.check(max_spil=0), "kernlens.check: missing a required argument: 'paths'"),  # type: ignore[call-arg]
    ],
)
def test_a_wrong_argument_is_answered_by_a_sentence(call: Callable[[], object], sentence: str) -> None:
    assert wrong(call).startswith(sentence)


def test_a_misspelt_bound_names_the_nearest(folder: Path) -> None:
    assert "did you mean max_spill" in wrong(lambda: kernlens.check("small.bin", max_spil=0))
    with pytest.raises(NotFoundError):
        kernlens.check("small.bin", max_spil=0)
    assert "max_spill must be a whole number, not '0' (str)" in wrong(
        lambda: kernlens.check("small.bin", max_spill="0")  # type: ignore[arg-type]
    )


def test_errors_speak_of_arguments_and_not_of_options(folder: Path) -> None:
    (folder / "a.cl").write_text("kernel void a(global int *x) { x[0] = 1; }")
    message = wrong(lambda: kernlens.diff("a.cl"))
    assert "two values for device=, toolchain= or options=, or two kernels with pairs=" in message
    assert "add device=D, such as " in wrong(lambda: kernlens.annotate("a.cl"))
    assert "(kernlens devices lists all)" in wrong(lambda: kernlens.annotate("a.cl")), "a command is offered as it is"
    assert "/no/min-cut.cl" in wrong(lambda: kernlens.load("/no/min-cut.cl")), "a file's name stays"
    with pytest.raises(UnknownKernelError) as caught:
        kernlens.annotate("small.bin", kernel="scael")
    assert caught.value.lists_all == "program.kernels.keys()"


def test_a_wrong_argument_is_a_type_error_too() -> None:
    with pytest.raises(TypeError):
        kernlens.load(3)  # type: ignore[arg-type]


def test_every_public_function_is_checked() -> None:
    functions = [getattr(kernlens, name) for name in kernlens.__all__ if name not in ("KernlensError", "__version__")]
    for function in functions:
        with pytest.raises(ArgumentError, match=rf"kernlens\.{function.__name__}"):
            function(*[()] * 20)
        assert inspect.signature(function).return_annotation, function
        assert function.__doc__


def test_errors_of_the_function_itself_pass() -> None:
    def broken(path: str, *, count: int = 0, items: list[str] | None = None, any_of: Any = None) -> int:
        return len(path) + count.missing  # type: ignore[attr-defined, no-any-return]

    with pytest.raises(AttributeError):
        checked(broken)("a")
    assert "must be a whole number, not True (bool)" in wrong(lambda: checked(broken)("a", count=True))
    assert "items must be a list of strings or None" in wrong(lambda: checked(broken)("a", items=[os]))  # type: ignore[list-item]
