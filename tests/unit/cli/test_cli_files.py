"""inspect, disasm, annotate and extract, on a file that the test writes."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.unit.conftest import Kernlens
from tests.writers.patch_tokens import neo_elf, program
from tests.writers.programs import SOURCE, spirv
from tests.writers.recordings import FAILED, FULL

READING = ("inspect", "disasm", "annotate")


def test_inspect_prints_kernels_as_text_and_json(kernlens: Kernlens, file: Path) -> None:
    done = kernlens("inspect", file)
    assert done.status == 0
    assert "scale" in done.out
    assert "plain" in done.out
    document = kernlens("inspect", file, "--json").document
    (outer,) = document["containers"]
    assert outer["kind"] == "neo-elf"
    assert [inner["kind"] for inner in outer["containers"]] == ["patch-tokens", "debug-data"]
    (program,) = document["programs"]
    assert (program["device"], program["build_options"]) == ("skl", "-gline-tables-only")
    assert [kernel["simd"] for kernel in program["kernels"]] == [16, 16]
    assert "instructions" not in program["kernels"][0]


def test_disasm_prints_the_instructions_of_a_kernel(kernlens: Kernlens, file: Path) -> None:
    done = kernlens("disasm", file, "--kernel", "plain")
    assert done.status == 0
    assert done.out.count("mov r") == 3
    assert "scale  " not in done.out
    (program,) = kernlens("disasm", file, "--json").document["programs"]
    first = program["kernels"][0]["instructions"][1]
    assert first == {"offset": 16, "size": 16, "opcode": "mov", "text": "mov r16"}


def test_annotate_prints_source_lines_as_text_and_json(kernlens: Kernlens, file: Path) -> None:
    (file.parent / "scale.cl").write_text(SOURCE)
    text = kernlens("annotate", file, "--kernel", "scale").out
    assert "int id = get_global_id(0);" in text
    (program,) = kernlens("annotate", file, "--kernel", "scale", "--json").document["programs"]
    assert program["sources"] == [{"path": "scale.cl", "text": SOURCE}]
    places = [(instruction["path"], instruction["line"]) for instruction in program["kernels"][0]["instructions"]]
    assert places == [("scale.cl", 2), ("scale.cl", 2), ("scale.cl", 3)]


def test_annotate_one_line_and_back(kernlens: Kernlens, file: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(kernlens("annotate", file, "--line", "3", "--format", "csv").out)))
    assert [(row["offset"], row["line"]) for row in rows] == [("32", "3")]
    assert "scale.cl:3:5" in kernlens("annotate", file, "--kernel", "scale", "--offset", "0x20").out
    assert "no instruction came from line 9" in kernlens("annotate", file, "--kernel", "scale", "--line", "9").err
    done = kernlens("annotate", file, "--kernel", "plain", "--line", "3")
    assert (
        "no line information for line 3 in the chosen kernels, and others were not looked at: the debug data"
        in done.err
    )


def test_annotate_takes_the_source_from_a_root_or_by_name(kernlens: Kernlens, file: Path) -> None:
    (file.parent / "elsewhere").mkdir()
    source = file.parent / "elsewhere" / "scale.cl"
    source.write_text(SOURCE)
    assert "a[id] *= 2;" not in kernlens("annotate", file).out
    assert "a[id] *= 2;" in kernlens("annotate", file, "--source-root", source.parent).out


@pytest.mark.parametrize(
    ("name", "words", "beginning"),
    [
        ("x.JSON", (), "{"),
        ("x.csv", (), "program,"),
        ("x.txt", (), "scale"),
        ("json", (), "scale"),
        ("x.json", ("--format", "csv"), "program,"),
        ("x.html", ("--json",), "{"),
    ],
)
def test_the_output_s_ending_chooses_the_format(
    name: str, words: tuple[str, ...], beginning: str, kernlens: Kernlens, file: Path, tmp_path: Path
) -> None:
    assert kernlens("annotate", file, "-o", tmp_path / name, *words).status == 0
    assert (tmp_path / name).read_text().startswith(beginning)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--line", "x"), "--line needs a number, not 'x'"),
        (("--offset", "x"), "--offset needs a number, not 'x'"),
        (("--offset", "4096"), "no selected kernel has an instruction at offset 0x1000"),
        (("--kernel", "skal"), "there is no kernel 'skal'; the binary holds scale"),
        (("--device", "dg2"), "the file contains no program for dg2"),
        (("--device", "dg3"), "dg2"),
        (("--format", "html"), "'text', 'json', 'csv'"),
        (("-o", "x.html"), "kernlens report PATH -o x.html"),
        (("--format", "csv", "-o", "/nowhere/x.csv"), "cannot write /nowhere/x.csv"),
    ],
)
def test_what_annotate_refuses(words: tuple[str, ...], sentence: str, kernlens: Kernlens, file: Path) -> None:
    done = kernlens("annotate", file, *words)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("verb", READING)
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"kernel void f() {}\n", "no target device"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "PNG image"),
        (bytes(range(0, 256, 3)), "--device D"),
        (b"CTNI" + bytes(10), "patch-tokens"),
    ],
    ids=["empty", "source", "picture", "noise", "cut"],
)
def test_what_is_no_binary(verb: str, content: bytes, sentence: str, kernlens: Kernlens, file: Path) -> None:
    file.write_bytes(content)
    done = kernlens(verb, file)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert done.err.count("\n") == 1 or sentence == "no target device"


@pytest.mark.parametrize("verb", READING[1:])
def test_spirv_holds_no_machine_code(verb: str, kernlens: Kernlens, tmp_path: Path) -> None:
    (tmp_path / "module.spv").write_bytes(spirv())
    done = kernlens(verb, tmp_path / "module.spv")
    assert done.status == 2
    assert "module.spv: add --device D, such as dg2" in done.err


@pytest.mark.parametrize("verb", READING[1:])
def test_a_binary_without_kernels_is_compiled_all_the_same(verb: str, kernlens: Kernlens, tmp_path: Path) -> None:
    path = tmp_path / "functions.bin"
    path.write_bytes(neo_elf([(0xFF000005, program()), (0xFF000009, spirv())]))
    done = kernlens(verb, path)
    assert done.status == 2
    assert "has no machine code, but its SPIR-V holds work; build it: kernlens compile" in done.err


def test_extract_writes_the_files_that_it_lists(kernlens: Kernlens, file: Path) -> None:
    folder = file.parent / "parts"
    document = kernlens("extract", file, "-o", folder, "--json").document
    assert document["folder"] == str(folder)
    for part in document["parts"]:
        assert (folder / part["path"]).stat().st_size == part["size"]
    assert any(part["path"].endswith("scale.gen") for part in document["parts"])
    assert "scale.gen" in kernlens("extract", file, "-o", folder).out


def test_extract_stays_in_its_folder(kernlens: Kernlens, file: Path) -> None:
    outside, folder = file.parent / "outside", file.parent / "parts"
    outside.mkdir()
    folder.mkdir()
    (folder / "programs").symlink_to(outside)
    done = kernlens("extract", file, "-o", folder)
    assert done.status == 2
    assert "is a symbolic link out of" in done.err
    assert list(outside.iterdir()) == []
    assert "cannot write" in kernlens("extract", file, "-o", file).err


def test_a_recording_is_read_as_a_file_is(kernlens: Kernlens, tmp_path: Path) -> None:
    from kernlens.recording.writer import RecordingWriter

    path = tmp_path / "x.klens"
    with RecordingWriter(path) as writer:
        writer.add(FAILED)
    done = kernlens("disasm", path)
    assert done.status == 2
    reason = "the only build failed: broken for dg2 by newest: it does not compile: error: x"
    assert f"contains no kernels: {reason} (kernlens inspect {path} --log shows the log)" in done.err
    with RecordingWriter(path, overwrite=True) as writer:
        writer.add(FULL)
    path.write_bytes(path.read_bytes()[:5000])
    done = kernlens("inspect", path)
    assert done.status == 2
    assert "Traceback" not in done.err
    assert done.err.count("\n") == 1


def test_a_line_of_ptx_is_in_the_file_not_in_its_folder(kernlens: Kernlens, tmp_path: Path) -> None:
    """LLVM writes ``.file`` with a folder before the name."""
    path = tmp_path / "x.ptx"
    head = '.version 7.0\n.target sm_70\n.address_size 64\n\t.file\t1 "/tmp/kernels" "blur.cl"\n'
    path.write_text(f"{head}.visible .entry k()\n{{\n.reg .b32 %r<2>;\n.loc 1 7 3\nadd.s32 %r1, %r1, 1;\nret;\n}}\n")
    done = kernlens("stages", path, "--line", "blur.cl:7")
    assert (done.status, done.err) == (0, "")
    assert "\n/tmp/kernels/blur.cl:7\n" in done.out
    assert kernlens("stages", path, "--line", "kernels:7").status == 1
    done = kernlens("stages", path, "--kernel", "nothere")
    assert done.err == "kernlens: all stages here are of whole programs; whether these hold nothere was not looked at\n"
    assert "patch-token programs and in AMD code objects" in kernlens("symbols", path).err
    assert "code objects" not in kernlens("link", path).err


def test_a_file_that_a_command_names_twice_is_not_overwritten(kernlens: Kernlens, file: Path, tmp_path: Path) -> None:
    for name in ("report.xml", "here/../report.xml"):
        (tmp_path / "here").mkdir(exist_ok=True)
        (tmp_path / "report.xml").write_text("what was there")
        words = ("check", file, "--max-code-size", "0", "--junit", tmp_path / "report.xml", "--sarif", tmp_path / name)
        done = kernlens(*words)
        assert (done.status, "is named twice in this command" in done.err) == (2, True)
        assert (tmp_path / "report.xml").read_text() == "what was there"
