"""A real browser, and pages in it that must run clean: no request, no refused policy, no word on the console."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import kernlens
from kernlens.report.explore import ExploreDocument, explore_document
from kernlens.report.explore.single_file import page, viewer_script
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.browser.viewer import Viewer

#: Keeps what the page's policy refused, from before its scripts run.
LISTEN = """
window.refused = [];
document.addEventListener("securitypolicyviolation", event => refused.push(event.violatedDirective + " " + event.blockedURI));
"""

Open = Callable[..., Viewer]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Yield Debian's Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("Chromium is missing, with which the viewer is tested: apt-get install chromium")
    with sync_playwright() as playwright:
        # Nothing here comes from elsewhere; root has no other way to run it.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_report(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Yield what opens a document's report from disk; at the end of the test nothing may have gone wrong in any of them."""
    opened: list[tuple[Page, list[str]]] = []
    contexts = []

    def open_one(
        shown: ExploreDocument | Path, *, width: int = 1600, height: int = 900, theme: str = "light", at: str = ""
    ) -> Viewer:
        path = shown if isinstance(shown, Path) else tmp_path / f"report{len(opened)}.html"
        if isinstance(shown, ExploreDocument):
            path.write_text("".join(page(shown, viewer_script())))
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)  # type: ignore[arg-type]
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(60_000)
        problems: list[str] = []
        tab.add_init_script(LISTEN)
        tab.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        # The page itself may be loaded, and nothing else.
        allowed = path.as_uri()
        tab.on(
            "request", lambda request: problems.extend([f"request: {request.url}"] if request.url != allowed else [])
        )
        opened.append((tab, problems))
        tab.goto(path.as_uri() + at)
        return Viewer(tab)

    yield open_one
    for tab, problems in opened:
        problems += tab.evaluate("window.refused")
    for context in contexts:
        context.close()
    assert [problems for _, problems in opened] == [[] for _ in opened]


@pytest.fixture(scope="session")
def sharpen(darktable_kernels: Path) -> ExploreDocument:
    """Return two small kernels with all stages: of dg2, Debian's compiler."""
    stages = kernlens.stages(darktable_kernels / "sharpen.cl", "dg2", toolchain=SYSTEM)
    return explore_document([program for program in stages.programs if program.kernels], title="sharpen.klens")


@pytest.fixture(scope="session")
def sharpen_page(sharpen: ExploreDocument, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of ``sharpen``, on disk."""
    path = tmp_path_factory.mktemp("sharpen") / "sharpen.html"
    path.write_text("".join(page(sharpen, viewer_script())))
    return path


@pytest.fixture(scope="session", params=["dg2", "bmg"])
def denoise(request: pytest.FixtureRequest, darktable_kernels: Path) -> ExploreDocument:
    """Return darktable's denoiseprofile with its stages, by both compilers."""
    if request.param == "bmg":
        request.getfixturevalue("newest_root")
    toolchain = NEWEST if request.param == "bmg" else SYSTEM
    stages = kernlens.stages(darktable_kernels / "denoiseprofile.cl", request.param, toolchain=toolchain)
    return explore_document([program for program in stages.programs if program.kernels], title="denoiseprofile.klens")
