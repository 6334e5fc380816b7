"""Regressions that are put into real kernels by a seed, and what ``check`` and ``diff`` say of them: no status 0, the right
kernel named and no other, and in edits of several hunks the right hunk.

    python -m tests.corpus.regressions --journal FOLDER --seconds 600 --folder darktable --folder CHECKOUT ...

Every case has a seed of its own, and its answer is a line of the journal: the next run goes on behind them. An edit after which
``ocloc`` alone, without kernlens, makes the same bytes is no regression, and is counted by itself.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path

from kernlens import load
from tests.environment import cache_folder
from tests.warm_commands import kernlens

#: Folders of kernels of real programs, among the packages of the tests' cache.
FOLDERS = ("darktable", "python3-pyfai", "python3-silx", "piglit")
#: Sources with more characters are left out: each case compiles several times.
LARGEST = 20_000
DEVICE = "dg2"
#: A kernel of the source up to its body: what stands before its name, its name, and its parameters.
_KERNEL = re.compile(
    r"^[ \t]*(?:__)?kernel\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?void\s+(\w+)\s*\(([^{};]*)\)\s*\{", re.M
)
#: A parameter that the kernel may write: a pointer to global memory that is not const.
_POINTER = re.compile(r"(?:^|,)\s*(?:__)?global\s+(?!const)[^,]*?\*[^,]*?(\w+)\s*$", re.M)
_EXTENSIONS = {
    "spills": "volatile global float *seeded = (volatile global float *){0};\n float many[220];\n"
    ' _Pragma("unroll") for (int i = 0; i < 220; i++) many[i] = seeded[get_global_id(0) + i * 64];\n'
    ' _Pragma("unroll") for (int i = 219; i >= 0; i--) seeded[get_global_id(0) + i * 64] = many[i] * many[(i * 7) % 220];\n',
    "private memory": "volatile float kept[96];\n"
    " for (int i = 0; i < 96; i++) kept[(i * 7 + (int)get_global_id(0)) % 96] = i;\n"
    " ((volatile global float *){0})[get_global_id(0)] = kept[(int)get_global_id(0) % 96];\n",
    "size": "volatile global float *seeded = (volatile global float *){0};\n"
    " int at = get_global_id(0);\n seeded[at] = pow(seeded[at], seeded[at + 1]) + tan(seeded[at + 2]);\n",
}
KINDS = (*_EXTENSIONS, "SIMD width", "registers", "a new kernel", "a variant", "a broken source")
_NEW = "\nkernel void seeded_kernel(global float *a) { a[get_global_id(0)] = pow(a[get_global_id(0)], 0.3f); }\n"
_CHECKED = ("--device", DEVICE, "--tolerance", "occupancy=any", "--fail-on-new", "--allow-unknown")


@dataclass(frozen=True)
class Seeded:
    """A source before and behind an edit, the kernel that gets worse, options for its compile now, and the new lines of the
    edit's hunk that does it; 0 if there is one hunk alone."""

    kind: str
    before: str
    after: str
    kernel: str
    options: str = ""
    project: str = ""
    line: int = 0

    @property
    def variants(self) -> list[str]:
        """The options of each variant that the project file has."""
        return ["-D SEEDED=0", "-D SEEDED=1"] if self.project else [""]


def seeded(text: str, kind: str, generator: random.Random) -> Seeded | None:
    """Return a regression of a kind; None if no kernel of the source has a place for it."""
    kernels = [
        match
        for match in _KERNEL.finditer(text)
        if (kind not in _EXTENSIONS and kind != "a variant") or _POINTER.search(match[2])
    ]
    if not kernels:
        return None
    match = generator.choice(kernels)
    name, begin = match[1], match.end()
    if kind == "registers":
        return Seeded(kind, text, text, name, options="-cl-intel-256-GRF-per-thread")
    if kind == "a new kernel":
        return Seeded(kind, text, text + _NEW, "seeded_kernel")
    if kind == "a broken source":
        return Seeded(kind, text, f"{text[:begin]} seeded_fault = 1; {text[begin:]}", name)
    if kind == "SIMD width":
        at = match.start() + match[0].index("void")
        return Seeded(kind, text, f"{text[:at]}__attribute__((intel_reqd_sub_group_size(8))) {text[at:]}", name)
    pointer = _POINTER.search(match[2])
    assert pointer is not None
    if kind == "a variant":
        code = _EXTENSIONS["size"].replace("{0}", pointer[1])
        after = f"{text[:begin]}\n#if SEEDED == 1\n{{ {code} }}\n#endif\n{text[begin:]}"
        return Seeded(kind, text, after, name, project='[source."*.cl".define]\nSEEDED = [0, 1]\n')
    code = _EXTENSIONS[kind].replace("{0}", pointer[1])
    after, line = f"{text[:begin]}\n{{ {code} }}\n{text[begin:]}", text.count("\n", 0, begin) + 2
    others = [other for other in _KERNEL.finditer(text) if abs(other.start() - match.start()) > 400]
    if not others or generator.random() < 0.4:
        return Seeded(kind, text, after, name)
    # A second hunk, elsewhere, that changes no code.
    other = generator.choice(others).end()
    harmless = "\n  const int seeded_unused = 3; (void)seeded_unused;\n"
    if other > begin:
        other += len(after) - len(text)
    else:
        line += harmless.count("\n")
    return Seeded(kind, text, f"{after[:other]}{harmless}{after[other:]}", name, line=line)


@dataclass(frozen=True)
class Base:
    """A source as it was, in a folder of its own with its build, which all cases of it share."""

    folder: Path
    includes: str

    @property
    def source(self) -> Path:
        return self.folder / "old" / "seeded.cl"

    @property
    def recording(self) -> Path:
        return self.folder / "base.klens"

    @cached_property
    def kernels(self) -> list[str]:
        """The names of its kernels; none if it does not compile."""
        names = self.folder / "names.json"
        if not names.exists():
            built = kernlens(
                "sweep", self.source, "--device", DEVICE, f"--build-options={self.includes}", "-o", self.recording
            )
            programs = [] if built.returncode else list(load(self.recording))
            names.write_text(json.dumps(sorted({kernel.name for program in programs for kernel in program.kernels})))
        return list(json.loads(names.read_text()))


def based(seed: Seeded, path: Path, journal: Path) -> Base:
    """Return the source of a case as it was, under the journal's folder."""
    key = hashlib.sha256(f"{path}\0{seed.project}".encode()).hexdigest()[:20]
    base = Base(journal / "bases" / key, f"-I {path.parent}")
    base.source.parent.mkdir(parents=True, exist_ok=True)
    if not base.source.exists():
        base.source.write_text(seed.before)
        (base.source.parent / "kernlens.toml").write_text(seed.project)
    return base


def judge(seed: Seeded, base: Base, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the outcomes of a case with what is wrong: "right" or "wrong", of hunks too; or one that says why it is none."""
    if seed.kernel not in (*base.kernels, "seeded_kernel") or not base.kernels:
        yield "left out", "it does not compile as it is, or has another name for the kernel"
        return
    new = folder / "new" / "seeded.cl"
    new.parent.mkdir()
    new.write_text(seed.after)
    (new.parent / "kernlens.toml").write_text(seed.project)
    words = f"--build-options={base.includes} {seed.options}".rstrip()
    done = kernlens("check", new, *_CHECKED, words, "--baseline", base.recording)
    changed: set[str] | None = None
    if done.returncode == 0 or _named(done.stdout) - {seed.kernel}:
        old, now = (
            machine_code(base.source, base.includes, seed),
            machine_code(new, f"{base.includes} {seed.options}", seed),
        )
        changed = {name for name in old.keys() | now.keys() if old.get(name) != now.get(name)}
        if not changed and old:
            yield "equal code", ""
            return
    fault = _fault(seed, done, changed)
    yield ("wrong" if fault else "right"), fault
    if not seed.line:
        return
    compared = kernlens(
        "diff", base.source.parent, new.parent, "--device", DEVICE, f"--build-options={base.includes}", "--json"
    )
    hunks = json.loads(compared.stdout)["sources"]["hunks"] if compared.stdout else []
    changing = [hunk["line"] for hunk in hunks if hunk["kernels"]]
    if changing in ([seed.line], [seed.line - 1]):
        yield "hunk right", ""
    else:
        yield "hunk wrong", f"hunks {changing}, not {seed.line}: {hunks!s:.300}{compared.stderr[-200:]}"


def _named(text: str) -> set[str]:
    """Return the kernels that an answer of ``check`` names as failing or new."""
    new = re.findall(r"^new, not in the baseline: (\S+)", text, re.M)
    return {*re.findall(rf"^(\S+)  .* on {DEVICE} ", text, re.M), *new} - {"new,"}


def _fault(seed: Seeded, done: subprocess.CompletedProcess[str], changed: set[str] | None) -> str:
    """Return what is wrong with an answer of ``check``, given the kernels whose code really changed; empty if nothing is."""
    if done.returncode not in (1, 3):
        return f"status {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"
    if seed.kind == "a broken source":
        is_named = done.returncode == 3 and "seeded_fault" in done.stdout + done.stderr
        return "" if is_named else f"the fault is not named: {done.stdout[-300:]}"
    named = _named(done.stdout)
    # The compiler lays out other kernels of a source anew where one needs more: those may be named as well, but no others.
    if seed.kernel not in named or not named <= {seed.kernel, *(changed or ())} | ({*named} if seed.options else set()):
        return f"{sorted(named)} are named, not {seed.kernel}; {changed} changed: {done.stdout[:300]}"
    return ""


def machine_code(source: Path, options: str, seed: Seeded) -> dict[str, list[bytes]]:
    """Return the code of each kernel, variant by variant, as ``ocloc disasm`` takes it out of what ``ocloc compile`` makes;
    nothing if that fails."""
    code: dict[str, list[bytes]] = {}
    for variant in seed.variants:
        with tempfile.TemporaryDirectory() as folder:
            built = f"-gline-tables-only -I {source.parent} {options} {variant}"
            words: list[str | Path] = ["ocloc", "compile", "-file", source, "-device", DEVICE]
            words += ["-options", built, "-out_dir", folder]
            if subprocess.run(words, capture_output=True, check=False).returncode:
                return {}
            (binary,) = Path(folder).glob("*.bin")
            dump = Path(folder) / "dump"
            words = ["ocloc", "disasm", "-file", binary, "-device", DEVICE, "-dump", dump]
            subprocess.run(words, capture_output=True, check=True)
            for path in sorted(dump.glob("*_KernelHeap.*")):
                code.setdefault(path.name.partition("_KernelHeap")[0], []).append(path.read_bytes())
    return code


def sources(folders: Sequence[str]) -> list[list[Path]]:
    """Return the sources of each program."""
    packages = cache_folder() / "packages"
    return [
        [path for path in sorted((packages / folder).rglob("*.cl")) if 0 < path.stat().st_size <= LARGEST]
        for folder in folders
    ]


def case(number: int, seed: int, programs: Sequence[Sequence[Path]], journal: Path) -> list[dict[str, object]]:
    """Return the lines of the journal for a case: it begins anew where a source has no place for its kind."""
    generator = random.Random(f"{seed} {number}")
    while True:
        path, kind = generator.choice(generator.choice(programs)), generator.choice(KINDS)
        regression = seeded(path.read_text("utf-8", "replace"), kind, generator)
        if regression is not None:
            break
    about = {"case": number, "path": str(path), "kernel": regression.kernel, "kind": kind}
    with tempfile.TemporaryDirectory(prefix="regression-", ignore_cleanup_errors=True) as folder:
        answers = list(judge(regression, based(regression, path, journal), Path(folder)))
        if any(outcome.endswith("wrong") for outcome, _ in answers):
            shutil.copytree(folder, journal / "wrong" / str(number), dirs_exist_ok=True)
    return [{**about, "outcome": outcome, "why": why} for outcome, why in answers]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts; exit status 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--count", type=int, default=1000, help="regressions that are judged, those of earlier runs too"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=inf, help="begin none later")
    parser.add_argument("--most", type=int, help="sources of a program, so that base builds serve often")
    parser.add_argument("--again", action="store_true", help="judge those anew that were wrong, and no others")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--journal", type=Path, default=cache_folder() / "regressions")
    parser.add_argument(
        "--folder", action="append", help=f"packages of the tests' cache, or paths (default: {', '.join(FOLDERS)})"
    )
    chosen = parser.parse_args(arguments)
    chosen.journal.mkdir(parents=True, exist_ok=True)
    everything = [paths for paths in sources(chosen.folder or FOLDERS) if paths]
    programs = everything
    if chosen.most is not None:
        programs = [random.Random(chosen.seed).sample(paths, min(chosen.most, len(paths))) for paths in everything]
    until = time.monotonic() + chosen.seconds
    answers = chosen.journal / f"answers-{chosen.seed}.jsonl"
    lines = [json.loads(line) for line in answers.read_text().splitlines()] if answers.exists() else []
    again = sorted({line["case"] for line in lines if line["outcome"].endswith("wrong")}) if chosen.again else []
    lines = [line for line in lines if line["case"] not in again]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first = max((line["case"] for line in lines), default=-1) + 1
    numbers = iter(again) if chosen.again else itertools.count(first)
    with answers.open("a") as written, ThreadPoolExecutor(chosen.jobs) as pool:
        # A few at a time, so that the journal has no gaps when it ends.
        while batch := list(itertools.islice(numbers, 4 * chosen.jobs)):
            for outcomes in pool.map(lambda each: case(each, chosen.seed, programs, chosen.journal), batch):
                written.writelines(json.dumps(line) + "\n" for line in outcomes)
                lines += outcomes
            written.flush()
            judged = sum(line["outcome"] in ("right", "wrong") for line in lines)
            if not chosen.again and (time.monotonic() > until or judged >= chosen.count):
                break
    for kind in KINDS:
        counts = Counter(line["outcome"] for line in lines if line["kind"] == kind)
        print(f"{kind}: {', '.join(f'{count} {outcome}' for outcome, count in counts.most_common())}")
    wrong = [line for line in lines if line["outcome"].endswith("wrong")]
    for line in wrong:
        print("{case} {path} {kernel}, {kind}: {why}".format(**line))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
