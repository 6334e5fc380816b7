"""AddressSanitizer and UndefinedBehaviorSanitizer over the layer, the second build's program and the decoder.

All native parts are built once more with both. An overflow, a use after free or undefined behaviour ends the process that
does it, and counts wherever it is. Leaks are told at the end, the compilers' as well: those count whose memory was asked for
by code of ours (:func:`is_ours`).
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.disasm.iga64_fixtures import Code
from tests.integration.disasm.test_decoder_safety import CHILD, codes, inputs
from tests.integration.layers import native_builds
from tests.integration.layers.layer_trials import BRIEF, WAYS, trials
from tests.integration.layers.opencl_layer_fixtures import (
    LONG_CHECKS,
    MODULES,
    SHORT_PARTS,
    SLICES,
    SOURCES,
    Platform,
    checks_of,
    fill,
    intel,
    passed,
    pocl,
)
from tests.whole import before_release

__all__ = ["codes"]

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g")
COMPILER = (str(Path(__file__).with_name("quick_gcc.sh")), *SANITIZERS)
#: What makes the sanitizers bear with drivers, and with forks.
PRELOADED = ("without_deepbind", "allocator_at_fork")

FRAME = re.compile(r"^ +#\d+ 0x[0-9a-f]+ (?:in (\S+) )?\(?(.*?)\)?$", re.MULTILINE)
#: Who allocates for others: the sanitizers, and the C library.
PASSED_OVER = re.compile(r"libsanitizer|libasan|/libc[.\w-]*so|^\.\./|^\./(?:libio|stdio-common|string|malloc)/")
OURS = re.compile(r"(?:^|/)native/|tests/integration/layers/opencl_layer/|libkernlens_|kernlens_second_build|_decoder")


def is_ours(stack: str) -> bool:
    """Whether the innermost frame that belongs to neither the sanitizers nor the C library is of this project."""
    for frame in FRAME.finditer(stack):
        if not PASSED_OVER.search(frame[2]):
            return bool(OURS.search(frame[2]))
    return False


def findings(folder: Path) -> list[str]:
    """What the processes did wrong that logged into ``folder``: every error, and what they lost if it was ours."""
    told = [path.read_text("utf-8", "replace") for path in sorted(folder.glob("log.*"))]
    errors = [log for log in told if "ERROR: AddressSanitizer" in log or "runtime error:" in log]
    blocks = [block for log in told for block in log.split("\n\n")]
    return errors + [block for block in blocks if " leak of " in block and is_ours(block)]


def options(folder: Path) -> dict[str, str]:
    return {
        # Something else is preloaded in front of the sanitizers' own library.
        "ASAN_OPTIONS": f"log_path={folder}/log:detect_leaks=1:verify_asan_link_order=0",
        "LSAN_OPTIONS": "exitcode=0",  # for errors too: findings() has them
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def build_layer(folder: Path, built: Path) -> Path:
    """The layer of ``built``, the test program with both sanitizers, and what is preloaded, in one folder."""
    fill(folder, built / "native", COMPILER)
    return build_preloaded(folder)


def build_preloaded(folder: Path) -> Path:
    """What :func:`sanitized_platform` preloads, in a folder, which is returned."""
    for name in PRELOADED:
        source = Path(__file__).parent / "preloaded" / f"{name}.c"
        flags = ["-shared", "-fPIC", "-O1", "-fno-builtin", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["gcc", *flags, "-o", folder / f"{name}.so", source, "-ldl"], check=True, timeout=60)
    return folder


def sanitized_platform(platform: Platform, layer: Path, logs: Path) -> Platform:
    """The platform, for programs that :func:`build_layer` made; findings are logged into a folder."""
    preloaded = " ".join(str(layer / f"{name}.so") for name in PRELOADED)
    return replace(platform, environment={**platform.environment, **options(logs), "LD_PRELOAD": preloaded})


@pytest.fixture(scope="session")
def sanitized() -> Path:
    """The native parts with both sanitizers in them."""
    return native_builds.built_parts("sanitized", COMPILER)


@pytest.fixture(scope="session")
def layer(sanitized: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_layer(tmp_path_factory.mktemp("sanitized-layer"), sanitized)


def test_a_stack_is_ours_by_its_innermost_frame() -> None:
    ours = """\
Direct leak of 9 byte(s) in 1 object(s) allocated from:
    #0 0x7f in __interceptor_malloc ../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:69
    #1 0x7f in __vasprintf_internal ./libio/vasprintf.c:71
    #2 0x55 in text_format_list native/base/bytes.c:10
    #3 0x55 in main (/tmp/other+0x12)
"""
    assert is_ours(ours)
    assert not is_ours(ours.replace("native/base/bytes.c:10", "(/usr/lib/x86_64-linux-gnu/libigc.so.1+0x12)"))


def platform_named(name: str, layer: Path, folder: Path) -> Platform:
    return sanitized_platform(pocl(folder) if name == "pocl" else intel(name, SLICES[name]), layer, folder)


@pytest.mark.parametrize(
    ("name", "part"),
    # Of PoCL, whose builds take four times as long here, one part: test_opencl_layer.py asks it for all.
    [
        *(("dg2", part) for part in SHORT_PARTS),
        ("pocl", MODULES),
        *(pytest.param("dg2", part, marks=before_release) for part in LONG_CHECKS),
        *(pytest.param("pocl", part, marks=before_release) for part in (SOURCES, *LONG_CHECKS)),
    ],
)
def test_every_check_of_the_layer(name: str, part: str, layer: Path, tmp_path: Path) -> None:
    platform = platform_named(name, layer, tmp_path)
    result = platform.run(layer, "checks", str(layer / "module.spv"), *checks_of(part, layer))
    assert not findings(tmp_path), "\n\n".join(findings(tmp_path))
    passed(result)


@pytest.mark.parametrize("name", ["pocl", "dg2"])
def test_a_kept_build_and_a_second_build(name: str, layer: Path, tmp_path: Path) -> None:
    result = platform_named(name, layer, tmp_path).run(layer, "brief")
    assert not findings(tmp_path), "\n\n".join(findings(tmp_path))
    passed(result)


@pytest.mark.parametrize("arguments", ["limited gen-assembly refused", "child late"])
@pytest.mark.parametrize("name", ["pocl", "dg2"])
def test_the_process_around_the_layer(name: str, arguments: str, layer: Path, tmp_path: Path) -> None:
    """Limits and other processes, with builds of its own and without."""
    platform = platform_named(name, layer, tmp_path)
    words = [platform.late if word in ("late", "gen-assembly") else word for word in arguments.split()]
    for own_build in ("0", "1"):
        passed(platform.run(layer, *words, KERNLENS_SNAPSHOT_OWN_BUILD=own_build))
    assert not findings(tmp_path), "\n\n".join(findings(tmp_path))


@pytest.mark.parametrize(
    ("name", "how"),
    # Each way once: the application's own build on Intel's driver, the others on PoCL; before a release all.
    [
        *(pytest.param("pocl", how, marks=before_release if how == WAYS[0] else []) for how in WAYS),
        *(pytest.param("dg2", how, marks=[] if how == WAYS[0] else before_release) for how in WAYS),
    ],
)
def test_forks_threads_limits_and_kills_under_stress(name: str, how: str, layer: Path, tmp_path: Path) -> None:
    """In brief; ``python -m tests.integration.layers.layer_stress`` is the whole of it.

    The forks are why ``allocator_at_fork`` is preloaded: without it 3 of 400 children hung on PoCL. The stack of one more that
    hung was looked at: it waited in malloc(), in SizeClassAllocator64::GetFromAllocator, for a lock of the sanitizer's own
    allocator, which GCC 12's leaves to a child as it stood. With it none of 1,200 hung.
    On dg2, whose driver is C++, 2 of 600 hung there until the operators new and delete were looked after as well.
    """
    for label, trial in trials(platform_named(name, layer, tmp_path), layer, tmp_path, BRIEF):
        if how in label:
            trial()
    assert not findings(tmp_path), "\n\n".join(findings(tmp_path))


@pytest.mark.parametrize("name", ["skl", "dg2"])
def test_any_bytes_to_the_decoder(name: str, sanitized: Path, codes: list[Code], tmp_path: Path) -> None:
    code = max((code.code for code in codes if code.device == name), key=len)
    contents = inputs(code, random.Random(f"sanitized {name}"), 300)
    file = tmp_path / "inputs"
    file.write_bytes(b"".join(len(stage_map).to_bytes(4, "little") + stage_map for stage_map in contents))
    library = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
    undefined = subprocess.check_output(["gcc", "-print-file-name=libubsan.so"], text=True).strip()
    environment = {
        **os.environ,
        **options(tmp_path),
        "LD_PRELOAD": f"{library} {undefined}",
        "PYTHONPATH": str(native_builds.as_package(sanitized, tmp_path / "package")),
        "PYTHONMALLOC": "malloc",
    }
    done = subprocess.run(
        [sys.executable, "-c", CHILD, name, str(file)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert not findings(tmp_path), "\n\n".join(findings(tmp_path))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) == len(contents)
