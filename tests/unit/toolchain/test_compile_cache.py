"""The cache of compiles: what tells them apart, which are not kept, and what becomes of a damaged or crowded folder."""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernlens.errors import KernlensError
from kernlens.toolchain.compile_cache import CompileCache, cache_folder, cache_limit, open_cache, packed
from kernlens.toolchain.compile_keys import compile_key
from kernlens.toolchain.parallel_compiles import CompileJob, compile_job, compile_many
from kernlens.toolchain.toolchains import toolchain
from tests.limits import address_space
from tests.unit.conftest import Kernlens
from tests.writers.programs import SOURCE, binary

OPTIONS = "-gline-tables-only -I headers"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: Path) -> Path:
    """A source that includes one header by way of another, with a working folder of its own and no variables that steer."""
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    for name in [name for name in os.environ if name.startswith(("IGC_", "NEO"))]:
        monkeypatch.delenv(name)
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers/inner.h").write_text("#define INNER 1\n")
    (tmp_path / "outer.h").write_text("#include <inner.h>\n")
    path = tmp_path / "scale.cl"
    path.write_text(f'#include "outer.h"\n{SOURCE}')
    monkeypatch.chdir(tmp_path)
    return path


def key(source: Path, device: str = "skl", options: str = OPTIONS) -> str | None:
    return compile_key(source, device, options, toolchain())


def _append(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with (folder / name).open("a") as file:
            file.write("\n")

    return change


def _work_elsewhere(folder: Path) -> None:
    (folder / "other").mkdir()
    os.chdir(folder / "other")


@pytest.mark.parametrize(
    "change",
    [
        _append("scale.cl"),
        _append("outer.h"),
        _append("headers/inner.h"),
        _append("compiler/ocloc"),
        # A file that is found before the one that was, or is read though nobody names it.
        lambda folder: (folder / "inner.h").write_text("#define INNER 2\n"),
        lambda folder: (folder / "scale_options.txt").write_text("-DN=2"),
        lambda folder: (folder / "neo.config").write_text("EnableDebugBreak = 1"),
        lambda folder: os.environ.__setitem__("IGC_EnableZEBinary", "1"),
        lambda folder: os.environ.__setitem__("CPATH", "/usr/include"),
        _work_elsewhere,
    ],
    ids=["source", "header", "inner", "compiler", "shadow", "options-file", "settings", "igc", "cpath", "folder"],
)
def test_whatever_takes_part_changes_the_key(
    change: Callable[[Path], None], source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    options = f"-I {tmp_path}/headers"
    before = compile_key(source, "skl", options, toolchain())
    assert before is not None
    assert compile_key(source, "skl", options, toolchain()) == before
    assert compile_key(source, "dg2", options, toolchain()) != before
    assert compile_key(source, "skl", f"{options} -DN=1", toolchain()) != before
    change(tmp_path)
    after = compile_key(source, "skl", options, toolchain())
    assert after != before


def test_a_library_of_the_compiler_that_is_replaced_changes_the_key(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries = tmp_path / "lib"
    libraries.mkdir()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(libraries))
    keys = [key(source)]
    (libraries / "libigc.so.1").write_text("one")
    keys.append(key(source))
    (libraries / "new").write_text("two")
    (libraries / "new").rename(libraries / "libigc.so.1")
    keys.append(key(source))
    (libraries / "libigc.so.1").write_text("3")  # in place: the folder stays as it was
    keys.append(key(source))
    assert None not in keys
    assert len(set(keys)) == 4


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("char *built = __DATE__;", ""),
        ("#define HEADER <x.h>\n#include HEADER", ""),
        ("#include HEADER", "-DHEADER=<x.h>"),
        ('#if __has_include("x.h")\n#endif', ""),
        ("#include <nowhere.h>", ""),
        ("%:include <nowhere.h>", ""),
        ("#inc\\\nlude <nowhere.h>", ""),
        ("", "-include x.h"),
        ("", "-igc_opts 'ShaderDumpEnable=1'"),
        ("", "@options"),
    ],
)
def test_what_cannot_be_told_apart_has_no_key(text: str, options: str, source: Path) -> None:
    (source.parent / "plain.cl").write_text(SOURCE)
    assert key(source.parent / "plain.cl", options="") is not None
    (source.parent / "plain.cl").write_text(f"{SOURCE}\n{text}\n")
    assert key(source.parent / "plain.cl", options=options) is None


@pytest.mark.parametrize("variable", ["NEOReadDebugKeys", "IGC_ShaderDumpEnable", "IGC_ShaderOverride"])
def test_a_compiler_that_is_to_do_more_than_compile_is_run(
    variable: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    assert key(source) is None


def calls(compiler: Path) -> int:
    listed = compiler.with_name("calls")
    return len(listed.read_text().splitlines()) if listed.exists() else 0


def test_an_equal_compile_is_done_once(kernlens: Kernlens, compiler: Path, source: Path) -> None:
    words = ("compile", source, "--device", "skl", "--build-options", "-I headers")
    first = kernlens(*words)
    assert (first.status, calls(compiler)) == (0, 1)
    assert kernlens(*words) == first
    assert calls(compiler) == 1
    assert kernlens(*words, "--no-cache") == first
    assert calls(compiler) == 2
    done = kernlens("annotate", "scale.klens", "--kernel", "scale")
    assert "int id = get_global_id(0);" in done.out


def test_a_build_from_the_cache_is_the_build(source: Path) -> None:
    cache = open_cache()
    job = CompileJob(source, "skl", toolchain(), OPTIONS)
    first, second = (compile_job(job, cache, job.key, lambda child: None)[0] for _ in range(2))
    assert first == second
    assert second.binary == binary()
    assert [Path(source.path).name for source in second.sources] == ["scale.cl", "outer.h", "inner.h"]
    assert compile_job(job, cache, job.key, lambda child: None, has_sources=False)[0].sources == ()


def test_the_key_of_a_compile_is_made_once_before_and_once_after(
    kernlens: Kernlens, compiler: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second tells whether a file was replaced meanwhile. What is kept needs no second one."""
    keys: list[str | None] = []

    def counted(*words: Any) -> str | None:
        keys.append(compile_key(*words))
        return keys[-1]

    monkeypatch.setattr("kernlens.toolchain.parallel_compiles.compile_key", counted)
    words = ("sweep", source, "--device", "skl", "--build-options", "-I headers")
    assert kernlens(*words).status == 0
    assert len(keys) == 2
    assert kernlens(*words).status == 0
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_a_source_that_changes_while_it_is_compiled_is_not_kept(compiler: Path, source: Path) -> None:
    text = compiler.read_text()
    compiler.write_text(text.replace('"$folder/program" ;;', '"$folder/program"; echo >> "$source" ;;'))
    job = CompileJob(source, "skl", toolchain(), OPTIONS)
    cache = open_cache()
    assert cache is not None
    build, is_steady = compile_job(job, cache, job.key, lambda child: None)
    assert (build.ok, is_steady, list(cache.entries())) == (True, False, [])


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["truncated", "changed", "of another key", "empty", "a pipe", "of 3 GB"])
def test_a_damaged_entry_is_dropped_and_compiled_again(
    damage: str, kernlens: Kernlens, compiler: Path, source: Path
) -> None:
    words = ("compile", source, "--device", "skl", "--build-options", "-I headers")
    first = kernlens(*words)
    (entry,) = entries()
    whole = entry.read_bytes()
    other = b""
    if damage == "of another key":
        assert kernlens(*words, "--build-options", "-I headers -DN=2").status == 0
        (other,) = [path.read_bytes() for path in entries() if path != entry]
    before = calls(compiler)
    if damage == "a pipe":
        entry.unlink()
        os.mkfifo(entry)
    elif damage == "of 3 GB":
        os.truncate(entry, 3 << 30)
    else:
        damaged = {"truncated": whole[:-9], "changed": whole[:-9] + b"x" * 9, "of another key": other, "empty": b""}
        entry.write_bytes(damaged[damage])
    with address_space(1 << 30):
        assert kernlens(*words) == first
    assert calls(compiler) == before + 1
    assert entry.read_bytes().startswith(whole[:8])
    assert kernlens(*words) == first
    assert calls(compiler) == before + 1


def entries() -> list[Path]:
    folder = cache_folder()
    assert folder is not None
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_folder_is_bounded_and_what_was_asked_for_last_stays(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path / "cache", limit=256 * 8 * 4096)
    keys = [f"00{number:062}" for number in range(20)]
    (tmp_path / "cache/00").mkdir()
    (tmp_path / "cache/00/.partial-left").write_bytes(bytes(4096))
    os.utime(tmp_path / "cache/00/.partial-left", (1, 1))
    for number, name in enumerate(keys):
        cache.put(name, bytes([number]) * 4000)
        assert cache.get(keys[0]) is not None
        stamp = number + 100
        os.utime(tmp_path / "cache/00" / name[2:], (stamp, stamp))
        assert sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file()) <= 8 * 4096
    assert [number for number, name in enumerate(keys) if cache.get(name)] == [0, *range(13, 20)]
    assert not (tmp_path / "cache/00/.partial-left").exists()
    cache.put("01" + "0" * 62, bytes(9 * 4096))
    assert not (tmp_path / "cache/01").exists()


@pytest.mark.parametrize(
    ("stated", "size"),
    [
        ("", 2e9),
        ("10GB", 1e10),
        ("0.5 TB", 5e11),
        ("100mb", 1e8),
        ("99MB", None),
        ("10", None),
        ("-1GB", None),
        ("x", None),
    ],
)
def test_the_limit_is_the_users(
    stated: str, size: float | None, kernlens: Kernlens, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNLENS_CACHE_SIZE", stated)
    if size is not None:
        assert cache_limit() == size
        return
    done = kernlens("compile", source, "--device", "skl", "--build-options", "-I headers")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert f"KERNLENS_CACHE_SIZE={stated} is " in done.err
    assert "set at least 100 MB, such as KERNLENS_CACHE_SIZE=10GB" in done.err


def test_a_folder_that_others_could_have_filled_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernlens: Kernlens, compiler: Path
) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "file").write_text("")
    for name, what in (("link", "a link"), ("open", "open for others"), ("file", "no folder")):
        with pytest.raises(KernlensError, match=f"{name}, is {what}.*KERNLENS_CACHE=off"):
            CompileCache(tmp_path / name)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 12345)
        with pytest.raises(KernlensError, match="is another user's"):
            CompileCache(tmp_path / "real")
    source = tmp_path / "scale.cl"
    source.write_text(SOURCE)
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "link"))
    done = kernlens("compile", source, "--device", "skl", "-o", tmp_path / "x.klens")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert kernlens("compile", source, "--device", "skl", "-o", tmp_path / "x.klens", "--no-cache").status == 0


def test_the_folder_is_the_users_alone(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path / "kernlens" / "compiles")
    cache.put("ab" + "0" * 62, b"body")
    for path in (tmp_path / "kernlens/compiles", tmp_path / "kernlens/compiles/ab"):
        assert path.stat().st_mode & 0o777 == 0o700
    assert next((tmp_path / "kernlens/compiles/ab").iterdir()).stat().st_mode & 0o777 == 0o600


def test_without_a_place_to_write_nothing_is_kept(
    kernlens: Kernlens, compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "scale.cl"
    source.write_text(SOURCE)
    monkeypatch.setenv("KERNLENS_CACHE", "/proc/nowhere/cache")
    for count in (1, 2):
        assert kernlens("compile", source, "--device", "skl", "-o", tmp_path / "x.klens").status == 0
        assert calls(compiler) == count


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNLENS_CACHE", "off")
    assert cache_folder() is None
    assert open_cache() is None
    monkeypatch.delenv("KERNLENS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/kernlens/compiles")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache/kernlens/compiles"


def test_doctor_tells_of_it(kernlens: Kernlens, compiler: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> str:
        return next(
            line for line in kernlens("doctor").out.splitlines() if " cache" in line.split(":")[0].split(",")[0]
        )

    assert "empty; 2 GB at most" in told()
    assert kernlens("compile", source, "--device", "skl", "--build-options", "-I headers").status == 0
    assert "1 entry, 0 GB of 2 GB at most, KERNLENS_CACHE_SIZE changes it; the oldest was used today; rm -r" in told()
    (entry,) = entries()
    entry.write_bytes(bytes(1_200_000_000 >> 10 << 2))
    os.utime(entry, (1, 1))
    monkeypatch.setenv("KERNLENS_CACHE_SIZE", "1.5 gb")
    assert re.search(r"0\.005 GB of 1\.5 GB at most, .* used \d\d,\d\d\d days ago", told())
    monkeypatch.setenv("KERNLENS_CACHE_SIZE", "10")
    assert told().startswith("-  ")
    monkeypatch.delenv("KERNLENS_CACHE_SIZE")
    (source.parent / "cache").chmod(0o777)
    assert "open for others to write into" in told()
    monkeypatch.setenv("KERNLENS_CACHE", "off")
    assert "nothing is kept" in told()


def _fill(folder: str, seed: int) -> int:
    """Puts and gets the same few keys, as other processes do; returns how often something else came back."""
    cache = CompileCache(Path(folder), limit=256 * 6 * 4096)
    wrong = 0
    for turn in range(150):
        name = f"00{(turn * 7 + seed) % 9:062}"
        cache.put(name, name.encode() * 30)
        body = cache.get(name)
        wrong += body is not None and body != name.encode() * 30
    return wrong


@pytest.mark.slow
def test_processes_share_a_folder(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.starmap(_fill, [(str(tmp_path / "cache"), seed) for seed in range(3)]) == [0, 0, 0]
    assert len(entries_of(tmp_path / "cache")) <= 9


def entries_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_many_compiles_ask_the_cache(source: Path, compiler: Path) -> None:
    cache = open_cache()
    jobs = [CompileJob(source, device, toolchain(), OPTIONS) for device in ("skl", "dg2", "icllp")]
    first = {packed(build) for _, build in compile_many(jobs, 2, None, cache)}
    assert {packed(build) for _, build in compile_many(jobs, 2, None, cache)} == first
    assert calls(compiler) == 3
