"""Instructions of real kernels against Intel's own disassembler, iga64."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernlens.errors import UnsupportedError
from kernlens.isa.devices import device, numbers_of
from kernlens.isa.intel import iga_library as library
from kernlens.isa.intel.decode import decode, decode_many
from kernlens.loading import load
from kernlens.model.compiler import Compiler
from kernlens.model.intel_instructions import SEND, IntelInstructions
from tests.corpus.build import Built
from tests.integration.cli.test_cli import kernlens
from tests.integration.disasm.iga64_fixtures import Code, disassemble, iga64_of, patch_token_codes, zebin_codes

SYSTEM_IGA64 = ["iga64"]


@pytest.fixture(scope="session")
def sample(corpus_sample: list[Built]) -> list[Code]:
    codes = patch_token_codes(corpus_sample)
    assert len(codes) >= 20
    return codes


@pytest.fixture
def newest_library(newest_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Only the newest root's library is there."""
    monkeypatch.setenv(library.PATH_VARIABLE, str(newest_root))
    return newest_root


def decoded(codes: list[Code], *, texts: bool = False) -> list[IntelInstructions]:
    return decode_many([(device(code.device), code.code, code.compiler) for code in codes], texts=texts)


def check(codes: list[Code], folder: Path, command: list[str]) -> int:
    """Compares every instruction's text and offset and every branch target; returns how many instructions."""
    total = 0
    for code, result in zip(codes, decoded(codes), strict=True):
        listing = disassemble(code, folder, command)
        assert result.texts == listing.texts, code.name
        assert list(result.offsets) == listing.offsets, code.name
        # iga64 also labels the start and what follows a branch or the end of the thread.
        assert set(result.targets) - {len(code.code)} <= set(listing.labels), code.name
        assert result.size + result.trailing == len(code.code)
        total += len(result)
    return total


@pytest.mark.parametrize("name", ["skl", "icllp", "tgllp", "dg2", "pvc"])
def test_text_offsets_and_targets_equal_iga64s(name: str, sample: list[Code], tmp_path: Path) -> None:
    codes = [code for code in sample if code.device == name]
    assert check(codes, tmp_path, SYSTEM_IGA64) > 1000


@pytest.mark.parametrize("name", ["tgllp", "dg2", "bmg", "lnl", "ptl"])
def test_text_equals_the_newest_iga64s(
    name: str, newest_library: Path, newest_sample: list[Built], tmp_path: Path
) -> None:
    codes = [code for code in zebin_codes(newest_sample) if code.device == name]
    assert check(codes, tmp_path, iga64_of(newest_library)) > 1000


#: Divisions and roots of doubles are macros, whose operands the versions of libiga64 print differently.
MACROS = """\
kernel void macros(global double *values) {
    int i = get_global_id(0);
    values[i] = sqrt(values[i]) / values[i + 1];
}
"""


def test_each_compilers_code_reads_as_its_own_iga64_prints_it(newest_root: Path, tmp_path: Path) -> None:
    """With both libraries installed, of recordings and of plain files."""
    source = tmp_path / "macros.cl"
    source.write_text(MACROS)
    texts = {}
    for toolchain, command in (("system", SYSTEM_IGA64), ("newest", iga64_of(newest_root))):
        recording = tmp_path / f"{toolchain}.klens"
        done = kernlens("compile", source, "--device", "pvc", "--toolchain", toolchain, "-o", recording)
        assert done.returncode == 0, done.stderr
        assert kernlens("extract", recording, "-o", tmp_path / toolchain).returncode == 0
        (plain,) = (path for path in (tmp_path / toolchain / "containers").iterdir() if path.is_file())
        for path in (recording, plain):
            done = kernlens("disasm", path, "--json", "--verbose")
            (program,) = json.loads(done.stdout)["programs"]
            result = [each["text"] for each in program["kernels"][0]["instructions"]]
            (loaded,) = load(path)
            kernel = loaded.kernels["macros"]
            # Without the compiler's hash behind the end.
            code = Code("macros", "pvc", bytes(kernel.code)[: kernel.code_size])
            assert result == disassemble(code, tmp_path, command).texts, path
            used = re.search(r"(libiga64 \S+) \((\S+)\) decodes pvc: it is ", done.stderr)
            assert used is not None, done.stderr
            assert used[1] == program["disassembler"]
            assert used[2].startswith(str(newest_root)) == (toolchain == "newest")
            texts[toolchain] = [text for text in result if "math.invm" in text]
    assert texts["system"]
    # Else the test would tell nothing.
    assert ["nomme<1;1,0>" in text for text in texts["system"]] == [False] * len(texts["system"])
    assert ["nomme<1;1,0>" in text for text in texts["newest"]] == [True] * len(texts["newest"])


def test_records_say_what_the_texts_say(sample: list[Code]) -> None:
    """Mnemonic, execution size, first channel, mask, predicate, destination and message target, read back from text."""
    checked = 0
    for instructions in decoded(sample, texts=True):
        for item in instructions:
            head = re.match(
                r"(?:\((?P<w>W)?&?(?P<p>~?f\d\.\d[^)]*)?\))?\s*(?P<op>[a-z0-9]+)(?:\.(?P<fc>\S+))?"
                r"(?: +\((?P<size>\d+)\|M(?P<first>\d+)\))?(?: +\((?P<test>[a-z]+)\)(?P<flag>f\d\.\d))?"
                r"(?: +(?:\(sat\))?(?P<dst>r\d+(?:\.\d+)?|null))?",
                item.text,
            )
            assert head is not None, item.text
            assert head["op"] == item.opcode, item.text
            assert bool(head["w"]) == item.no_mask, item.text
            assert (f"({head['p']})" if head["p"] else None) == (str(item.predicate) if item.predicate else None), (
                item.text
            )
            if head["size"]:
                assert (int(head["size"]), int(head["first"])) == (item.execution_size, item.channel_offset), item.text
            if head["test"]:
                assert item.condition is not None, item.text
                assert (head["test"], head["flag"]) == (item.condition.test, item.condition.flag), item.text
            if head["dst"] and item.destination is not None and item.destination.kind == "register":
                assert str(item.destination).startswith(head["dst"]), item.text
            if item.message is not None and head["fc"]:
                assert item.message.target == head["fc"], item.text
            checked += 1
    assert checked > 10_000


def test_descriptors_and_scoreboards_are_those_of_the_texts(sample: list[Code]) -> None:
    messages = scoreboards = 0
    for instructions in decoded([code for code in sample if code.device in ("tgllp", "dg2", "pvc")], texts=True):
        for item, flags in zip(iter(instructions), instructions.flags, strict=True):
            assert (item.message is not None) == bool(flags & SEND) == item.opcode.startswith("send"), item.text
            if item.message is not None and item.message.descriptor is not None:
                assert f"0x{item.message.descriptor:08X}" in item.text
                messages += 1
            options = re.search(r"\{([^}]*)\}", item.text)
            named = [option for option in (options[1] if options else "").split(",") if re.match(r"[A-Z]?@|\$", option)]
            assert (str(item.swsb).split(",") if item.swsb else []) == named, item.text
            scoreboards += bool(named)
    assert messages > 100
    assert scoreboards > 1000


def test_one_batch_equals_one_by_one(sample: list[Code]) -> None:
    """Repeated encodings are decoded once for all kernels: that must not show."""
    few = sample[::7]
    for code, result in zip(few, decoded(few, texts=True), strict=True):
        alone = decode(device(code.device), code.code, code.compiler)
        assert alone.records == result.records
        assert alone.texts == result.texts


def test_threads_do_not_disturb_each_other(sample: list[Code]) -> None:
    """Decoding from several threads, and the texts of one batch asked for by several at once."""
    expected = [instructions.texts for instructions in decoded(sample)]
    shared = decoded(sample)
    with ThreadPoolExecutor(8) as pool:
        again = pool.map(lambda code: decode(device(code.device), code.code, code.compiler).texts, sample)
        batches = [pool.submit(lambda: [instructions.texts for instructions in decoded(sample[:20])]) for _ in range(4)]
        of_shared = pool.map(lambda entry: entry.texts, shared)
        assert list(again) == expected
        assert list(of_shared) == expected
        for batch in batches:
            assert batch.result() == expected[:20]


def test_the_choice_of_library(newest_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system's compiler made its own library decodes; what that does not know, or who made it nobody knows, the
    newest; and all that one which the user names."""
    monkeypatch.delenv(library.PATH_VARIABLE, raising=False)
    monkeypatch.setattr(library, "_more_paths", [])
    dg2, bmg = numbers_of(device("dg2")).iga_platform, numbers_of(device("bmg")).iga_platform
    system = library.library_for(dg2, "dg2")
    if bmg in system.platforms:
        pytest.skip("this system's libiga64 knows Xe2")
    with pytest.raises(
        UnsupportedError,
        match=r"bmg is a device of Xe2, but libiga64 \S+ .*supports Gen8 to Xe-HPC.*toolchain add newest",
    ):
        library.library_for(bmg, "bmg")
    library.search_also(lambda: {"newest": str(newest_root)})
    newest = library.library_for(bmg, "bmg")
    assert newest.path.startswith(str(newest_root))
    assert newest.version.startswith("2.")
    assert library.library_for(dg2, "dg2", Compiler((1,))) is system
    assert library.library_for(dg2, "dg2", Compiler((1, 0, 12504), "system")) is system
    assert library.library_for(dg2, "dg2", Compiler((2, 40, 14), "of another machine")) is newest
    assert library.library_for(dg2, "dg2") is newest
    assert library.installed() == (system, newest)
    monkeypatch.setenv(library.PATH_VARIABLE, str(newest_root))
    assert library.library_for(dg2, "dg2", Compiler((1,))) is newest


def test_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "libiga64.so.1"
    broken.write_bytes(b"no library")
    monkeypatch.setenv(library.PATH_VARIABLE, str(tmp_path))
    monkeypatch.setattr(library, "_more_paths", [])
    monkeypatch.setattr(library, "_SYSTEM_NAMES", ("libiga64-that-is-not-there.so",))
    with pytest.raises(UnsupportedError, match=r"no libiga64 to decode dg2 .*libiga64\.so\.1: .*install it") as raised:
        decode(device("dg2"), bytes(16))
    assert "KERNLENS_IGA_PATH" in str(raised.value)


def test_a_library_that_is_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libc = next(Path("/lib").glob("*-linux-gnu/libm.so.6"))
    (tmp_path / "libiga64.so.1").symlink_to(libc)
    monkeypatch.setenv(library.PATH_VARIABLE, str(tmp_path))
    monkeypatch.setattr(library, "_SYSTEM_NAMES", ())
    monkeypatch.setattr(library, "_more_paths", [])
    with pytest.raises(UnsupportedError, match="has no function iga_version_string: it is too old or not libiga64"):
        decode(device("dg2"), bytes(16))
