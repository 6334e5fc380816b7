"""What lights up is what the document's places and vISA numbers say, which tests/integration/report/test_explore_links.py
compares with ``annotate --json``: 50 random instructions of three kernels, of both compilers."""

from __future__ import annotations

import random

from kernlens.report.explore import ExploreDocument
from tests.browser.conftest import Open
from tests.explore_reader import NOT_OWN, KernelChunk, unpacked
from tests.whole import WHOLE

#: Goes to each offset by the address, opens the list of what is lit, and reads it: by line, and exactly.
READ = """async offsets => {
  const root = document.getElementById("kernlens").shadowRoot;
  const until = async test => { while (!test()) await new Promise(done => setTimeout(done)); };
  const press = key => window.dispatchEvent(new KeyboardEvent("keydown", {key, cancelable: true}));
  const list = () => {
    root.querySelector("dialog .sheet-body").replaceChildren();
    press("L");
    const found = {};
    for (const section of root.querySelectorAll("dialog section"))
      found[section.querySelector("h3").textContent.replace(/: \\d+$/, "")] =
        [...section.querySelectorAll("button")].map(button => button.textContent.split("  ")[0]);
    root.querySelector("dialog").close();
    return found;
  };
  const answers = [];
  for (const offset of offsets) {
    location.hash = location.hash.replace(/&[lix]=[^&]*/g, "") + "&i=0x" + offset.toString(16);
    const shown = "0x" + offset.toString(16).padStart(4, "0");
    await until(() => root.querySelector("aside .at")?.textContent === shown);
    const byLine = list();
    press("x");
    answers.push([byLine, root.querySelector("footer .told").textContent.startsWith("No exact") ? null : list()]);
    root.querySelector("footer .told").textContent = "";
  }
  return answers;
}"""


def test_links_are_those_of_the_map(open_report: Open, denoise: ExploreDocument) -> None:
    (program,) = denoise.index["programs"]
    kernels = sorted(
        zip(program["kernels"]["instructions"], program["kernels"]["name"], program["kernels"]["chunk"], strict=True)
    )
    titles = {stage["name"]: stage["title"] for stage in program["stages"]}
    linked = exact = 0
    # So small that no time goes into drawing: what is linked is the same.
    viewer = open_report(denoise, width=400, height=300)
    for _, name, chunk_id in (kernels[4], kernels[10], kernels[-1]):
        chunk = KernelChunk(unpacked(denoise.chunks[chunk_id]))
        stage = chunk.stages["llvm-codegen"]
        rows = random.Random(name).sample(range(len(chunk.rows)), min(50 if WHOLE else 25, len(chunk.rows)))
        viewer.tab.evaluate("name => { location.hash = 'k=' + name; }", name)
        viewer.find(".pick .name").get_by_text(name, exact=True).wait_for()
        answers = viewer.tab.evaluate(READ, [chunk.offsets[row] for row in rows])
        for row, (by_line, exactly) in zip(rows, answers, strict=True):
            place = chunk.places[row]
            line = None if place is None else (place.path, place.line)
            own = [
                f"{chunk.offsets[other]:#06x}"
                for other, at in enumerate(chunk.places)
                if line is not None
                and at is not None
                and (at.path, at.line) == line
                and not chunk.flags[other] & NOT_OWN
            ]
            of_stage = [
                str(stage.lines[other])
                for other, number in enumerate(stage.places)
                if line is not None and (at := chunk.place(number)) is not None and (at.path, at.line) == line
            ]
            assert by_line.get("Machine code", []) == own
            assert by_line.get(titles["llvm-codegen"], []) == of_stage
            linked += bool(own and of_stage)
            number = chunk.ids[row] if chunk.ids else -1
            tied = [str(stage.lines[other]) for other, numbers in enumerate(stage.numbers) if number in numbers]
            assert (exactly or {}).get(titles["llvm-codegen"], []) == tied
            exact += bool(tied)
    # The sample is not of instructions that nothing is known of.
    assert linked > (100 if WHOLE else 50)
    assert exact > (60 if WHOLE else 30)
