"""doctor, devices, toolchain, run and layer: what they say of a machine, which the test makes up."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from kernlens.errors import NotFoundError
from kernlens.toolchain.loaders.application import find_program
from kernlens.toolchain.loaders.native_layers import OPENCL_LAYER, needed_layer
from kernlens.toolchain.toolchains import toolchain
from kernlens.verbs import doctor
from kernlens.verbs.doctor import Check
from tests.unit.conftest import Kernlens


@pytest.mark.parametrize("verb", ["run", "capture"])
@pytest.mark.parametrize("own", ["-l", "--json", "--help"])
def test_an_option_behind_the_application_is_told_where_it_belongs(verb: str, own: str, kernlens: Kernlens) -> None:
    done = kernlens(verb, "--simulate", "dg2", "clinfo", own)
    assert (done.status, done.out) == (2, "")
    sentence = f"{own} stands behind clinfo; the application and its options follow after --"
    assert done.err.endswith(f"Error: {sentence}: kernlens {verb} --simulate dg2 -- clinfo {own}\n")
    assert "Missing argument" in kernlens(verb).err
    assert "No such option" in kernlens(verb, "-l").err
    assert "Usage: " in kernlens(verb, "--help").out


def test_the_file_of_capture_has_an_option_of_its_own(kernlens: Kernlens) -> None:
    done = kernlens("capture", "--json", "x.json", "--", "true")
    assert (done.status, done.out) == (2, "")
    assert done.err.endswith("--json takes no file: --json prints the answer, --json-file x.json writes it\n")


def test_doctor_prints_what_works_and_what_closes_a_gap(kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = [Check("one", True, "1.0"), Check("two", False, "no two", "apt install two", "replay")]
    monkeypatch.setattr(doctor, "checks", lambda: iter(checks))
    done = kernlens("doctor")
    assert done.status == 0
    assert done.out == (
        "ok       one: 1.0\n\nOptional\n-        two, for replay: no two\n         to get it: apt install two\n"
    )
    checks.append(Check("three", False, "no three"))
    done = kernlens("doctor", "--json")
    assert done.status == 1
    assert done.document["checks"][1] == {
        "name": "two",
        "works": False,
        "found": "no two",
        "fix": "apt install two",
        "needed": False,
        "serves": "replay",
    }


def test_what_doctor_offers_is_accepted(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> None:
    """A compile that fails is explained by a command of ours: it must be one that exists."""
    (compiler.parent / "binary").unlink()
    check = doctor._trial(toolchain())
    assert not check.works
    assert check.fix is not None
    program, *words = shlex.split(check.fix)
    assert program == "kernlens"
    done = kernlens(*words)
    assert (done.status, done.out.startswith("ok       native decoder")) == (1, True)
    assert "ended with status 1 after" in done.err
    assert str(compiler) in done.err


def test_devices_name_the_toolchains_that_compile_for_them(kernlens: Kernlens, compiler: Path) -> None:
    done = kernlens("devices")
    assert done.status == 0
    assert "A simulated device builds programs and runs nothing" in done.out
    devices = {device["name"]: device for device in kernlens("devices", "--json").document["devices"]}
    assert devices["skl"]["compiled_by"] == ["system"]
    assert devices["skl"]["simulated_by"] == ["system"]
    assert devices["bmg"]["compiled_by"] == []
    assert devices["dg2"]["ip"] == "12.55.8"


def make_root(folder: Path) -> Path:
    for name in ("usr/bin/ocloc-26.27.1", "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def test_toolchains_are_listed_added_and_removed(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    done = kernlens("toolchain", "add", "mine", "--root", root)
    assert done.status == 0
    assert done.out == f"mine: NEO unknown / IGC unknown in {root}\n"
    assert str(root) in kernlens("toolchain", "list").out
    system, mine = kernlens("toolchain", "list", "--json").document["toolchains"]
    assert (system["name"], system["neo_version"], system["ocloc"]) == ("system", "22.43.24595", str(compiler))
    assert (mine["name"], mine["root"]) == ("mine", str(root))
    assert kernlens("toolchain", "remove", "mine").out == "mine is removed\n"
    added = kernlens("toolchain", "add", "mine", "--root", root, "--json").document["added"]
    assert added in kernlens("toolchain", "list", "--json").document["toolchains"]
    assert kernlens("toolchain", "remove", "mine", "--json").document["removed"] == "mine"
    done = kernlens("toolchain", "remove", "mine")
    assert done.status == 2
    assert "there is no toolchain 'mine'; there are: system" in done.err
    done = kernlens("toolchain", "add", "mine", root)
    assert (done.status, f"is registered with --root {root}." in done.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("add", "system"), "the toolchain system is the machine's own"),
        (("add", "../x"), "cannot name a toolchain"),
        (("add", "mine", "--root", "/nowhere"), "there is no folder /nowhere"),
        (("add",), "Missing argument 'NAME'"),
        (("lst",), "lst"),
    ],
)
def test_what_toolchain_refuses(words: tuple[str, ...], sentence: str, kernlens: Kernlens) -> None:
    done = kernlens("toolchain", *words)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_run_becomes_the_application(kernlens: Kernlens, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execve", lambda *words: started.append(words))
    for change in ("cli.run.limit_file_size", "toolchain.loaders.application.restore_signals"):
        # They are for good, and this process lives on.
        monkeypatch.setattr(f"kernlens.{change}", lambda *_: None)
    done = kernlens("run", "--simulate", "skl", "--", "env", "--debug", "-0")
    assert (done.status, done.out) == (0, "")
    assert "The device is simulated" in done.err
    ((program, words, environment),) = started
    assert Path(program).name == "env"
    assert words == ["env", "--debug", "-0"]
    assert environment["ProductFamilyOverride"] == "skl"


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (
            ("--simulate", "bmg", "--", "env"),
            2,
            "does not simulate 'bmg', which is newer; kernlens toolchain add newest",
        ),
        (("--simulate", "skl", "--", "no-such-program"), 2, "there is no program no-such-program; give its path"),
        (("--simulate", "skl", "--", "/"), 3, "cannot start /: it is a folder"),
        (("--simulate", "skl", "--", __file__), 3, "is not executable"),
        (("--", "env"), 2, "Missing option '--simulate'"),
    ],
)
def test_what_run_refuses(
    words: tuple[str, ...], status: int, sentence: str, kernlens: Kernlens, compiler: Path
) -> None:
    done = kernlens("run", *words)
    assert (done.status, done.out) == (status, "")
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_layer_prints_variables_that_turn_it_on_and_off(kernlens: Kernlens) -> None:
    document = kernlens("layer", "--json").document
    ours = document["environment"]["OCL_ICD_VENDORS"]
    on, off = kernlens("layer").out, kernlens("layer", "--unset").out
    names = ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "KERNLENS_OCL_ICD_VENDORS", "KERNLENS_OCL_ICD_FILENAMES")

    def led(*lines: str, **before: str) -> list[str]:
        script = "set -e\n" + "\n".join([*lines, *(f'echo "${{{name}-none}}"' for name in names)])
        environment = {"PATH": os.environ["PATH"], **before}
        done = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True, env=environment)
        return done.stdout.splitlines()

    both = {"OCL_ICD_VENDORS": "/a b", "OCL_ICD_FILENAMES": "/c.so:/d.so"}
    assert led(on) == led(on, on) == [ours, "none", "none", "none"]
    assert led(on, **both) == led(on, on, **both) == [ours, "none", "/a b", "/c.so:/d.so"]
    assert led(on, OCL_ICD_VENDORS="") == [ours, "none", "", "none"]
    assert led(off) == led(on, off) == led(off, on, off) == ["none"] * 4
    assert (
        led(off, **both)
        == led(on, off, **both)
        == led(on, on, off, off, **both)
        == ["/a b", "/c.so:/d.so", "none", "none"]
    )
    assert Path(ours, "kernlens.icd").read_text() == f"{needed_layer(OPENCL_LAYER)}\n"
    assert (Path(document["include"]) / "CL/cl_codeplay_program_snapshot.h").is_file()


def test_an_installation_without_the_layer(kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernlens.toolchain.loaders.native_layers.files", lambda package: tmp_path)
    done = kernlens("layer")
    assert done.status == 2
    assert "has no OpenCL layer" in done.err


def completed(kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch, *words: str | os.PathLike[str]) -> list[str]:
    """What a shell would offer for the last of the words."""
    with monkeypatch.context() as patch:
        patch.setenv("_KERNLENS_COMPLETE", "bash_complete")
        patch.setenv("COMP_WORDS", shlex.join(["kernlens", *(os.fspath(word) for word in words)]))
        patch.setenv("COMP_CWORD", str(len(words)))
        done = kernlens()
    assert (done.status, done.err) == (0, "")
    return [line.partition(",")[2] for line in done.out.splitlines() if line.startswith("plain,")]


def test_shells_complete_verbs_and_options(kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed(kernlens, monkeypatch, "recording", "pr") == ["prune"]
    assert completed(kernlens, monkeypatch, "annotate", "--pre") == ["--pressure"]


def test_a_program_that_only_the_toolchain_has(tmp_path: Path) -> None:
    """On a bare machine clinfo is in the toolchain that kernlens fetched, and nowhere else."""
    program = make_root(tmp_path / "root") / "usr/bin/only-there"
    program.write_text("")
    with pytest.raises(NotFoundError, match=f"there is no program only-there; the toolchain has {program}$"):
        find_program("only-there", tmp_path / "root")
    with pytest.raises(NotFoundError, match="there is no program only-here; give its path"):
        find_program("only-here", tmp_path / "root")
