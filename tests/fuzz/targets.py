"""All targets by name, and the inputs that are kept of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import assembly, cuda, debug_data, formats, includes, linking, recordings, texts, whole_files

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Target:
    """The function that takes one input's bytes to a family of readers.

    ``brief`` is how many inputs it gets before a release, about six seconds' worth; a run of all tests tries an eighth.
    ``size`` is the most bytes that the fuzzer makes. Inputs that are ``binary`` have headers with lengths in them.
    """

    run: Callable[[bytes], None]
    brief: int
    size: int = 1 << 15
    is_binary: bool = False

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def folder(self) -> Path:
        """The folder of its kept inputs."""
        return CORPUS / self.name

    def kept_inputs(self) -> list[Path]:
        """Return its kept inputs."""
        return sorted(self.folder.iterdir())


TARGETS = {
    target.name: target
    for target in (
        Target(texts.budgets, 9_000, 1 << 13),
        Target(texts.stall_samples, 40_000, 1 << 13),
        Target(texts.ze_info, 22_000, 1 << 13),
        Target(texts.listings, 3_500, 1 << 14),
        Target(texts.stages, 5_100, 1 << 15),
        Target(texts.sources, 7_300, 1 << 12),
        Target(includes.confined_includes, 40, 1 << 10),
        Target(assembly.edited_binary, 8_000, is_binary=True),
        Target(assembly.edited_text, 2_000, 1 << 12),
        Target(texts.logs, 26_000, 1 << 12),
        Target(formats.elf, 72_000, is_binary=True),
        Target(formats.zebin, 35_000, is_binary=True),
        Target(formats.patch_tokens, 70_000, is_binary=True),
        Target(formats.llvm_bitcode, 20_000, is_binary=True),
        Target(formats.rusticl, 13_000, 1 << 12, is_binary=True),
        Target(formats.poclbin, 70_000, is_binary=True),
        Target(formats.ar, 95_000, is_binary=True),
        Target(formats.offload_bundle, 67_000, is_binary=True),
        Target(formats.offload_binary, 60_000, 1 << 12, is_binary=True),
        Target(formats.zstd, 130_000, 1 << 12),
        Target(formats.spirv, 17_000, is_binary=True),
        Target(formats.neo_elf, 10_000, is_binary=True),
        Target(formats.messagepack, 100_000, 1 << 12),
        Target(formats.clang_bundle, 90_000, is_binary=True),
        Target(formats.code_object, 40_000, is_binary=True),
        Target(cuda.ptx, 6_000, 1 << 13),
        Target(cuda.sass_listing, 6_000, 1 << 12),
        Target(cuda.triton_text, 6_000, 1 << 13),
        Target(cuda.cubin, 6_000, is_binary=True),
        Target(cuda.fatbin, 60_000, is_binary=True),
        Target(cuda.compute_cache, 60_000, 1 << 12, is_binary=True),
        Target(debug_data.dwarf, 8_300, 1 << 13),
        Target(debug_data.expressions, 900, 1 << 9, is_binary=True),
        Target(linking.zebin_link, 15_000, is_binary=True),
        Target(linking.composed_link, 5_300, 1 << 13),
        Target(recordings.recording_changes, 930, 1 << 10),
        Target(recordings.recording_bytes, 5_900, 1 << 17, is_binary=True),
        Target(whole_files.files, 1_300, is_binary=True),
        Target(whole_files.composed_files, 950, 1 << 12),
    )
}


def named(names: Sequence[str]) -> list[Target]:
    """Return the targets of these names. Ends the program with a sentence if there is none of one."""
    for name in names:
        if name not in TARGETS:
            raise SystemExit(f"there is no target {name}; there are {', '.join(TARGETS)}")
    return [TARGETS[name] for name in names]
