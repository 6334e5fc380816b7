"""The figures of page, ``annotate`` and ``annotate --json`` are equal, line by line, read from the page itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.loading import open_file
from kernlens.report.explore import explore_document
from kernlens.toolchain.parallel_compiles import CompileJob
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from kernlens.toolchain.toolchains import toolchain as find_toolchain
from kernlens.verbs.compile import build
from tests.browser.conftest import Open
from tests.browser.line_figures import differences
from tests.whole import before_release

#: In each run: several kernels in a file, code inlined from headers, long files.
SOME = ("sharpen", "nlmeans", "bloom")
#: The compilers of Debian 12 and of today, and a device of each.
TARGETS = ((SYSTEM, "dg2"), (NEWEST, "bmg"))


@pytest.mark.usefixtures("newest_root")
@pytest.mark.parametrize("names", [SOME, pytest.param(None, marks=before_release)], ids=["some", "all"])
def test_figures_are_those_of_annotate(
    names: tuple[str, ...] | None, open_report: Open, darktable_kernels: Path, tmp_path: Path
) -> None:
    recording = tmp_path / "darktable.klens"
    sources = sorted(path for path in darktable_kernels.glob("*.cl") if names is None or path.stem in names)
    jobs = [
        CompileJob(source, device, find_toolchain(name), "-gline-tables-only")
        for name, device in TARGETS
        for source in sources
    ]
    assert all(compiled.ok for _, compiled in build(jobs, recording=recording))
    document = explore_document(open_file(str(recording)).programs, title="darktable")
    kernels, lines, wrong = differences(open_report(document, height=4000), document, recording)
    assert wrong == []
    assert kernels >= (20 if names else 300)
    assert lines >= 15 * kernels
