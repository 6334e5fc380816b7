"""Fixtures that several tests share: real binaries, real kernels, the newest driver's root; and what was left out."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest

from kernlens.toolchain.toolchains import toolchain
from tests.corpus.build import Built, build
from tests.corpus.compiler import DEBIAN, Compiler, newest
from tests.corpus.manifest import DEVICES, NEWEST_DEVICES, program
from tests.corpus.packages import CorpusError, fetch
from tests.environment import leave_the_users
from tests.whole import WHOLE

#: Few, but with one and with many kernels, with ``#include``s, inlined calls, images, barriers and local memory.
SAMPLE = ("darktable/nlmeans", "darktable/gaussian", "darktable/sharpen", "darktable/demosaic_markesteijn")

#: The driver of Debian 12, whose figures and gaps the tests of real compilers are about.
DEBIAN_12 = "22.43."
#: Folders of tests that need it, and what in them does not.
NEED_DEBIAN_12 = ("tests/integration/", "tests/browser/")
ANYWHERE = (
    "tests/integration/docs/test_docs_site.py",
    "tests/integration/layers/test_level_zero_declarations.py",
    "tests/integration/layers/test_native_warnings.py",
    "tests/integration/package/",
    "tests/integration/toolchain/",
)

#: The files that take longest, the longest first: the processes of a run begin with them, so that none is left with one at the
#: end while the others wait.
LONG = (
    "tests/integration/layers/test_native_sanitizers.py",
    "tests/integration/capture/test_capture.py",
    "tests/integration/docs/test_pages.py",
    "tests/browser/test_serve.py",
    "tests/browser/test_compared_versions.py",
    "tests/integration/inspect/test_slow_files.py",
    "tests/integration/capture/test_capture_own_children.py",
    "tests/integration/capture/test_capture_words.py",
    "tests/integration/capture/test_capture_changes.py",
    "tests/integration/capture/test_capture_queries.py",
    "tests/browser/test_axe.py",
    "tests/browser/test_firefox.py",
    "tests/integration/capture/test_kept_launches.py",
    "tests/integration/layers/test_program_snapshots.py",
    "tests/integration/layers/test_opencl_layer.py",
    "tests/integration/capture/test_sycl.py",
    "tests/browser/test_acting_views.py",
    "tests/browser/test_nothing_by_accident.py",
    "tests/integration/capture/test_capture_launches.py",
    "tests/integration/capture/test_capture_caches.py",
    "tests/integration/capture/test_capture_level_zero_launches.py",
    "tests/integration/capture/test_capture_time.py",
    "tests/integration/inspect/test_corpus.py",
    "tests/integration/capture/test_capture_statuses.py",
    "tests/integration/docs/test_json_keys.py",
    "tests/integration/advise/test_bound.py",
    "tests/browser/test_replay.py",
    "tests/integration/observe/test_capture_observe.py",
    "tests/integration/capture/test_capture_loaders.py",
    "tests/integration/mcp/test_mcp.py",
    "tests/browser/test_share.py",
    "tests/integration/advise/test_proofs.py",
    "tests/integration/layers/test_opencl_layer_builds.py",
    "tests/integration/capture/test_capture_failed_builds.py",
    "tests/browser/test_views.py",
    "tests/browser/test_loading.py",
    "tests/integration/compile/test_foreign_text.py",
    "tests/integration/drivers/test_opencl_live.py",
    "tests/browser/test_figures.py",
    "tests/integration/capture/test_event_order.py",
    "tests/integration/annotate/test_own_lines.py",
    "tests/integration/disasm/test_pocl_disassembly.py",
    "tests/integration/diff/test_two_isas.py",
    "tests/integration/diff/test_diff.py",
    "tests/integration/capture/test_capture_processes.py",
    "tests/browser/test_links.py",
    "tests/integration/sweep/test_sweep_cluster.py",
    "tests/integration/link/test_linking_driver.py",
    "tests/integration/capture/test_level_zero_kept_launches.py",
    "tests/integration/annotate/test_changed_code.py",
    "tests/integration/advise/test_rules.py",
    "tests/browser/test_serve_again.py",
    "tests/browser/test_clicks.py",
    "tests/integration/capture/test_capture_layers.py",
    "tests/integration/capture/test_capture_level_zero_replacing.py",
    "tests/integration/observe/test_observed_modules.py",
    "tests/integration/check/test_variants.py",
    "tests/integration/layers/test_igc_settings.py",
    "tests/integration/annotate/test_variables.py",
)

# Looking for cycles takes three quarters of the time to parse the package's files, and finds none; the command does the same.
gc.set_threshold(100_000, 20, 100)

LEFT_OUT = pytest.StashKey[dict[str, int]]()

# What a run of the tests says depends on the tree alone: the same examples each time, and no limit on a busy machine's time.
hypothesis.settings.register_profile("kernlens", derandomize=True, deadline=None)
hypothesis.settings.load_profile("kernlens")

# A shell starts what runs in its background with the first two ignored, nohup with the third, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def corpus_sample() -> list[Built]:
    """Return a few of darktable's programs for all five products of Debian 12's driver."""
    return _built(SAMPLE)


@pytest.fixture(scope="session")
def corpus_others() -> list[Built]:
    """Return programs of other packages: several sources in one program, and calls that stay calls."""
    return _built(("pyfai/azim_csr", "piglit/calls", "silx/medfilt"), DEVICES if WHOLE else ("tgllp", "dg2", "pvc"))


@pytest.fixture(scope="session")
def darktable_kernels() -> Path:
    """Return the folder of Debian's darktable kernels: ``*.cl`` and their headers."""
    try:
        package = program(SAMPLE[0]).package
        return fetch([package.name]) / package.name / package.folder
    except CorpusError as error:
        pytest.skip(f"darktable's kernels: {error}")


@pytest.fixture(scope="session")
def newest_root() -> Path:
    """Return the root folder of the newest driver (scripts/test.sh makes it and sets KERNLENS_NEWEST_ROOT)."""
    named = os.environ.get("KERNLENS_NEWEST_ROOT")
    if not named:
        reason = os.environ.get(
            "KERNLENS_NEWEST_ROOT_MISSING", "KERNLENS_NEWEST_ROOT is not set; scripts/test.sh does it"
        )
        pytest.skip(f"the newest driver: {reason}")
    root = Path(named)
    assert (root / "usr/bin").is_dir(), f"KERNLENS_NEWEST_ROOT={named} is no root folder"
    return root


@pytest.fixture(scope="session")
def newest_sample(newest_root: Path) -> list[Built]:
    """Return zebins, with several kernels each, made by the newest compiler."""
    return _built(SAMPLE, NEWEST_DEVICES, newest(newest_root))


@pytest.fixture(scope="session")
def user_namespaces() -> None:
    """Skip a test that mounts something if the kernel forbids it to this process, as it does in most containers."""
    done = subprocess.run(["unshare", "--map-root-user", "--mount", "true"], capture_output=True, text=True, timeout=60)
    if done.returncode:
        pytest.skip(f"mounts in a name space of their own: {done.stderr.strip()}")


def _built(names: tuple[str, ...], devices: tuple[str, ...] = DEVICES, compiler: Compiler = DEBIAN) -> list[Built]:
    chosen = [program(name) for name in names]
    try:
        fetch(dict.fromkeys(package for choice in chosen for package in choice.packages))
    except CorpusError as error:  # without a mirror, that is; a compiler that is missing or broken is a failure
        pytest.skip(f"the corpus: {error}")
    built, failed = build(chosen, devices, compiler=compiler)
    assert not failed, f"{failed[0].program.name} does not compile for {failed[0].device}: {failed[0].log}"
    return built


def pytest_configure(config: pytest.Config) -> None:
    # Compilers are tested, not what they answered another time: there is no cache; its tests name a folder for one.
    leave_the_users()
    config.stash[LEFT_OUT] = {}


def pytest_collection() -> None:
    # Under a limit of file sizes, as some tests set one, a child would leave half a file, which every later import fails on.
    # xdist's processes, which have begun by now, may keep pytest's bytecode of the tests.
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    bound = [each for each in items if each.nodeid.startswith(NEED_DEBIAN_12) and not each.nodeid.startswith(ANYWHERE)]
    driver = toolchain("system").neo_version if bound else None
    if not (driver or "").startswith(DEBIAN_12):
        reason = (
            f"they compare with Debian 12's compiler and driver ({DEBIAN_12}x), and this machine has {driver or 'none'}"
        )
        for each in bound:
            each.add_marker(pytest.mark.skip(reason=reason))
    if "PYTEST_XDIST_WORKER" in os.environ:
        rank = {name: at for at, name in enumerate(LONG)}
        # Behind a browser's client, which leaves an event loop running, asyncio starts no other in this process.
        items.sort(
            key=lambda each: (
                each.nodeid.startswith("tests/browser/"),
                rank.get(each.nodeid.partition("::")[0], len(LONG)),
            )
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        counts = item.config.stash[LEFT_OUT]
        counts[reason] = counts.get(reason, 0) + 1
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what this run did not test, and why: a skipped test must not pass for a green one."""
    counts = config.stash[LEFT_OUT]
    if not counts:
        return
    terminalreporter.section("left out on this machine")
    for reason, count in sorted(counts.items()):
        terminalreporter.line(f"{count} test{'s' if count > 1 else ''}: {reason}")
