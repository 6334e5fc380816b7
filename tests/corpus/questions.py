"""Fifty questions of an engineer about kernels, with true answers, put to the MCP server and to the command line.

    python -m tests.corpus.questions FOLDER [--only TEXT] [--show]

The answers that are true come from the whole document of ``annotate --json``, which is counted anew here, and from ``iga64``
and ``readelf``-like tests elsewhere that hold that document; none comes from the short answers that are asked. A question is
answered if all that is true stands in the answer, and, where a first one is asked for, stands there first. Bytes are those of
the text that an agent reads; a call that fails counts. Written down before anything was measured.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from tests.tree import ROOT

Json = dict[str, Any]
#: The folder holds these beside the sources: all examples for two devices, and one source with an edit.
RECORDING, EDITED = "k.klens", "edited.cl"
KERNELS = ("blur", "neighbours", "threshold", "tone", "window")
DEVICES = ("dg2", "pvc")


@dataclass(frozen=True)
class Facts:
    """The whole documents of ``annotate --json``, kernel by kernel and device."""

    kernels: dict[tuple[str, str], Json]
    fast: Json

    def lines(self, kernel: str, device: str = "dg2") -> list[Json]:
        own: list[Json] = self.kernels[kernel, device]["lines"]
        return own

    def most(self, key: str, device: str = "dg2") -> str:
        return max(KERNELS, key=lambda name: self.value(name, key, device))

    def value(self, kernel: str, key: str, device: str = "dg2") -> int:
        own = self.kernels[kernel, device]
        return int(own.get(key) or own["costs"].get(key) or 0)


@dataclass(frozen=True)
class Question:
    """A question: ``true`` gives what the answer must say, the first item first if ``is_first``; ``call`` is the tool with its
    arguments, ``words`` are the command's."""

    text: str
    true: Callable[[Facts], Sequence[object]]
    call: tuple[str, Json]
    words: str
    is_first: bool = False


MEMORY = [f"{space}_{way}_bytes" for space in ("global", "slm", "scratch", "image") for way in ("load", "store")]


def _inspect(**more: object) -> tuple[str, Json]:
    return "inspect", {"path": RECORDING, **more}


def _annotate(**more: object) -> tuple[str, Json]:
    return "annotate", {"path": RECORDING, **more}


OF_ALL = [
    Question(
        "Which kernel spills most on dg2?",
        lambda f: [f.most("spill_stores"), f.value("window", "spill_stores")],
        _inspect(device="dg2", sort="spill-stores"),
        "inspect k.klens --device dg2 --sort spill-stores",
        True,
    ),
    Question(
        "Which kernel has most instructions on pvc?",
        lambda f: [f.most("instructions", "pvc")],
        _inspect(device="pvc", sort="instructions"),
        "inspect k.klens --device pvc --sort instructions",
        True,
    ),
    Question(
        "Which kernel has the largest code on dg2, and how large is it?",
        lambda f: [f.most("code_size"), f.value("window", "code_size")],
        _inspect(device="dg2", sort="code-size"),
        "inspect k.klens --device dg2 --sort code-size",
        True,
    ),
    Question(
        "Which kernel has the highest register pressure on dg2?",
        lambda f: [max(KERNELS, key=lambda name: f.kernels[name, "dg2"]["pressure"]["live_grfs"])],
        _inspect(device="dg2", sort="live-grfs"),
        "inspect k.klens --device dg2 --sort live-grfs",
        True,
    ),
    Question(
        "Which kernel loads most bytes of global memory on dg2?",
        lambda f: [f.most("global_load_bytes")],
        _inspect(device="dg2", sort="global-load-bytes"),
        "inspect k.klens --device dg2 --sort global-load-bytes",
        True,
    ),
    Question(
        "Which line of all kernels has most instructions on dg2?",
        lambda f: [
            (lambda at: f"{at[1]['path']}:{at[1]['line']}")(
                max(
                    ((name, line) for name in KERNELS for line in f.lines(name)),
                    key=lambda at: at[1]["costs"]["instructions"],
                )
            )
        ],
        _annotate(device="dg2", top=3),
        "annotate k.klens --device dg2 --top 3",
        True,
    ),
    Question(
        "Do the kernels stay within 0 spill stores on dg2, and which does not?",
        lambda f: ["window"],
        ("check", {"path": RECORDING, "device": "dg2", "limits": {"max-spill-stores": 0}}),
        "check k.klens --device dg2 --max-spill-stores 0",
    ),
    Question(
        "Does every kernel have a SIMD width of 16 at least on dg2?",
        lambda f: [5],
        ("check", {"path": RECORDING, "device": "dg2", "limits": {"min-simd": 16}}),
        "check k.klens --device dg2 --min-simd 16",
    ),
    Question(
        "Which kernels are in the folder?",
        lambda f: KERNELS,
        ("inspect", {"path": ".", "device": "dg2"}),
        "inspect k.klens --device dg2",
    ),
    Question(
        "Is blur.cl smaller on skl or on dg2?",
        lambda f: ["skl", "dg2", f.value("blur", "instructions")],
        ("sweep", {"path": "blur.cl", "device": ["skl", "dg2"]}),
        "sweep blur.cl --device skl,dg2 --sort instructions",
    ),
    Question(
        "What does -cl-fast-relaxed-math do to blur on dg2?",
        lambda f: [f.value("blur", "instructions"), f.fast["costs"]["instructions"]],
        ("diff", {"path": "blur.cl", "device": "dg2", "options": ["", "-cl-fast-relaxed-math"]}),
        "diff blur.cl --device dg2 --build-options '' --build-options -cl-fast-relaxed-math",
    ),
    Question(
        "What did the edit of blur.cl change?",
        lambda f: ["blur", "17"],
        ("diff", {"path": ["blur.cl", EDITED], "device": "dg2"}),
        f"diff blur.cl {EDITED} --device dg2",
    ),
    Question(
        "Does tone.cl compile for bmg's predecessor tgllp, and to how many instructions?",
        lambda f: ["tone", "tgllp"],
        ("compile", {"path": "tone.cl", "device": "tgllp"}),
        "compile tone.cl --device tgllp -o t.klens",
    ),
    Question(
        "Why does window spill: which line's values fill the registers?",
        lambda f: [max(f.kernels["window", "dg2"]["pressure"]["held"], key=lambda e: len(e["registers"]))["line"]],
        _annotate(kernel="window", device="dg2", pressure=True),
        "annotate k.klens --kernel window --device dg2 --pressure",
    ),
    Question(
        "What should be done about window first?",
        lambda f: ["window", "spill"],
        ("advise", {"path": RECORDING, "kernel": "window", "device": "dg2"}),
        "advise k.klens --kernel window --device dg2",
    ),
]


def _of_kernel(name: str, device: str) -> list[Question]:
    here: Json = {"path": RECORDING, "kernel": name, "device": device}
    words = f"{RECORDING} --kernel {name} --device {device}"

    def three(facts: Facts) -> list[str]:
        lines = sorted(facts.lines(name, device), key=lambda line: -int(line["costs"]["instructions"]))
        return [f"{line['path']}:{line['line']}" for line in lines[:3]]

    def moved(facts: Facts) -> list[int]:
        sums = {line["line"]: sum(line["costs"].get(key, 0) for key in MEMORY) for line in facts.lines(name, device)}
        most = max(sums.values())
        # Of two that move as much either is true.
        lines = [line for line, count in sums.items() if count == most]
        return [*(lines if len(lines) == 1 else []), most]

    return [
        Question(
            f"What SIMD width and how many registers has {name} on {device}?",
            lambda f: [f.value(name, "simd", device), f.value(name, "grf_count", device)],
            ("inspect", here),
            f"inspect {words}",
        ),
        Question(
            f"How much scratch memory does {name} use on {device}?",
            lambda f: [f.value(name, "scratch_bytes", device) or None],
            ("inspect", here),
            f"inspect {words}",
        ),
        Question(
            f"Which three lines of {name} have most instructions on {device}?",
            three,
            ("annotate", {**here, "top": 3}),
            f"annotate {words} --top 3",
            True,
        ),
        Question(
            f"Which line of {name} moves most memory on {device}, and how many bytes?",
            moved,
            ("annotate", {**here, "top": 1, "sort": "memory"}),
            f"annotate {words} --top 1 --sort memory",
        ),
        *_places_in(name, device, here, words),
    ]


def _places_in(name: str, device: str, here: Json, words: str) -> list[Question]:
    def peak(facts: Facts) -> list[object]:
        pressure = facts.kernels[name, device]["pressure"]
        return [pressure["live_grfs"], pressure["peak"]["line"]]

    return [
        Question(
            f"Which line is the instruction in the middle of {name} from on {device}?",
            lambda f: [f.kernels[name, device]["middle"]["line"]],
            ("annotate", {**here, "offsets": ["MIDDLE"]}),
            f"annotate {words} --offset MIDDLE",
        ),
        Question(
            f"Where does {name} wait longest on dg2?",
            lambda f: [f.kernels[name, "dg2"]["waiting"]],
            ("annotate", {**here, "device": "dg2", "top": 1, "sort": "wait"}),
            f"annotate {RECORDING} --kernel {name} --device dg2 --top 1 --sort wait",
        ),
        Question(
            f"How many registers are live at the peak of {name} on {device}, and at which line?",
            peak,
            ("annotate", {**here, "pressure": True}),
            f"annotate {words} --pressure",
        ),
    ]


QUESTIONS = [
    *OF_ALL,
    *(
        question
        for name in KERNELS
        for question in _of_kernel(name, "pvc" if name in ("neighbours", "tone") else "dg2")
    ),
]


def kernlens(folder: Path, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the command line in the folder, as a user's shell does."""
    return subprocess.run(
        [sys.executable, "-m", "kernlens", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def prepare(folder: Path) -> Facts:
    """Make the files that are asked about, and count what is true."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in KERNELS:
        (folder / f"{name}.cl").write_text((ROOT / "examples/kernels" / f"{name}.cl").read_text())
    blur = (folder / "blur.cl").read_text()
    (folder / EDITED).write_text(blur.replace("weight(i) * in", "weight(i) * weight(i) * in"))
    sources = [f"{name}.cl" for name in KERNELS]
    kernlens(folder, ["compile", *sources, "--device", ",".join(DEVICES), "-o", RECORDING])
    whole = json.loads(kernlens(folder, ["annotate", RECORDING, "--top", "1000", "--json"]).stdout)
    listed = json.loads(kernlens(folder, ["annotate", RECORDING, "--json"]).stdout)
    waits = json.loads(kernlens(folder, ["annotate", RECORDING, "--top", "1000", "--sort", "wait", "--json"]).stdout)
    kernels: dict[tuple[str, str], Json] = {}
    for document in (whole, listed, waits):
        for program in document["programs"]:
            for kernel in program["kernels"]:
                own = kernels.setdefault((kernel["name"], program["device"]), dict(kernel))
                if "instructions" in kernel:
                    own["middle"] = kernel["instructions"][len(kernel["instructions"]) // 2]
                if document is waits and kernel["lines"]:
                    own["waiting"] = max(kernel["lines"], key=lambda line: line["costs"].get("wait_cycles", 0))["line"]
    options = ["--device", "dg2", "--build-options", "-cl-fast-relaxed-math", "--json", "--top", "1000"]
    fast = json.loads(kernlens(folder, ["annotate", "blur.cl", *options]).stdout)
    return Facts(kernels, fast["programs"][0]["kernels"][0])


def verdict(question: Question, facts: Facts, answer: str) -> bool:
    """Return whether all that is true stands in the answer, as a word or a number of its own."""
    places = []
    # Of text the commas within numbers go; JSON has commas between them.
    plain = answer if answer.startswith("{") else re.sub(r"(?<=\d),(?=\d{3}\b)", "", answer)
    for value in filter(lambda value: value is not None, question.true(facts)):
        match = re.search(rf"(?<![\w.-]){re.escape(str(value))}(?![\w-])", plain)
        if match is None:
            return False
        places.append(match.start())
    if question.is_first:
        others = [
            other.start()
            for name in KERNELS
            if (other := re.search(rf"\b{name}\b", plain)) and name != question.true(facts)[0]
        ]
        first = str(question.true(facts)[0])
        return places[0] == min(places) and (first not in KERNELS or all(places[0] < each for each in others))
    return True


async def _asked(folder: Path, facts: Facts, questions: Sequence[Question]) -> list[tuple[str, int]]:
    from tests.integration.mcp.test_mcp import parameters

    answers = []
    async with Client(stdio_client(parameters(folder))) as client:
        listed = await client.list_tools()
        tools = [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools]
        size = len(json.dumps(tools, separators=(",", ":")))
        print(f"the list of tools has {size:,} bytes")
        for question in questions:
            tool, arguments = question.call
            filled = json.loads(_filled(json.dumps(arguments), question, facts))
            result = await client.call_tool(tool, filled)
            answers.append(("".join(content.text for content in result.content), 1))
    return answers


def _filled(words: str, question: Question, facts: Facts) -> str:
    if "MIDDLE" not in words:
        return words
    own = question.call[1]
    return words.replace("MIDDLE", f"{facts.kernels[own['kernel'], own['device']]['middle']['offset']:#x}")


def main() -> None:
    """Ask all questions both ways, and print calls, bytes and verdicts."""
    folder = Path(sys.argv[1])
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    facts = prepare(folder)
    questions = [question for question in QUESTIONS if only in question.text]
    of_server = anyio.run(_asked, folder, facts, questions)
    begun = time.monotonic()
    of_shell = []
    for question in questions:
        done = kernlens(folder, shlex.split(_filled(question.words, question, facts)))
        of_shell.append((done.stdout + done.stderr, 1))
    print(f"{time.monotonic() - begun:.1f} s by the command line")
    for way, answers in (("MCP", of_server), ("CLI", of_shell)):
        true = [verdict(question, facts, text) for question, (text, _) in zip(questions, answers, strict=True)]
        sizes = [len(text.encode()) for text, _ in answers]
        print(f"{way}: {sum(true)} of {len(true)} true, {sum(sizes) / len(sizes):,.0f} bytes, largest {max(sizes):,}")
        for question, (text, _), is_true in zip(questions, answers, true, strict=True):
            if not is_true or "--show" in sys.argv:
                print(
                    f"  {'true ' if is_true else 'FALSE'} {len(text):6,} {question.text} {list(question.true(facts))}"
                )
                if "--show" in sys.argv:
                    print("        ", text[:1600].replace("\n", "\n         "))


if __name__ == "__main__":
    main()
