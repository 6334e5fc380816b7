"""Regressions that are put into real kernels by a seed, and what ``check`` and ``diff`` say of them: no status 0, the right
kernel named, and in edits of several hunks the right hunk: ``python -m tests.corpus.regressions --help``."""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from kernlens import load
from tests.environment import cache_folder
from tests.warm_commands import kernlens

#: Folders of kernels of real programs.
FOLDERS = ("darktable", "python3-pyfai", "python3-silx", "piglit")
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
_CHECKED = ("--device", "dg2", "--tolerance", "occupancy=any", "--fail-on-new", "--allow-unknown")


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


def judge(seed: Seeded, folder: Path, includes: str) -> Iterator[str]:
    """Yield what is wrong with the answers; "left out" if the source does not compile as it is, or to the same code now, ""
    where a hunk is right."""
    old, new = folder / "old" / "seeded.cl", folder / "new" / "seeded.cl"
    for path, text in ((old, seed.before), (new, seed.after)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
        (path.parent / "kernlens.toml").write_text(seed.project)
    words = f"--build-options={includes}"
    built = kernlens("sweep", old, "--device", "dg2", words, "-o", folder / "base.klens")
    if built.returncode:
        yield "left out"
        return
    now = f"{words} {seed.options}".rstrip()
    rebuilt = kernlens("sweep", new, "--device", "dg2", now, "-o", folder / "new.klens")
    if not rebuilt.returncode and _machine_code(folder / "base.klens") == _machine_code(folder / "new.klens"):
        yield "left out"  # The edit is in code that the preprocessor drops, or the kernel had this width.
        return
    done = kernlens("check", new, *_CHECKED, now, "--baseline", folder / "base.klens")
    if done.returncode not in (1, 3):
        yield f"status {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"
        return
    if seed.kernel not in done.stdout and seed.kind != "a broken source":
        yield f"{seed.kernel} is not named: {done.stdout[:300]}"
    if seed.kind == "a broken source" and "seeded_fault" not in done.stdout + done.stderr:
        yield f"the fault is not named: {done.stdout[:300]}"
    if not seed.line:
        return
    compared = kernlens("diff", old.parent, new.parent, "--device", "dg2", words, "--json")
    hunks = json.loads(compared.stdout)["sources"]["hunks"]
    changing = [hunk["line"] for hunk in hunks if hunk["kernels"]]
    yield (
        ""
        if [seed.line] == changing or [seed.line - 1] == changing
        else f"hunks {changing}, not {seed.line}: {hunks!s:.300}"
    )


def _machine_code(path: Path) -> Counter[tuple[str, bytes]]:
    return Counter((kernel.name, bytes(kernel.code)) for program in load(path) for kernel in program.kernels)


def sources(folders: Sequence[str]) -> list[Path]:
    """Return the sources of the programs."""
    packages = cache_folder() / "packages"
    return sorted(path for folder in folders for path in (packages / folder).rglob("*.cl"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts; exit status 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=inf, help="begin none later")
    parser.add_argument(
        "--folder", action="append", help=f"packages of the tests' cache, or paths (default: {', '.join(FOLDERS)})"
    )
    chosen = parser.parse_args(arguments)
    generator = random.Random(chosen.seed)
    paths = sources(chosen.folder or FOLDERS)
    outcomes: Counter[tuple[str, str]] = Counter()
    wrong, until = 0, time.monotonic() + chosen.seconds
    while (
        time.monotonic() < until
        and sum(count for (_, outcome), count in outcomes.items() if outcome != "hunk right") < chosen.count
    ):
        path, kind = generator.choice(paths), generator.choice(KINDS)
        seed = seeded(path.read_text("utf-8", "replace"), kind, generator)
        if seed is None:
            continue
        folder = Path(tempfile.mkdtemp(prefix="regression-"))
        answers = list(judge(seed, folder, f"-I {path.parent}"))
        shutil.rmtree(folder)
        if answers == ["left out"]:
            continue
        for answer in filter(None, answers):
            wrong += 1
            print(f"{path.name} {seed.kernel}, {kind}: {answer}", flush=True)
        outcomes[kind, "wrong" if any(answers) else "right"] += 1
        if "" in answers:
            outcomes[kind, "hunk right"] += 1
    for kind in KINDS:
        print(f"{kind}: {', '.join(f'{outcomes[kind, name]} {name}' for name in ('right', 'wrong', 'hunk right'))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
