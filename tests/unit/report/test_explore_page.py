"""The report page: what is in it, that nothing else is, and that another language reads its blocks."""

from __future__ import annotations

import base64
import gc
import hashlib
import json
import re
import shutil
import subprocess
import weakref
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kernlens.report.explore import explore_document
from kernlens.report.explore.packing import ALPHABET
from kernlens.report.explore.single_file import page
from tests.explore_reader import Page, inflated, unpacked
from tests.unit.conftest import Kernlens
from tests.unit.report.test_explore_document import HOSTILE, built, opened
from tests.writers.programs import decoded

VIEWER = 'document.title = "viewer";'
#: What the viewer does with a block, in a few lines of its language.
JAVASCRIPT = """
const digits = DIGITS, values = new Uint8Array(128);
[...digits].forEach((digit, value) => { values[digit.charCodeAt(0)] = value; });
const text = require("fs").readFileSync(0, "latin1"), bytes = Buffer.alloc(text.length / 5 * 4);
for (let i = 0; i < text.length; i += 5) {
  let number = 0;
  for (let k = 0; k < 5; k++) number = number * 85 + values[text.charCodeAt(i + k)];
  bytes.writeUInt32BE(number, i / 5 * 4);
}
process.stdout.write(bytes);
"""


@pytest.fixture(autouse=True)
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)
    monkeypatch.setattr("kernlens.report.explore.single_file.viewer_script", lambda **_: VIEWER)


def test_a_page_holds_the_document() -> None:
    document = explore_document([opened(built())], title="a title")
    read = Page("".join(page(document, VIEWER)))
    assert set(read.index["chunks"]) == set(document.chunks)
    for chunk, frame in document.chunks.items():
        assert read.chunk(chunk) == unpacked(frame)
    columns = read.index["programs"][0]["kernels"]
    assert columns["memory"] == [0, 0], "the page's kernels were all decoded"
    assert read.index["title"] == "a title"


def test_kernels_that_are_alike_take_their_space_once() -> None:
    programs = [opened(built(f"scale{number:02}")) for number in range(20)]
    single, all_of_them = explore_document(programs[:1]), explore_document(programs)
    entries = Page("".join(page(all_of_them, VIEWER))).index["chunks"].values()
    frames = {entry["offset"]: entry["packed"] for entry in entries}
    alone = sum(map(len, single.chunks.values()))
    assert len(entries) > 20
    assert sum(frames.values()) < 8 * alone
    assert max(entry["start"] + entry["size"] for entry in entries) < 2 << 18


def test_nothing_is_asked_for() -> None:
    read = Page("".join(page(explore_document([opened(built())], title="t"), VIEWER)))
    (loader,) = read.scripts
    assert read.viewer == VIEWER
    loader_digest, digest = (
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in (loader, VIEWER)
    )
    assert read.policy == (
        f"default-src 'none'; script-src 'sha256-{loader_digest}' 'sha256-{digest}'; style-src 'none';"
        " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    assert [tag for tag, _ in read.tags][:4] == ["html", "head", "meta", "meta"]
    assert not {"src", "href", "style", "onload", "action"} & {name for _, values in read.tags for name in values}
    assert "://" not in re.sub(r">[^<]{200,}<", "><", read.text)


@pytest.mark.parametrize("word", HOSTILE, ids=["tag", "end", "comment", "controls", "halves", "long"])
def test_hostile_words_stay_in_their_blocks(word: str) -> None:
    text = "".join(page(explore_document([opened(built(word))], title=word), VIEWER))
    text.encode("utf-8", "strict")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f]", text)
    read = Page(text)
    assert [tag for tag, _ in read.tags] == [
        "html", "head", "meta", "meta", "meta", "title", "body", "div", "noscript", "script", "script", "script", "script",
    ]  # fmt: skip
    for chunk in read.index["chunks"]:
        read.chunk(chunk)


@pytest.mark.parametrize("script", ["a </SCRIPT >", "a <!-- b", "a\r\nb \N{SNOWMAN}"])
def test_a_script_stands_in_a_page_whatever_is_in_it(script: str) -> None:
    text = "".join(page(explore_document([]), script))
    assert script not in text
    assert Page(text).viewer == script


def test_a_page_begins_where_it_is_told_to() -> None:
    text = "".join(page(explore_document([]), VIEWER, state='#k=a"><script>&v=compare'))
    (begin,) = [values["data-state"] for tag, values in Page(text).tags if tag == "div"]
    assert begin == '#k=a"><script>&v=compare'


def test_another_language_reads_the_blocks() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    read = Page("".join(page(explore_document([opened(built())]), VIEWER)))
    block = re.search(r'id="chunks" data-bytes="">(.*?)</script>', read.text)
    assert block is not None
    script = JAVASCRIPT.replace("DIGITS", json.dumps(ALPHABET.decode()))
    done = subprocess.run([node, "-e", script], input=block[1].encode(), capture_output=True, check=True, timeout=60)
    for chunk, entry in read.index["chunks"].items():
        content = inflated(done.stdout[entry["offset"] : entry["offset"] + entry["packed"]])
        assert json.loads(content[entry["start"] :][: entry["size"]]) == read.chunk(chunk)


def test_the_verb_writes_one_file(kernlens: Kernlens, file: Path, tmp_path: Path) -> None:
    output = tmp_path / "x.html"
    done = kernlens("report", file, "-o", output, "--kernel", "scale")
    assert (done.status, done.err) == (0, "")
    assert done.out == f"written: {output} ({output.stat().st_size:,} bytes)\n"
    read = Page(output.read_text("utf-8"))
    assert read.index["title"] == "scale.bin"
    assert read.index["programs"][0]["kernels"]["name"] == ["scale"]
    (file_entry,) = read.index["programs"][0]["files"]
    assert file_entry["path"] == "scale.cl"


def test_a_source_that_is_given_is_in_the_page_and_a_redacted_one_is_not(
    kernlens: Kernlens, file: Path, tmp_path: Path
) -> None:
    source = tmp_path / "scale.cl"
    source.write_text("first line\nint secret_variable = 42;\nthird line\n")
    for redact in ((), ("--redact", "source")):
        assert kernlens("report", file, "-o", tmp_path / "x.html", "--source", source, *redact).status == 0
        read = Page((tmp_path / "x.html").read_text("utf-8"))
        everything = json.dumps([read.index, *map(read.chunk, read.index["chunks"])])
        assert ("secret_variable" in everything) == (not redact)
        assert read.index["redacted"] == (["source"] if redact else [])


def test_a_recording_that_did_not_compile_is_shown_with_its_log(kernlens: Kernlens, tmp_path: Path) -> None:
    from kernlens.recording.writer import RecordingWriter
    from tests.writers.recordings import FAILED

    path = tmp_path / "failed.klens"
    with RecordingWriter(path) as writer:
        writer.add(FAILED)
        writer.add(built())
    assert kernlens("report", path, "-o", tmp_path / "x.html").status == 0
    read = Page((tmp_path / "x.html").read_text("utf-8"))
    compiled, failed = read.index["programs"]
    assert (compiled["ok"], failed["ok"]) == (True, False)
    assert read.chunk(failed["log"])["text"] == "error: x"


def test_what_cannot_be_written_is_said(kernlens: Kernlens, file: Path, tmp_path: Path) -> None:
    done = kernlens("report", file, "-o", tmp_path / "no" / "x.html")
    assert done.status == 2
    assert "cannot write" in done.err
    assert kernlens("report", file).status == 2


class _Frames(HTMLParser):
    """The frames and scripts of a piece of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.frames: list[dict[str, str | None]] = []
        self.tags: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "iframe":
            self.frames.append(dict(attrs))


def test_a_notebook_shows_the_viewer_in_a_closed_frame() -> None:
    """The kernel alone knows its program's sources and stages; and a hostile word stays in the frame's text."""
    word = HOSTILE[1]
    kernel = opened(built(word)).kernels["scale"]
    shown = _Frames(kernel._repr_html_())
    assert shown.tags == {"strong", "iframe", "details", "summary", "pre"}
    (frame,) = shown.frames
    assert frame["sandbox"] == "allow-scripts"
    assert "src" not in frame
    read = Page(frame["srcdoc"] or "")
    assert "default-src 'none'" in read.policy
    (entry,) = read.index["programs"]
    assert entry["kernels"]["name"] == ["scale"]
    assert word in read.chunk(entry["files"][0]["chunk"])["text"]
    assert {stage["stage"] for stage in read.chunk(entry["kernels"]["chunk"][0])["stages"]} == {"llvm-codegen", "visa"}


def test_a_notebook_keeps_no_large_page(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = opened(built()).kernels["scale"]

    def page_size() -> int:
        frames = _Frames(kernel._repr_html_()).frames
        return len(frames[0]["srcdoc"] or "") if frames else 0

    whole = page_size()
    monkeypatch.setattr("kernlens.report.explore.single_file._NOTEBOOK_LIMIT", whole - 1)
    without_stages = page_size()
    assert 0 < without_stages < whole
    monkeypatch.setattr("kernlens.report.explore.single_file._NOTEBOOK_LIMIT", without_stages - 1)
    assert page_size() == 0


def test_a_program_goes_when_nobody_holds_it() -> None:
    """What makes a kernel's page holds no kernels: programs of a folder go one after the other."""
    program = opened(built())
    known = weakref.ref(program.kernels["scale"])
    gc.disable()
    try:
        del program
        assert known() is None
    finally:
        gc.enable()
