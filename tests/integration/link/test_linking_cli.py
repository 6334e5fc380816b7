"""``symbols``, ``link`` and ``compile --library`` as users meet them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.integration.cli.test_cli import answer, kernlens, refusal
from tests.limits import processor_time

LIBRARY = """\
global int counter = 5;
int helper(int x) { return x * 3 + 1; }
"""
KERNELS = """\
int helper(int x);
kernel void use(global int *out) { out[get_global_id(0)] = helper(out[0]); }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """a.cl exports, b.cl imports; both as SPIR-V and for dg2, the library once more without flags."""
    result = tmp_path_factory.mktemp("link")
    (result / "a.cl").write_text(LIBRARY)
    (result / "b.cl").write_text(KERNELS)
    done = kernlens("compile", "--library", "--device", "dg2", "a.cl", "b.cl", "--build-options", "", cwd=result)
    assert done.stdout.splitlines() == [
        "a.cl -> a.spv",
        "a.cl -> a.dg2.bin",
        "b.cl -> b.spv",
        "b.cl -> b.dg2.bin",
    ], done.stderr
    # The other entry: SPIR-V compiled without the flags.
    compiled = kernlens("compile", "a.spv", "--device", "dg2", "--build-options", "", "-o", "hidden.klens", cwd=result)
    assert compiled.returncode == 0, compiled.stderr
    return result


def test_symbols_lists_what_modules_export_and_import(folder: Path) -> None:
    text = answer("symbols", folder / "a.dg2.bin", folder / "b.dg2.bin")
    assert "helper" in text
    assert "int(int)" in text
    assert "Intel_Symbol_Table_Void_Program" in text
    document = json.loads(answer("symbols", "--json", folder / "a.dg2.bin", folder / "b.spv"))
    library, kernels = document["modules"]
    assert {
        export["name"]: (export["kind"], export["type"], export["size"])
        for export in library["exports"]
        if not export["internal"]
    } == {
        "helper": ("function", "int(int)", library["exports"][0]["size"]),
        "counter": ("variable", "int", 4),
    }
    assert library["flags"] == {"-library-compilation": True, "-ze-take-global-address": True}
    assert [symbol["name"] for symbol in kernels["imports"]] == ["helper"]
    assert kernels["kernels"] == ["use"]


def test_an_uncertain_answer_and_the_one_after_a_compile(folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "c.cl"
    source.write_text("int gone(int x);\nkernel void k(global int *out) { int no = 0; if (no) out[0] = gone(1); }\n")
    compiled = kernlens("compile", "--library", "--device", "dg2", source, "--build-options", "", cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stderr
    spirv = tmp_path / "c.spv"
    done = kernlens("link", spirv)
    assert done.returncode == 1
    assert "is uncertain: gone is used only in k of c.spv" in done.stdout
    document = json.loads(kernlens("link", spirv, "--json").stdout)
    assert (document["links"], document["doubtful"]) == (None, [{"symbol": "gone", "module": 0, "holder": "k"}])
    assert "links: ZE_RESULT_SUCCESS" in answer("link", spirv, "--compile", "--device", "dg2")
    assert "--compile needs --device" in refusal("link", spirv, "--compile")


def test_symbols_of_a_recording_name_the_missing_flags(folder: Path) -> None:
    text = answer("symbols", folder / "hidden.klens")
    assert "-library-compilation: missing: hides helper" in text
    assert "-ze-take-global-address: missing: hides counter" in text


def test_a_link_predicted(folder: Path) -> None:
    text = answer("link", folder / "b.dg2.bin", folder / "a.dg2.bin")
    assert "b.dg2.bin gets helper from a.dg2.bin" in text
    assert "dynamic link on NEO 22.43 links: ZE_RESULT_SUCCESS" in text


def test_a_no_says_what_to_change(folder: Path) -> None:
    done = kernlens("link", folder / "b.spv", folder / "a.spv")
    assert done.returncode == 1
    assert "helper: b.spv needs it in use" in done.stdout
    advice = (
        "a.spv defines it, and is built without -library-compilation here: add --build-options '-library-compilation"
    )
    assert advice in done.stdout
    assert "-library-compilation: not in --build-options: hides helper" in answer("symbols", folder / "a.spv")
    assert "static link links" in done.stdout
    answer("link", folder / "b.spv", folder / "a.spv", "--build-options-for", folder / "a.spv", "-library-compilation")

    document = json.loads(kernlens("link", "--json", folder / "b.dg2.bin", folder / "hidden.klens").stdout)
    assert document["links"] is False
    (reason,) = document["unresolved"]
    assert (reason["symbol"], reason["uses"][0]["holder"]) == ("helper", "use")
    assert reason["uses"][0]["offset"] > 0
    assert "compiled without -library-compilation" in reason["advice"]


@pytest.mark.parametrize("how", ["--dynamic", "--static"])
def test_a_link_on_a_driver(how: str, folder: Path, tmp_path: Path) -> None:
    flags: list[str | Path] = ["--build-options-for", folder / "a.spv", "-library-compilation"]
    output: list[str | Path] = ["-o", tmp_path / "linked.bin"] if how == "--static" else []
    text = answer("link", how, "--device", "dg2", folder / "b.spv", folder / "a.spv", *flags, *output)
    assert f"{how[2:]} link on dg2 links: ZE_RESULT_SUCCESS" in text
    assert "kernels that can be created: use of" in text
    if output:
        assert "use" in answer("inspect", tmp_path / "linked.bin")
    else:
        assert "Successfully Resolved Thru Dynamic Link to Module <a.spv>" in text
    alone = kernlens("link", how, "--device", "dg2", folder / "b.spv")
    assert alone.returncode == 1
    if how == "--static":
        assert "static link on dg2 builds a module that still imports helper" in alone.stdout
        assert "ZE_RESULT_SUCCESS" not in alone.stdout
    else:
        assert "dynamic link on dg2 does not link: ZE_RESULT_ERROR_MODULE_LINK_FAILURE" in alone.stdout


def test_bad_usage(folder: Path) -> None:
    module = folder / "a.spv"
    assert "name at least one module" in refusal("link")
    assert "needs --device" in refusal("link", "--dynamic", module)
    assert "a dynamic link leaves no file" in refusal("link", "--dynamic", "--device", "dg2", "-o", "x", module)
    assert "add --device D" in refusal("compile", module)
    assert "is not a driver release" in refusal("link", "--driver", "newest", module)
    assert "not among the modules" in refusal("link", module, "--build-options-for", "other.spv", "-g")
    assert "there is no device 'nonsense'" in refusal("link", "--dynamic", "--device", "nonsense", module)
    assert "add --device D" in refusal("symbols", folder / "a.cl")


def test_bad_modules(folder: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.bin"
    cut.write_bytes((folder / "a.dg2.bin").read_bytes()[:300])
    refusal("link", cut, folder / "b.spv")
    broken = tmp_path / "broken.cl"
    broken.write_text("int helper(int x) { retrn x; }\n")
    assert "broken.cl:1:21" in refusal("compile", "--library", broken, status=3, cwd=tmp_path)


def test_another_device(folder: Path, tmp_path: Path) -> None:
    compiled = kernlens("compile", "--library", "--device", "pvc", folder / "a.cl", "--build-options", "", cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stderr
    done = kernlens("link", folder / "b.dg2.bin", tmp_path / "a.pvc.bin")
    assert done.returncode == 1
    assert "different devices (b.dg2.bin for dg2, a.pvc.bin for pvc)" in done.stdout
    newest = kernlens("link", "--driver", "26.27", folder / "b.dg2.bin", folder / "a.dg2.bin")
    assert newest.returncode == 1
    assert "which NEO 26.27 does not load" in newest.stdout


def test_the_same_module_twice(folder: Path) -> None:
    done = kernlens("link", folder / "b.dg2.bin", folder / "a.dg2.bin", folder / "a.dg2.bin")
    assert done.returncode == 0
    assert "is given 2 times; kernlens uses it once" in done.stderr


def test_two_hundred_modules_at_once(folder: Path, tmp_path: Path) -> None:
    for number in range(100):
        shutil.copy(folder / "a.dg2.bin", tmp_path / f"a{number}.bin")
        shutil.copy(folder / "b.dg2.bin", tmp_path / f"b{number}.bin")
    from kernlens.analysis.linking.driver_rules import RELEASE_22_43
    from kernlens.analysis.linking.prediction import predict
    from kernlens.loading import open_file
    from tests.writers.modules import readable_modules

    paths = sorted(tmp_path.iterdir())
    with processor_time(5):
        modules = [module for path in paths for _, module in readable_modules(open_file(path))]
        forecast = predict(modules, RELEASE_22_43)
    assert forecast.links
    assert len(forecast.edges) == 100
