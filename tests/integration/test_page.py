"""The HTML page in a real browser: source lines and instructions are linked both ways."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernlens.loading import load
from tests.corpus.build import Built
from tests.writers.documents import annotate_document, html_page

#: Headless, and without what a browser asks the network for by itself.
BROWSER_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)

#: Runs in the page when it has been drawn: hovers over an instruction and over a source line, and clicks.
PROBE = """
<script>
const fire = (row, type) => row.dispatchEvent(new MouseEvent(type, {bubbles: true}));
const lit = (pane, mark) => [...document.querySelectorAll(`#${pane} .${mark}`)].map(row => row.dataset.key);
const answer = {kernels: document.getElementById("kernels").options.length};
const instruction = document.querySelector("#instructions .has");
fire(instruction, "mouseover");
answer.hovered = instruction.dataset.key;
answer.litSources = lit("sources", "lit");
const line = [...document.querySelectorAll("#sources .has")].at(-1);
fire(line, "mouseover");
answer.line = line.dataset.key;
answer.litInstructions = lit("instructions", "lit");
fire(line, "click");
answer.held = lit("instructions", "held");
answer.rows = document.querySelectorAll("#instructions .row").length;
answer.text = document.getElementById("sources").textContent;
document.title = "ANSWER" + btoa(unescape(encodeURIComponent(JSON.stringify(answer))));
</script>
"""


@pytest.fixture(scope="module")
def document(corpus_sample: list[Built]) -> dict[str, Any]:
    built = next(built for built in corpus_sample if built.name == "darktable/sharpen@dg2")
    programs = load(built.binary, source_roots=[str(built.folder)])
    return annotate_document([(program, list(program.kernels.values())) for program in programs])


def answers(page: str, folder: Path) -> dict[str, Any]:
    """What the probe saw in a browser."""
    import base64

    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert browser, "no Chromium; scripts/test.sh installs it"
    path = folder / "page.html"
    path.write_text(page.replace("</body>", PROBE + "</body>"), "utf-8")
    done = subprocess.run(
        [browser, *BROWSER_OPTIONS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r"<title>ANSWER([A-Za-z0-9+/=]+)</title>", done.stdout)
    assert found, done.stdout[-2000:]
    answer: dict[str, Any] = json.loads(base64.b64decode(found[1]))
    return answer


def test_hover_links_lines_and_instructions(document: dict[str, Any], tmp_path: Path) -> None:
    kernels = [kernel for program in document["programs"] for kernel in program["kernels"]]
    seen = answers(html_page(document), tmp_path)
    assert seen["kernels"] == len(kernels)
    assert seen["rows"] == len(kernels[0]["instructions"])
    assert seen["litSources"] == [seen["hovered"]]
    line, path = seen["line"].split(":", 1)
    of_line = [one for one in kernels[0]["instructions"] if (one["line"], one["path"]) == (int(line), path)]
    assert of_line
    assert seen["litInstructions"] == seen["held"] == [seen["line"]] * len(of_line)


def test_names_in_a_file_are_text_and_never_markup(document: dict[str, Any], tmp_path: Path) -> None:
    evil = json.loads(json.dumps(document))
    evil["programs"][0]["name"] = "</script><script>document.title='broken'</script>"
    evil["programs"][0]["sources"] = [{"path": "x", "text": "<img src=x onerror=\"document.title='broken'\">"}]
    kernel = evil["programs"][0]["kernels"][0]
    for one in kernel["instructions"]:
        one["path"], one["line"] = "x", 1
    seen = answers(html_page(evil), tmp_path)
    assert "<img src=x onerror" in seen["text"]
