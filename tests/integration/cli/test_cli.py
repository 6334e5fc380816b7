"""The command as users meet it: real files, real exit codes, one sentence for bad input."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.build import Built
from tests.documents import check_printed
from tests.explore_reader import Page
from tests.unit.package.test_package import modules_of

KERNEL = "sharpen_mix"


def kernlens(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", "from kernlens.cli.main import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=cwd,
        env=os.environ | environment,
    )
    check_printed(arguments, done.stdout)
    return done


def answer(*arguments: str | Path, **environment: str) -> str:
    done = kernlens(*arguments, cwd=None, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(*arguments: str | Path, status: int = 2, cwd: Path | None = None, **environment: str) -> str:
    """Standard error of a command that must fail, without a traceback."""
    done = kernlens(*arguments, cwd=cwd, **environment)
    assert done.returncode == status, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def recording(darktable_kernels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "sharpen.klens"
    table = answer("compile", darktable_kernels / "sharpen.cl", "--device", "skl,dg2", "-o", path)
    assert re.search(rf"{KERNEL} +dg2 +32 +128 ", table)
    return path


#: What only recordings, kept stages, compilers, and devices that the system's libiga64 does not know need.
NOT_FOR_A_FILE = {
    *(".loading.stage_maps", ".loading.stated_places", ".model.stage", ".recording.reader", ".toolchain.toolchains"),
    *(
        "ctypes",
        "json",
        "logging",
        "orjson",
        "pathlib",
        "pickle",
        "rich",
        "shutil",
        "sqlite3",
        "subprocess",
        "tempfile",
    ),
}


def test_annotate_loads_no_more_than_it_needs(binary: Path) -> None:
    modules = modules_of("annotate", str(binary), "--kernel", KERNEL)
    assert {".isa.intel.decode", ".formats.dwarf.line_program", ".report.listing"} <= modules
    assert not modules & NOT_FOR_A_FILE


@pytest.fixture(scope="module")
def binary(corpus_sample: list[Built]) -> Path:
    return next(built.binary for built in corpus_sample if built.name == "darktable/sharpen@dg2")


def test_a_compile_takes_sources_to_annotated_lines(recording: Path) -> None:
    listing = answer("annotate", recording, "--kernel", KERNEL, "--device", "dg2")
    assert re.search(r"read_imagef\(in_a, sampleri", listing)
    assert re.search(r"0x[0-9a-f]{4} +send\.smpl", listing)


def test_one_line_and_back(recording: Path) -> None:
    chosen = (recording, "--kernel", KERNEL, "--device", "dg2")
    rows = list(csv.DictReader(io.StringIO(answer("annotate", *chosen, "--line", "sharpen.cl:142", "--format", "csv"))))
    assert rows
    assert {row["line"] for row in rows} == {"142"}
    place = answer("annotate", *chosen, "--offset", rows[0]["offset"])
    assert "sharpen.cl:142:" in place


def places(document: dict[str, Any]) -> list[tuple[str, int]]:
    return [
        (instruction["path"], instruction["line"])
        for program in document["programs"]
        for kernel in program["kernels"]
        for instruction in kernel["instructions"]
    ]


def test_json_holds_what_the_schema_says(recording: Path) -> None:
    document = json.loads(answer("annotate", recording, "--kernel", KERNEL, "--device", "dg2", "--json"))
    assert document["schema"] == 1
    (program,) = document["programs"]
    assert list(program) == [
        "name",
        "device",
        "format",
        "toolchain",
        "toolchain_name",
        "build_options",
        "sources",
        "disassembler",
        "kernels",
    ]
    (kernel,) = program["kernels"]
    assert list(kernel) == [
        *("name", "simd", "grf_count", "spill_bytes", "private_bytes", "stack_bytes", "scratch_bytes", "slm_bytes"),
        *("barriers", "code_size", "has_spills"),
        *("line_table", "line_table_reason", "line_warning", "functions", "undecoded", "code_warning"),
        "accesses",
        "accesses_reason",
        "instructions",
    ]
    assert list(kernel["instructions"][0]) == [
        "offset",
        "size",
        "opcode",
        "text",
        "loop_depth",
        "path",
        "line",
        "column",
        "line_origin",
        "inlined_at",
    ]
    assert sum(instruction["size"] for instruction in kernel["instructions"]) == kernel["code_size"]
    assert any("sharpen.cl" in path for path, _ in places(document) if path is not None)
    assert KERNEL in program["sources"][0]["text"]
    bare = json.loads(answer("disasm", recording, "--kernel", KERNEL, "--device", "dg2", "--json"))
    assert list(bare["programs"][0]["kernels"][0]["instructions"][0]) == ["offset", "size", "opcode", "text"]


def test_inspect_shows_the_containers_within_containers(binary: Path) -> None:
    document = json.loads(answer("inspect", binary, "--json"))
    (outer,) = document["containers"]
    assert outer["kind"] == "neo-elf"
    assert {"patch-tokens", "debug-data", "spirv"} <= {inner["kind"] for inner in outer["containers"]}
    assert "instructions" not in document["programs"][0]["kernels"][0]
    content = binary.read_bytes()
    for inner in outer["containers"]:
        start = content[inner["offset"] : inner["offset"] + 4]
        assert start in (b"CTNI", b"\x03\x02\x23\x07")


def test_a_report_is_one_page_that_asks_for_nothing(recording: Path, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    answer("report", recording, "--kernel", KERNEL, "-o", page)
    read = Page(page.read_text("utf-8"))
    assert "default-src 'none'" in read.policy
    assert not {"src", "href"} & {name for _, values in read.tags for name in values}
    names = {name for program in read.index["programs"] for name in program["kernels"]["name"]}
    assert names == {KERNEL}


def test_extract_writes_what_the_program_holds(binary: Path, tmp_path: Path) -> None:
    listed = json.loads(answer("extract", binary, "-o", tmp_path / "parts", "--json"))
    for part in listed["parts"]:
        assert (tmp_path / "parts" / part["path"]).stat().st_size == part["size"]
    spirv = next((tmp_path / "parts").rglob("program.spv"))
    done = subprocess.run(["spirv-dis", spirv], capture_output=True, text=True, check=True)
    assert f'OpEntryPoint Kernel %{KERNEL} "{KERNEL}"' in done.stdout or KERNEL in done.stdout


def test_a_kernel_taken_out_is_decoded_as_within_its_program(binary: Path, tmp_path: Path) -> None:
    answer("extract", binary, "-o", tmp_path)
    raw = next(tmp_path.rglob(f"{KERNEL}.gen"))

    def texts(*arguments: str | Path) -> list[str]:
        document = json.loads(answer("disasm", *arguments, "--json"))
        return [instruction["text"] for instruction in document["programs"][0]["kernels"][0]["instructions"]]

    assert texts(raw, "--device", "dg2") == texts(binary, "--kernel", KERNEL)


def test_extract_stays_in_its_folder_even_behind_links(binary: Path, tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "parts"
    outside.mkdir()
    folder.mkdir()
    (folder / "programs").symlink_to(outside)
    assert "a symbolic link out of" in refusal("extract", binary, "-o", folder)
    assert list(outside.iterdir()) == []


BAD_INPUTS = {
    "empty": (b"", "is empty"),
    "picture.png": (b"\x89PNG\r\n\x1a\n" + bytes(50), "PNG image"),
    "raw.gen": (bytes(range(0, 256, 3)), "--device D"),
}


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_files_that_are_no_gpu_binary_get_a_sentence(name: str, tmp_path: Path) -> None:
    content, words = BAD_INPUTS[name]
    (tmp_path / name).write_bytes(content)
    message = refusal("inspect", tmp_path / name)
    assert words in message
    assert message.count("\n") == 1


@pytest.mark.parametrize("verb", ["inspect", "disasm", "annotate"])
def test_a_truncated_elf_names_the_place(verb: str, binary: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.bin").write_bytes(binary.read_bytes()[:3000])
    assert re.search(r"neo-elf, .*offset 0x", refusal(verb, tmp_path / "cut.bin"))


def test_unknown_names_offer_the_nearest(binary: Path, tmp_path: Path, darktable_kernels: Path) -> None:
    assert "dg2" in refusal("disasm", binary, "--device", "dg3")
    assert "sharpen_mix" in refusal("disasm", binary, "--kernel", "sharpen_mixx")
    source = darktable_kernels / "sharpen.cl"
    assert "dg2" in refusal("compile", source, "--device", "dg3", "-o", tmp_path / "x.klens")
    assert "inspect" in refusal("inspct", binary)
    (tmp_path / "sharpen.bin").write_bytes(b"")
    assert "sharpen.bin" in refusal("inspect", tmp_path / "sharpen.bim")


def test_a_syntax_error_shows_the_line_and_the_log(tmp_path: Path) -> None:
    source = tmp_path / "broken.cl"
    source.write_text("kernel void f(global int *out) {\n    out[0] = missing + 1;\n}\n", "utf-8")
    message = refusal("compile", source, "--device", "dg2", "-o", tmp_path / "x.klens", status=3)
    assert re.search(r"broken\.cl:2:14: error: .*undeclared identifier 'missing'", message)
    assert "\n      out[0] = missing + 1;\n               ^" in message


def test_an_output_that_cannot_be_written_is_said(recording: Path, darktable_kernels: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", "utf-8")
    nowhere = tmp_path / "file" / "x"
    assert "cannot write" in refusal("report", recording, "-o", nowhere)
    assert "cannot write" in refusal("extract", recording, "-o", nowhere)
    assert "written" in refusal("compile", darktable_kernels / "sharpen.cl", "--device", "skl", "-o", nowhere)


def test_spirv_lists_its_entry_points_and_has_no_machine_code_to_show(corpus_sample: Sequence[Built]) -> None:
    spirv = corpus_sample[0].spirv
    document = json.loads(answer("inspect", spirv, "--json"))
    kernels = {symbol["name"] for symbol in document["programs"][0]["symbols"] if symbol["kind"] == "kernel"}
    dis = subprocess.run(["spirv-dis", spirv], capture_output=True, text=True, check=True).stdout
    assert kernels == set(re.findall(r'OpEntryPoint Kernel %\S+ "([^"]+)"', dis))
    assert kernels
    assert "add --device D" in refusal("disasm", spirv)


def test_without_a_line_table_the_flag_is_named(darktable_kernels: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    answer(
        "compile",
        darktable_kernels / "sharpen.cl",
        "--device",
        "dg2",
        "--build-options",
        "-cl-mad-enable",
        "--no-lines",
        "-o",
        path,
    )
    document = json.loads(answer("annotate", path, "--kernel", KERNEL, "--json"))
    (kernel,) = document["programs"][0]["kernels"]
    assert kernel["line_table"] is False
    assert "-gline-tables-only" in kernel["line_table_reason"]
    assert {(instruction["path"], instruction["line"]) for instruction in kernel["instructions"]} == {(None, None)}
    assert "-gline-tables-only" in answer("annotate", path, "--kernel", KERNEL)


def test_a_debug_flag_shows_a_traceback() -> None:
    assert "Traceback" in kernlens("inspect", "/nonexistent", "--debug").stderr


def test_doctor_and_devices_know_this_machine() -> None:
    checks = {check["name"]: check for check in json.loads(answer("doctor", "--json"))["checks"]}
    assert checks["compile and decode for dg2"]["works"]
    devices = {device["name"]: device for device in json.loads(answer("devices", "--json"))["devices"]}
    assert devices["dg2"]["ip"] == "12.55.8"
    assert "system" in devices["dg2"]["compiled_by"]
    assert "system" in devices["dg2"]["simulated_by"]


@pytest.mark.parametrize("verb", ["annotate", "compile", "devices", "disasm", "doctor", "extract", "inspect", "run"])
def test_help_has_an_example(verb: str) -> None:
    assert f"kernlens {verb}" in answer(verb, "--help").split("Example:")[1]


def test_a_device_that_the_library_is_too_old_for(newest_sample: list[Built], tmp_path: Path) -> None:
    binary = next(built.binary for built in newest_sample if built.device == "bmg")
    message = refusal("disasm", binary, KERNLENS_NEWEST_ROOT="", KERNLENS_TOOLCHAINS=str(tmp_path))
    assert "install a newer libiga64" in message
    assert "bmg" in message


def test_the_printed_lines_turn_the_layer_on(tmp_path: Path) -> None:
    script = f"{answer('layer')}\nexec clinfo --raw"
    done = kernlens("run", "--simulate", "dg2", "--", "sh", "-c", script, cwd=tmp_path)
    extensions = re.findall(r"CL_(?:DEVICE|PLATFORM)_EXTENSIONS +(.*)", done.stdout)
    assert len(extensions) >= 2
    assert all("cl_codeplay_program_snapshot" in line.split() for line in extensions)
    places = json.loads(answer("layer", "--json"))
    assert (Path(places["include"]) / "CL" / "cl_codeplay_program_snapshot.h").is_file()
    assert "unset OCL_ICD_VENDORS" in answer("layer", "--unset")
