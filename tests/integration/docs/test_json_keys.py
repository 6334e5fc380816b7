"""docs/json.md against what the verbs print: every key is documented, and every documented key was seen. What is printed fits
the schemas in docs/schemas, and nothing fits them that lacks a key, or has one of another name or type."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernlens.cli import verb_group
from tests.documents import unnoticed
from tests.integration.annotate.test_loops_and_offsets import ROWS
from tests.integration.annotate.test_variables import PLACES
from tests.integration.docs.json_shapes import PAGE, Shape, shapes
from tests.integration.drivers.test_simulated_devices import WAITING
from tests.integration.layers.opencl_layer_fixtures import pocl
from tests.integration.stages.stage_fixtures import SMALL
from tests.tree import ROOT
from tests.warm_commands import kernlens
from tests.writers.kept_launches import READ_ONLY, WRITE_ONLY, Keeper, record_launches
from tests.writers.programs import spirv
from tests.writers.sycl_hosts import WrittenImage, assembly

#: More values at a time than 64 registers hold.
SPILLING = (
    "kernel void many(global const float *in, global float *out) {\n"
    + "".join(f"  float v{number} = in[get_global_id(0) + {number * 64}];\n" for number in range(90))
    + "  barrier(CLK_GLOBAL_MEM_FENCE);\n  out[get_global_id(0)] = "
    + " + ".join(f"v{number} * v{(number * 7 + 3) % 90}" for number in range(90))
    + ";\n}\n"
)

#: A kernel that there is advice on.
SINE = "kernel void sine(global float *a) {\n  int id = get_global_id(0);\n  a[id] = sin(a[id]);\n}\n"
HAS_OBSERVER = pytest.mark.skipif(shutil.which("oclgrind") is None, reason="no Oclgrind (Debian 12's oclgrind)")

CLI = Path(verb_group.__file__).parent
#: The modules of one link that has everything: an unresolved symbol, a duplicate, a mismatch and a circle.
MODULES = {
    "a.cl": """\
global int counter = 5;
int f(int x);
int h(int x);
int missing(int x);
int g(int x) { return f(x) + counter; }
kernel void k(global int *out) { out[0] = g(1) + h(2) + missing(3); }
""",
    "b.cl": "int g(int x);\nint f(int x) { return g(x); }\n",
    "c.cl": "int f(int x) { return x; }\nfloat h(float x) { return x; }\n",
    # A use that the compiler may drop; a caller and a function for different registers.
    "e.cl": "int gone(int x);\nkernel void k(global int *out) { int no = 0; if (no) out[0] = gone(1); }\n",
    "u.cl": "int v(int x);\nkernel void u(global int *out) { out[0] = v(1); }\n",
    "v.cl": "int v(int x) { return x * 3; }\n",
    "d.cl": "static int inside(int x) { return x; }\nint missing(int x) { return inside(x); }\n",
}

GEMMS = ROOT / "examples/generated"
TRIPS = ("stated_loops", "weighed_bytes", "weighed_cycles", "weighed_instructions")
#: The keys that a document need not have, by the verb: an option or a fact adds them.
OPTIONAL = {
    "advise": {"bound", "causes", "notes", "paths", "proofs", "tried"},
    "annotate": {"has_spills", "inlined", "live", "phases", "trailer", "unread_sources", "waits_for", *TRIPS},
    "compile": {"log", "messages"},
    "disasm": {"has_spills", "trailer"},
    "diff": {"behaviour", "instructions", "parting", "phases", "sources"},
    "inspect": {"has_spills", "sycl", "sycl_image", "unreadable", *TRIPS},
    "stages": {"passes"},
    "sweep": {"best", "again", "beside_best"},
}


def compare(shape: Shape, *documents: Any) -> None:
    for document in documents:
        shape.check(document, "document")
        assert document["schema"] == 1
    assert shape.unseen("document", set()) == []


def answer(*words: str | Path, cwd: Path | None = None, status: int = 0) -> Any:
    done = kernlens(*words, "--json", cwd=cwd)
    assert done.returncode == status, done.stderr
    document = json.loads(done.stdout)
    verb = str(words[0])
    assert unnoticed(verb, document) <= {f"missing {key}" for key in OPTIONAL.get(verb, ())}
    return document


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = tmp_path_factory.mktemp("json")
    for name, text in MODULES.items():
        (result / name).write_text(text)
    done = kernlens("compile", "--library", "--device", "dg2", *MODULES, "--build-options", "", cwd=result)
    assert done.returncode == 0, done.stderr
    return result


def sycl_library(folder: Path) -> str:
    (folder / "lib.s").write_text(assembly([WrittenImage(bytes(spirv()), ("kernel",))]))
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", "lib.so", "lib.s"], cwd=folder, check=True)
    return "lib.so"


def test_the_documents_of_programs(folder: Path, newest_root: Path) -> None:
    (folder / "small.cl").write_text(SMALL)
    words = ("small.cl", "--device", "dg2", "-o", "small.klens", "--build-options", "-gline-tables-only")
    done = kernlens("compile", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    (shape,) = shapes("assemble")
    done = kernlens("disasm", "small.klens", "--editable", cwd=folder)
    (folder / "small.asm").write_text(done.stdout.replace("\nL", "\n(W) mov (1|M0) r9.0<1>:ud r1.0<0;1,0>:ud\nL", 1))
    compare(shape, answer("assemble", "small.asm", "--into", "small.klens", "-o", "edited.bin", cwd=folder))
    (shape,) = shapes("inspect, disasm, annotate")
    documents = [answer(verb, "small.klens", cwd=folder) for verb in ("inspect", "disasm", "annotate")]
    documents.append(answer("inspect", sycl_library(folder), "--device", "dg2", cwd=folder))
    (folder / "called.cl").write_text("__attribute__((noinline)) " + SMALL)
    assert kernlens("compile", "called.cl", *words[1:3], "-o", "called.klens", *words[5:], cwd=folder).returncode == 0
    newest = ("--toolchain", "newest", "-o", "new.klens")
    assert kernlens("compile", "small.cl", *words[1:3], *newest, cwd=folder).returncode == 0
    documents += [answer("annotate", "called.klens", cwd=folder), answer("disasm", "new.klens", cwd=folder)]
    (library := folder / "include/sycl").mkdir(parents=True)
    (library / "f.h").write_text("float f(global float *a)\n{\n    return native_sin(a[0]) * 3.0f;\n}\n")
    (folder / "own.cl").write_text(
        '#include "include/sycl/f.h"\nkernel void k(global float *a)\n{\n    a[get_global_id(0)] = f(a);\n}\n'
    )
    assert kernlens("compile", "own.cl", *words[1:3], "-o", "own.klens", *words[5:], cwd=folder).returncode == 0
    documents.append(answer("annotate", "own.klens", "--own-lines", cwd=folder))
    (folder / "bad.cl").write_text("kernel void k() { x; }\n")
    assert kernlens("compile", "small.cl", "bad.cl", *words[1:3], "-o", "both.klens", cwd=folder).returncode == 3
    documents += [answer(verb, "both.klens", cwd=folder) for verb in ("inspect", "disasm", "annotate")]
    documents.append(answer("annotate", GEMMS / "gemm_64.zebin"))
    compare(shape, *documents, answer("inspect", "a.dg2.bin", cwd=folder))
    (folder / "spill.cl").write_text(SPILLING)
    spill_words = ("spill.cl", "--device", "dg2", "-o", "spill.klens")
    assert kernlens("stages", *spill_words, cwd=folder, IGC_VISAOptions="-TotalGRFNum 64").returncode == 0
    (folder / "sine.cl").write_text(SINE)
    assert kernlens("compile", "sine.cl", "--device", "dg2", "-o", "sine.klens", cwd=folder).returncode == 0
    for option in ("--top=3", "--pressure"):
        (shape,) = shapes(f"annotate {option.removesuffix('=3')}")
        files = [f"{name}.klens" for name in ("small", "called", "spill", "sine", "own")]
        more = [str(GEMMS / "gemm_64.zebin")] if "top" in option else []
        compare(shape, *(answer("annotate", file, option, cwd=folder) for file in [*files, *more]))
    (folder / "rows.cl").write_text(ROWS)
    done = kernlens("compile", "rows.cl", "--device", "dg2", "-o", "rows.klens", cwd=folder)
    assert done.returncode == 0, done.stderr
    trips, forms = ("--trips", "8=10", "--trips", "depth=4"), ((), ("--top=3",))
    for shape, top in zip(shapes("annotate --trips"), forms, strict=True):
        others = [answer("annotate", f"{name}.klens", *top, *trips[2:], cwd=folder) for name in ("sine", "own")]
        compare(shape, answer("annotate", "rows.klens", *top, *trips, cwd=folder), *others)
    (shape,) = shapes("annotate --offset")
    (program,) = answer("annotate", "rows.klens", cwd=folder)["programs"]
    offsets = ",".join(str(row["offset"]) for row in program["kernels"][0]["instructions"])
    own = answer("annotate", "own.klens", "--offset", offsets, cwd=folder)  # It has an inlined call.
    compare(shape, answer("annotate", "rows.klens", "--offset", f"{offsets},99999", cwd=folder), own)
    (shape,) = shapes("annotate --variable")
    (folder / "places.cl").write_text(PLACES)
    kernlens("compile", "places.cl", *words[1:3], "-o", "g.klens", "--build-options=-g", cwd=folder).check_returncode()
    of_stages = answer("annotate", "spill.klens", "--variable", "add", cwd=folder)
    compare(shape, answer("annotate", "g.klens", "--variable", "*", cwd=folder), of_stages)
    for shape, top in zip(shapes("annotate --waits"), forms, strict=True):
        compare(shape, *(answer("annotate", file, *top, "--waits", cwd=folder) for file in files))


def test_keys_of_annotate_with_samples_are_documented(tmp_path: Path) -> None:
    examples = ROOT / "examples"
    done = kernlens("compile", examples / "kernels" / "blur.cl", "--device", "dg2", "-o", "blur.klens", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (shape,) = shapes("annotate --samples")
    samples = next((examples / "samples").glob("*.csv")).read_text()
    row = next(line for line in samples.splitlines() if '"blur"' in line and line[-1].isdigit())
    (tmp_path / "s.csv").write_text(f"{samples}{row.replace('blur', 'other')}\n{_at_no_instruction(row)}\n")
    compare(shape, answer("annotate", "blur.klens", "--samples", "s.csv", cwd=tmp_path))


def _at_no_instruction(row: str) -> str:
    cells = row.split(",")
    return ",".join([cells[0], "       00000003", *cells[2:]])


@HAS_OBSERVER
def test_keys_of_advise_are_documented(tmp_path: Path) -> None:
    plain, tried, _ = shapes("advise")
    (tmp_path / "sine.cl").write_text(SINE)
    words = ("advise", "sine.cl", "--device", "dg2")
    launch = ("--size", "64", "--group", "16", "--arg", "ramp:float:64", "-o", "sine.klens")
    answer("observe", *words[1:], *launch, cwd=tmp_path)
    observed = answer("advise", "sine.klens", cwd=tmp_path)
    compare(plain, answer(*words, cwd=tmp_path), observed)
    compare(tried, answer(*words, "--try", "-D", "id=1,:", cwd=tmp_path), observed)


def test_keys_of_recording_are_documented(folder: Path) -> None:
    kernlens("compile", "b.cl", "c.spv", "--device", "dg2", "-o", "both.klens", cwd=folder)
    listed, written, sets = shapes("recording list")
    compare(sets, answer("recording", "options", "both.klens", cwd=folder))
    compare(listed, answer("recording", "list", "both.klens", cwd=folder))
    compare(written, answer("recording", "prune", "both.klens", "--drop", "logs", cwd=folder))


def test_keys_of_symbols_are_documented(folder: Path) -> None:
    (shape,) = shapes("symbols")
    # Without -library-compilation SPIR-V offers functions that stay hidden.
    assembly = (
        "OpCapability Addresses\nOpCapability Linkage\nOpCapability Kernel\nOpMemoryModel Physical64 OpenCL\n"
        "OpDecorate %constant SpecId 7\n%int = OpTypeInt 32 0\n%constant = OpSpecConstant %int 1\n"
    )
    (folder / "special.spvasm").write_text(assembly)
    command = ["spirv-as", "--target-env", "spv1.2", "-o", "special.spv", "special.spvasm"]
    subprocess.run(command, check=True, timeout=60, cwd=folder)
    compare(shape, answer("symbols", "b.spv", "a.dg2.bin", "special.spv", cwd=folder))


def test_link_predicted_and_on_a_driver(folder: Path) -> None:
    predicted, live = shapes("link")
    flags = ("--build-options", "-library-compilation")
    large = ("--device", "pvc", "--build-options", "-ze-opt-large-register-file")
    assert kernlens("compile", "--library", "u.cl", *large, cwd=folder).returncode == 0
    assert kernlens("compile", "--library", "v.cl", "--device", "pvc", cwd=folder).returncode == 0
    compare(
        predicted,
        answer("link", "a.spv", "b.spv", "c.spv", *flags, cwd=folder, status=1),
        answer("link", "e.spv", *flags, cwd=folder, status=1),
        answer("link", "u.pvc.bin", "v.pvc.bin", cwd=folder),
    )
    on_dg2 = ("link", "--dynamic", "--device", "dg2")
    compare(live, answer(*on_dg2, "c.spv", "d.spv", *flags, cwd=folder), answer(*on_dg2, "a.spv", cwd=folder, status=1))


def test_keys_of_stages_are_documented(tmp_path: Path) -> None:
    listed, chosen, differing, followed = shapes("stages")
    source, recording = tmp_path / "small.cl", tmp_path / "small.klens"
    source.write_text(SMALL)
    compare(listed, answer("stages", source, "--device", "skl", "--all-passes", "-o", recording))
    ask = ("stages", recording)
    text, binary = (answer(*ask, "--stage", "spirv", "--form", form) for form in ("text", "binary"))
    compare(chosen, text, binary)
    compare(differing, answer(*ask, "--diff", "llvm-unified", "llvm-optimized"))
    compare(followed, answer(*ask, "--line", "5", "--all-passes"))


def test_keys_of_layer_are_documented(tmp_path: Path) -> None:
    shape, capturing = shapes("layer")
    compare(shape, answer("layer"))
    compare(capturing, answer("layer", "--capture", tmp_path / "x.klens"))


_LAUNCHING = """
import pyopencl
context = pyopencl.create_some_context(False)
queue = pyopencl.CommandQueue(context)
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 256)
program = pyopencl.Program(context, "kernel void zero(global int *a) { a[get_global_id(0)] = 0; }").build()
program.zero(queue, (64,), None, buffer)
queue.finish()
"""


def test_keys_of_capture_are_documented(tmp_path: Path) -> None:
    (shape,) = shapes("capture")
    path = tmp_path / "answer.json"
    where = ("--simulate", "dg2", "--build-options", "-DEXTRA", "-o", tmp_path / "x.klens", "--json-file", path)
    done = kernlens("capture", *where, "--", sys.executable, "-c", WAITING, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    timed = ("--time", "-o", tmp_path / "y.klens", "--json-file", tmp_path / "timed.json")
    environment = pocl(tmp_path / "cache").environment
    done = kernlens("capture", *timed, "--", sys.executable, "-c", _LAUNCHING, cwd=tmp_path, **environment)
    assert done.returncode == 0, done.stderr
    compare(shape, json.loads(path.read_text()), json.loads((tmp_path / "timed.json").read_text()))


def test_keys_of_compile_are_documented(folder: Path) -> None:
    built, modules = shapes("compile")
    (folder / "good.cl").write_text(SMALL)
    words = ("compile", "good.cl", "bad.cl", "--device", "dg2", "-o", "both.klens")
    (folder / "bad.cl").write_text("int f(int x) { return x; }\nkernel void k() { f(1, 2); }\n")
    compare(built, answer(*words, "--log", cwd=folder, status=3), answer(*words, cwd=folder, status=3))
    (logs,) = shapes("inspect --log")
    compare(logs, answer("inspect", "both.klens", "--log", cwd=folder))
    compare(modules, answer("compile", "--library", "good.cl", "--device", "dg2", cwd=folder))


def test_keys_of_sweep_are_documented(folder: Path) -> None:
    shape, _ = shapes("sweep")
    (folder / "good.cl").write_text(SMALL)
    (folder / "bad.cl").write_text("kernel void k() { x; }\n")
    (folder / "rolled.cl").write_text(
        "kernel void rolled(global float *a) { float sum = 0;"
        " __attribute__((opencl_unroll_hint(N))) for (int i = 0; i < 16; i++) sum += a[i]; a[0] = sum; }\n"
    )
    by = ("--best", "--weigh", "instructions")
    words = ("sweep", "good.cl", "bad.cl", "rolled.cl", "--device", "dg2", "-D", "N=16,1", *by)
    compare(shape, answer(*words, cwd=folder, status=3))


def test_keys_of_diff_are_documented(tmp_path: Path, newest_root: Path) -> None:
    """An edited line, an edited macro, and a kernel that only the old or the new side has."""
    (shape,) = shapes("diff")
    scaled = "constant int T[4] = {SCALE, 1, 5}; kernel void scaled(global int *a) { a[9] *= SCALE * T[a[8] & 3]; }\n"
    (tmp_path / "old.cl").write_text(
        f"#define SCALE 2\n{SMALL}{scaled}kernel void removed(global int *a) {{ a[7] = 5; }}\n"
    )
    edited = SMALL.replace("sum += x * i", "sum += x - i")
    (tmp_path / "new.cl").write_text(f"#define SCALE 3\n{edited}{scaled}kernel void added() {{}}\n")
    words = ("--device", "dg2", "--lines", "--stages", "--all-passes")
    documents = [answer("diff", "old.cl", "new.cl", *words, cwd=tmp_path, status=1)]
    for side, text, others in (("old", SMALL, "kernel void f() {}\n"), ("new", f"{SMALL}//\n", "no\n")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "same.cl").write_text(text)
        (tmp_path / side / "hunks.cl").write_text(f"kernel void {side}() {{}}\n{SMALL if side == 'old' else edited}")
        (tmp_path / side / "other.cl").write_text(others)
        window = (ROOT / "examples/kernels/window.cl").read_text()
        narrower = window.replace("WIDTH 32", "WIDTH 16") if side == "new" else window  # which spills less
        (tmp_path / side / "window.cl").write_text(narrower)
    documents.append(answer("diff", "old", "new", "--device", "dg2", cwd=tmp_path, status=3))
    (tmp_path / "renamed.cl").write_text((tmp_path / "old.cl").read_text().replace("void scaled(", "void scales("))
    documents.append(answer("diff", "old.cl", "renamed.cl", "--device", "dg2", cwd=tmp_path, status=1))
    documents.append(answer("diff", ROOT / "examples/kernels/blur.cl", "--device", "dg2,gfx1030", status=1))
    compare(shape, *documents, answer("diff", GEMMS / "gemm_32.zebin", GEMMS / "gemm_64.zebin", status=1))


def test_keys_of_check_are_documented(tmp_path: Path) -> None:
    (shape,) = shapes("check")
    (tmp_path / "old.cl").write_text(SMALL)
    (tmp_path / "new.cl").write_text(SMALL.replace("sum += x * i", "sum += sqrt(x) / i") + "kernel void added() {}\n")
    for name in ("old", "new"):
        words = ("compile", f"{name}.cl", "--device", "dg2", "-o", f"{name}.klens")
        assert kernlens(*words, cwd=tmp_path).returncode == 0
    (tmp_path / "kernlens.toml").write_text('[kernel."*".device.pvc]\nmax-spill-bytes = 0\n')
    documents = [
        answer("check", "new.klens", "--baseline", "old.klens", "--max-code-size", "1", cwd=tmp_path, status=1),
        answer("check", "old.klens", "--baseline", "new.klens", cwd=tmp_path, status=0),
    ]
    (tmp_path / "kernlens.toml").write_text("[kernel.added]\nmax-spill-bytes = 0\n")
    documents.append(answer("check", "new.klens", cwd=tmp_path))
    compare(shape, *documents)


@HAS_OBSERVER
def test_keys_of_observe_are_documented(tmp_path: Path) -> None:
    (shape,) = shapes("observe")
    (tmp_path / "k.cl").write_text(
        "float f(global float *a, int i)\n{\n    return a[i];\n}\nkernel void k(global float *a)\n{\n"
        "    for (int i = 0; i < get_local_id(0); i++)\n        a[0] += f(a, i);\n    barrier(CLK_GLOBAL_MEM_FENCE);\n}\n"
    )
    words = ("k.cl", "--size", "64", "--group", "64", "--arg", "zeros:float:64", "--device", "h100")
    compare(shape, answer("observe", *words, cwd=tmp_path))


@pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="no PoCL")
def test_keys_of_replay_are_documented(tmp_path: Path) -> None:
    replayed, listed, observed, exported = shapes("replay")
    source = "kernel void k(global float *a, global float *b) { int i = get_global_id(0); b[i] = exp(a[i]) * BY; }"
    keeper = Keeper(source, "-DBY=2.0f")
    arguments: list[Any] = [[bytes(range(64)), READ_ONLY], [bytes(64), WRITE_ONLY]]
    path = record_launches(tmp_path / "a.klens", keeper.build, keeper.launch("k", arguments, [16], [4]))
    words: tuple[str | Path, ...] = ("replay", path, "--build-options=-DBY=3.0f", "--runs", "6")
    compare(replayed, answer(*words, status=1), answer("replay", path, "--profile", "env", "--runs", "1"))
    compare(listed, answer("replay", path, "--list"))
    assert [*observed.keys][-1] == "observed"
    compare(exported, answer("replay", path, "--export", tmp_path / "out"))


def test_keys_of_extract_are_documented(folder: Path, tmp_path: Path) -> None:
    (shape,) = shapes("extract")
    document = answer("extract", "a.dg2.bin", "-o", tmp_path / "parts", cwd=folder)
    compare(shape, document)
    assert all((tmp_path / "parts" / part["path"]).stat().st_size == part["size"] for part in document["parts"])


@pytest.mark.parametrize("words", ["devices", "toolchain list", "doctor"])
def test_what_is_here(words: str) -> None:
    (shape,) = shapes(words)
    done = kernlens(*words.split(), "--json")
    assert done.returncode in (0, 1), done.stderr
    compare(shape, json.loads(done.stdout))


def test_every_verb_that_prints_json_is_on_the_page() -> None:
    headings = {
        word for line in re.findall(r"^## (.*)$", PAGE.read_text(), re.MULTILINE) for word in re.split(r"[, ]+", line)
    }
    sources = {verb: (CLI / f"{verb}.py").read_text() for verb in verb_group.VERBS}
    prints = {verb for verb, text in sources.items() if "= option.json()" in text or "(option.Answer" in text}
    assert prints == headings - {"list", "add", "remove"} - {word for word in headings if word.startswith("--")}


def test_report_and_toolchains(tmp_path: Path, folder: Path) -> None:
    (shape,) = shapes("report")
    (folder / "good.cl").write_text(SMALL)
    assert kernlens("compile", "good.cl", "--device", "dg2", "-o", "good.klens", cwd=folder).returncode == 0
    compare(shape, answer("report", folder / "good.klens", "-o", tmp_path / "x.html"))
    changes = [list(each.keys) for each in shapes("toolchain add, remove")]
    assert changes == [["schema", "added"], ["schema", "removed"]]
    assert [list(each.keys) for each in shapes("serve")] == [["schema", "title", "address"]]
