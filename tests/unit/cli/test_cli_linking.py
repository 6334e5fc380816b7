"""symbols and link, on SPIR-V modules that the test writes."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from kernlens import load
from kernlens.errors import KernlensError
from kernlens.isa.devices import device
from kernlens.runtime.driver_environment import DriverEnvironment
from tests.unit.conftest import Kernlens
from tests.writers.programs import binary, decoded, spirv

LIBRARY = ("--build-options", "-library-compilation")


@pytest.fixture
def modules(tmp_path: Path) -> tuple[Path, Path]:
    """A module that uses ``square``, and one that offers it."""
    user, library = tmp_path / "user.spv", tmp_path / "library.spv"
    user.write_bytes(spirv(imports="square"))
    library.write_bytes(spirv(exports="square"))
    return user, library


def test_symbols_prints_imports_and_exports(kernlens: Kernlens, modules: tuple[Path, Path]) -> None:
    done = kernlens("symbols", *modules, *LIBRARY)
    assert done.status == 0
    assert done.out.count("square") >= 2
    user, library = kernlens("symbols", *modules, *LIBRARY, "--json").document["modules"]
    assert [symbol["name"] for symbol in user["imports"]] == ["square"]
    assert [export["name"] for export in library["exports"]] == ["square"]
    _, hidden = kernlens("symbols", *modules, "--json").document["modules"]
    assert (hidden["exports"], [symbol["name"] for symbol in hidden["hidden"]]) == ([], ["square"])


def test_modules_that_link(kernlens: Kernlens, modules: tuple[Path, Path]) -> None:
    done = kernlens("link", *modules, *LIBRARY)
    assert done.status == 0
    assert "square" in done.out
    assert kernlens("link", *modules, *LIBRARY, "--json").document["links"] is True


def test_modules_that_do_not(kernlens: Kernlens, modules: tuple[Path, Path]) -> None:
    user, library = modules
    done = kernlens("link", user)
    assert (done.status, "square" in done.out) == (1, True)
    assert "Traceback" not in done.err
    done = kernlens("link", user, library, "--json")
    assert done.status == 1
    assert done.document["links"] is False


def test_a_module_named_twice_counts_once(kernlens: Kernlens, modules: tuple[Path, Path]) -> None:
    user, library = modules
    done = kernlens("link", user, library, library, *LIBRARY)
    assert done.status == 0
    assert f"{library} is given 2 times; kernlens uses it once" in done.err


def test_options_of_one_module(kernlens: Kernlens, modules: tuple[Path, Path]) -> None:
    user, library = modules
    assert kernlens("link", user, library, "--build-options-for", library, LIBRARY[1]).status == 0
    assert kernlens("link", user, library, "--build-options-for", user, LIBRARY[1]).status == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--dynamic",), "--dynamic needs --device"),
        (("--dynamic", "--static", "--device", "dg2"), "--dynamic and --static exclude each other; remove --static"),
        (("-o", "x.bin"), "-o needs --static"),
        (("--driver", "newest"), "22.43, 26.27"),
        (("--build-options-for", "other.spv", "-g"), "other.spv, which is not among the modules"),
    ],
)
def test_what_link_refuses(
    words: tuple[str, ...], sentence: str, kernlens: Kernlens, modules: tuple[Path, Path]
) -> None:
    done = kernlens("link", *modules, *words)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_a_damaged_module_is_named(kernlens: Kernlens, modules: tuple[Path, Path]) -> None:
    user, library = modules
    content = bytearray(library.read_bytes())
    content[-4:] = b"\xff\xff\xff\x7f"
    library.write_bytes(content)
    for verb in ("link", "symbols"):
        done = kernlens(verb, user, library)
        assert done.status == 2
        assert "library.spv: spirv" in done.err, verb


@pytest.mark.parametrize("verb", ["symbols", "link", "inspect", "disasm"])
def test_a_device_is_called_by_any_of_its_names(
    verb: str, kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)
    path = tmp_path / "k.bin"
    path.write_bytes(binary())
    names = [str(program.device) for program in load(path)]
    first = kernlens(verb, path, "--device", *names)
    assert first.status == 0
    known = device(*names)
    for other in (*known.aliases, str(known.ip)):
        assert kernlens(verb, path, "--device", other) == first
    done = kernlens(verb, path, "--device", "dg2")
    assert done.status != 0
    assert "for dg2" in done.err


def test_modules_for_any_device_go_to_the_machine_s_own(
    kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k.bin"
    path.write_bytes(binary())

    def link(modules: object, environment: DriverEnvironment, *, static: bool) -> NoReturn:
        raise KernlensError(f"asked {environment.device}")

    monkeypatch.setattr("kernlens.verbs.link.link_modules.link_on_driver", link)
    assert "asked real" in kernlens("link", path, "--dynamic", "--device", "real").err
