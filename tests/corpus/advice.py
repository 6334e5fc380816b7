"""The advice on the corpus: how often each rule speaks, and pieces drawn to be judged by hand.

python -m tests.corpus.advice --newest-root ROOT --device dg2 --device bmg --program darktable/
python -m tests.corpus.advice --path opencv.klens --draw 40 --seed 23
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import kernlens
from kernlens.analysis.advice.rules import RULES
from kernlens.analysis.line_texts import source_line
from kernlens.answers import Advice, AdvisedKernel
from kernlens.toolchain.toolchains import SYSTEM
from tests.corpus.build import JOINED, main_source
from tests.corpus.manifest import CorpusProgram, programs
from tests.corpus.packages import fetch

#: Source lines that are shown around that of a drawn piece.
_AROUND = 2


def main() -> int:
    """Print a row for each rule: kernels, source lines, and pieces of advice; then what was drawn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toolchain", default="", help="the toolchain that compiles the corpus")
    parser.add_argument("--device", action="append", default=[])
    parser.add_argument("--program", action="append", default=[], help="a name of the corpus, or the start of one")
    parser.add_argument("--path", action="append", default=[], help="a recording or binary besides the corpus")
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chosen = [each for each in programs() if each.name.startswith(tuple(arguments.program))]
    drawn: list[tuple[AdvisedKernel, Advice]] = []
    for device in arguments.device:
        drawn += counted(device, list(_of_corpus(chosen, device, arguments.toolchain)))
    for path in arguments.path:
        drawn += counted(path, list(kernlens.advise(path).kernels))
    random.seed(arguments.seed)
    for number, (kernel, piece) in enumerate(random.sample(drawn, min(arguments.draw, len(drawn))), 1):
        print(f"\n{number}. {kernel.program.name} {kernel.kernel.name} on {kernel.program.device}: {piece.rule}")
        print(f"   {piece.sentence}")
        for line in _shown(kernel, piece):
            print(f"   {line}")
    return 0


def _of_corpus(chosen: Sequence[CorpusProgram], device: str, toolchain: str) -> Iterator[AdvisedKernel]:
    folder = fetch(dict.fromkeys(name for program in chosen for name in program.packages))
    with contextlib.chdir(folder):
        for program in chosen:
            options = f"-I. -I{JOINED} {program.options}".rstrip()
            yield from kernlens.advise(
                main_source(program), device=device, toolchain=toolchain or SYSTEM, options=options
            ).kernels


def counted(title: str, kernels: list[AdvisedKernel]) -> list[tuple[AdvisedKernel, Advice]]:
    """Print the table of a device or path, and return its pieces, each place of a source once."""
    without = sum(each.reason is not None for each in kernels)
    print(f"{title}: {len(kernels)} kernels, {without} of them without lines or text")
    kernels_of: Counter[str] = Counter()
    pieces_of: Counter[str] = Counter()
    places: dict[tuple[object, ...], tuple[AdvisedKernel, Advice]] = {}
    for each in kernels:
        kernels_of.update({piece.rule for piece in each.advice})
        pieces_of.update(piece.rule for piece in each.advice)
        for piece in each.advice:
            place = piece.path or each.kernel.name
            places.setdefault((piece.rule, place, piece.line, piece.column), (each, piece))
    lines_of = Counter(rule for rule, *_ in {key[:3] for key in places})
    for rule in RULES:
        print(
            f"  {rule.key:32} {kernels_of[rule.key]:4} kernels {lines_of[rule.key]:4} lines {pieces_of[rule.key]:5} pieces"
        )
    return list(places.values())


def _shown(kernel: AdvisedKernel, piece: Advice) -> Iterator[str]:
    texts = kernel.program.source_lines
    for line in range(piece.line - _AROUND, piece.line + _AROUND + 1) if piece.path else ():
        text = source_line(texts, piece.path or "", line)
        if text is not None:
            yield f"{'>' if line == piece.line else ' '} {line}: {text}"


if __name__ == "__main__":
    sys.exit(main())
