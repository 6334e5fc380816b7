"""``--kernel``: by the binary's name, by C++'s, by a pattern of either; of a file and of a folder."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from random import Random

import pytest

from kernlens.analysis.kernel_names import is_named, kernels_meant, kernels_named
from kernlens.errors import AmbiguousKernelError, UnknownKernelError
from kernlens.model.build import Build, HeldParts
from kernlens.recording.writer import RecordingWriter
from tests.limits import processor_time
from tests.unit.conftest import Kernlens
from tests.writers.programs import binary, spirv
from tests.writers.recordings import snapshot

SCALE, FILL = "_ZN3rng5scaleIfEEvPT_", "_ZTSN3rng4fillIiEE"
KNOWN = [SCALE, FILL, "_Z5scalePf", "_Z5scalePPf", "plain", "plain_2"]


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        (SCALE, [SCALE]),
        ("void rng::scale<float>(float*)", [SCALE]),
        ("rng::fill<int>", [FILL]),
        ("typeinfo name for rng::fill<int>", [FILL]),
        ("scale(float*)", ["_Z5scalePf"]),  # a name first, though it is a pattern too
        ("scale(float??)", ["_Z5scalePPf"]),
        ("*scale*", [SCALE, "_Z5scalePf", "_Z5scalePPf"]),
        ("plain", ["plain"]),
        ("plain*", ["plain", "plain_2"]),
        ("p?ain", ["plain"]),
        ("*", KNOWN),
    ],
)
def test_what_is_meant(asked: str, chosen: list[str]) -> None:
    assert kernels_named(asked, KNOWN) == chosen


@pytest.mark.parametrize(
    ("asked", "near"),
    [("rng::fil<int>", "rng::fill<int>"), ("*scal*x", "scale"), ("nothing(", "holds"), ("[x", "holds")],
)
def test_near_names(asked: str, near: str) -> None:
    with pytest.raises(UnknownKernelError) as raised:
        kernels_named(asked, KNOWN)
    assert near in str(raised.value)


@pytest.mark.parametrize(
    ("part", "chosen"),
    [
        ("plain", "plain"),  # its whole name, though it is a part of another
        ("fill", FILL),
        ("fill<int>", FILL),
        ("ain_2", "plain_2"),
        ("N3rng4fill", FILL),
        ("scale<float>(float*)", SCALE),  # the end of a name behind :: counts before other parts
    ],
)
def test_a_part_of_one_name_means_it(part: str, chosen: str) -> None:
    assert kernels_meant(part, KNOWN) == [chosen]


def test_a_part_of_several_names_means_none() -> None:
    with pytest.raises(AmbiguousKernelError) as raised:
        kernels_meant("scal", KNOWN)
    assert "'scal' is a part of the names of 3 kernels: scale(float*), scale(float**), void rng::scale" in str(
        raised.value
    )
    with pytest.raises(UnknownKernelError, match="rng::fill<int>"):
        kernels_meant("rng::fil<int>", KNOWN)


def test_near_names_among_thousands() -> None:
    known = [f"_ZN3rng{len(name)}{name}IfEEvPT_" for name in (f"kernel_of_number_{number}" for number in range(5000))]
    with processor_time(10), pytest.raises(UnknownKernelError, match="kernel_of_number_17"):
        kernels_named("*kernel_of_numbr_17*", known)


def test_patterns_mean_what_those_of_the_shell_do() -> None:
    """Against Python's own fnmatch, with few letters, so that many fit."""
    random = Random(13)
    fitting = 0
    for _ in range(5000):
        pattern = "".join(random.choices("ab*?", k=random.randrange(8)))
        name = "".join(random.choices("ab", k=random.randrange(10)))
        assert is_named(pattern, name) == fnmatchcase(name, pattern), (pattern, name)
        fitting += is_named(pattern, name)
    assert fitting > 500


def test_a_pattern_of_many_stars_takes_no_longer() -> None:
    with processor_time(5):
        assert not is_named("*a" * 30 + "*b", "a" * 4000)
        assert is_named("*a" * 30 + "*", "a" * 4000)


@pytest.mark.parametrize("verb", ["annotate", "disasm"])
@pytest.mark.parametrize("asked", ["void rng::scale<float>(float*)", "*rng*"])
def test_of_files_and_folders(verb: str, asked: str, kernlens: Kernlens, file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "one.bin").write_bytes(binary(kernel=SCALE))
    (folder / "two.bin").write_bytes(binary())
    for path in (folder / "one.bin", folder):
        done = kernlens(verb, path, "--kernel", asked)
        assert done.status == 0, done.err
        assert "rng::scale" in done.out
        assert "plain" not in done.out
    done = kernlens(verb, folder, "--kernel", "rng::scal")
    assert done.status == 0, done.err
    assert "rng::scale" in done.out
    done = kernlens(verb, folder, "--kernel", "rng::skal")
    assert done.status == 2
    assert "there is no kernel 'rng::skal'" in done.err


def test_of_stages(kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with RecordingWriter("a.klens") as writer:
        stages = (snapshot("visa", ".visaasm", b"one\n", SCALE), snapshot("visa", ".visaasm", b"two\n", "plain"))
        writer.add(Build("a", "dg2", parts=HeldParts(snapshots=stages)))
    done = kernlens("stages", "a.klens", "--stage", "visa", "--kernel", "void rng::scale<float>(float*)")
    assert (done.status, "one" in done.out, "two" in done.out) == (0, True, False), done.err


@pytest.mark.parametrize("asked", ["void rng::scale<float>(float*)", "*rng*", "rng::scal"])
def test_inspect_and_extract_of_a_kernel(asked: str, kernlens: Kernlens, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "one.bin").write_bytes(binary(kernel=SCALE))
    (folder / "two.bin").write_bytes(binary())
    for path in (folder / "one.bin", folder):
        document = kernlens("inspect", path, "--kernel", asked, "--json").document
        assert [[kernel["name"] for kernel in program["kernels"]] for program in document["programs"]] == [[SCALE]]
        assert document["containers"] == []
        done = kernlens("inspect", path, "--kernel", asked)
        assert (done.status, "rng::scale" in done.out, "plain" in done.out) == (0, True, False), done.err
        parts = kernlens("extract", path, "--kernel", asked, "-o", tmp_path / "parts", "--json").document["parts"]
        names = [Path(part["path"]).name for part in parts]
        assert [name for name in names if name.endswith(".gen")] == [f"{SCALE}.gen"]
        assert not [part for part in parts if part["path"].startswith("containers")]
        for verb in ("inspect", "extract"):
            done = kernlens(verb, path, "--kernel", "nothing", *(("-o", tmp_path / "p") if verb == "extract" else ()))
            assert (done.status, "there is no kernel 'nothing'" in done.err) == (2, True)


def test_inspect_and_extract_of_an_entry_point(kernlens: Kernlens, tmp_path: Path) -> None:
    path = tmp_path / "module.spv"
    path.write_bytes(spirv(exports="one"))
    done = kernlens("inspect", path, "--kernel", "work")
    assert (done.status, "work" in done.out) == (0, True), done.err
    done = kernlens("inspect", path, "--kernel", "other")
    assert (done.status, "there is no kernel 'other'; the binary holds work" in done.err) == (2, True)
