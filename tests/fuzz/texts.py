"""Targets for what is read out of texts: ze_info, listings, sources, logs."""

from __future__ import annotations

import itertools

from kernlens.formats.budget_file import read_budget_file
from kernlens.formats.listings import (
    gen_assembly,
    host_assembly,
    llvm_ir,
    llvm_parts,
    spilled_registers,
    spirv_assembly,
    spirv_cut,
    visa_assembly,
    visa_llvm_map,
)
from kernlens.formats.samples.nsight_compute import is_source_page, read_source_page
from kernlens.formats.samples.thread_trace import is_thread_trace, read_thread_trace
from kernlens.formats.samples.unitrace import read_unitrace
from kernlens.formats.zebin.ze_info import ZeInfo, read_ze_info
from kernlens.model.build import Source
from kernlens.model.stage import BINARY, TEXT, Snapshot
from tests.fuzz.inputs import folder, parts, texts
from tests.fuzz.rendering import check_lines


def everything_of(info: ZeInfo) -> None:
    """Read what the entries of a ze_info say."""
    for entry in info.kernels.values():
        _ = entry.resources, entry.arguments


def budgets(data: bytes) -> None:
    """Read a kernlens.toml."""
    read_budget_file(data, "kernlens.toml")


def stall_samples(data: bytes) -> None:
    """Read a profiler's samples."""
    if is_thread_trace(data):
        samples = read_thread_trace(data)
    else:
        samples = read_source_page(data) if is_source_page(data) else read_unitrace(data)
    for each in samples.kernels:
        assert all(len(counts) == len(samples.measures) for counts in each.measured.values())
    assert all(len(counts) == len(samples.reasons) for each in samples.kernels for counts in each.counts.values())


def ze_info(data: bytes) -> None:
    """Read one ze_info."""
    everything_of(read_ze_info(memoryview(data)))


_LISTINGS = (
    gen_assembly.read_gen_assembly_lines,
    host_assembly.read_host_assembly_lines,
    llvm_ir.read_llvm_lines,
    spirv_assembly.read_spirv_text_lines,
    visa_assembly.read_visaasm_lines,
)


def listings(data: bytes) -> None:
    """Read a listing as each kind of listing in turn; the second part is a listing that belongs to it."""
    text, other = texts(data, 2)
    count = text.count("\n") + 1
    for read in _LISTINGS:
        rows = read(text)
        assert all(0 <= line <= count for line in rows.lines), f"{read.__name__}: {rows.lines} of {count} lines"
        assert len(rows.lines) == len(rows.places) == len(rows.calls) == len(rows.functions)
    host_assembly.read_host_listing(text)
    gen_assembly.kernel_name(text)
    visa_assembly.kernel_name(text)
    visa_llvm_map.read_visa_llvm_lines(text, visa_llvm_map.CodegenFunctions(other))
    visa_llvm_map.read_visa_values(text)
    spilled_registers.read_writes(text, spilled_registers.read_spilled_registers(other))
    module = llvm_parts.LlvmParts(text, with_metadata=True)
    for name in module.defined()[:3]:
        assert module.cut_to_function(name) is not None
        assert module.of_function(name)
    spirv_cut.cut_to_entry_point(text, other[:100])


#: (stage, form, ending, kernel) of the snapshots that an input's parts are.
_STAGES = (
    ("llvm-codegen", TEXT, ".ll", None),
    ("visa-llvm-map", TEXT, ".visa.ll", "k"),
    ("0001-a", TEXT, ".ll", None),
    ("0002-b", TEXT, ".ll", None),
    ("visa", TEXT, ".visaasm", "k"),
    ("gen-assembly", TEXT, ".asm", "k"),
    ("spirv", TEXT, ".spvasm", None),
    ("assembly", TEXT, ".s", None),
    ("disassembly", TEXT, ".s", "k"),
    ("object", BINARY, ".o", "k"),
)


def stages(data: bytes) -> None:
    """Read the stages of one compile, and ask for their lines, the passes that changed them, one kernel's part."""
    from kernlens.analysis.line_passes import passes_of_line
    from kernlens.analysis.stage_changes import before_pass, difference, pass_steps
    from kernlens.cli.answers.stage_listing import line_pass_list, pass_list, snapshot_list
    from kernlens.loading.stage_maps import pass_lines, stage_maps
    from kernlens.loading.stage_texts import of_one_kernel
    from kernlens.model.line_choice import LineChoice

    snapshots = [
        Snapshot(stage, kernel, form, ending, lambda part=part: part, len(part))  # type: ignore[misc]
        for (stage, form, ending, kernel), part in zip(_STAGES, parts(data, len(_STAGES)), strict=True)
        if part
    ]
    check_lines(snapshot_list(snapshots, "dg2"))
    for stage_map in stage_maps(snapshots, ()):
        assert len(stage_map.positions) == len(stage_map.places)
        for place in itertools.islice(stage_map.lines, 5):
            check_lines(place[:1])
    passes = [snapshot for snapshot in snapshots if snapshot.is_pass]
    steps = list(pass_steps([snapshot for snapshot in snapshots if snapshot.ending == ".ll"]))
    check_lines(pass_list(steps))
    for step in passes:
        check_lines(difference(before_pass(snapshots, step), step))
    check_lines(line_pass_list(list(passes_of_line(pass_lines(snapshots), LineChoice(None, 1)))))
    for step in snapshots:
        of_one_kernel(step, "k")


def sources(data: bytes) -> None:
    """Read a source, a header and options: what it includes, which folders, and the copies for a second compile."""
    from kernlens.toolchain.sources.includes import include_folders, join_options, source_files, split_options
    from kernlens.toolchain.sources.recorded_sources import written_sources

    text, header, options, name = texts(data, 4)
    join_options(options)
    include_folders(options)
    assert split_options(join_options([word for word in split_options(options) if '"' not in word])) is not None
    with folder() as outer:
        inside, copies, outside = outer / "sources", outer / "copies", outer / "secret.h"
        inside.mkdir()
        (inside / "k.cl").write_text(text, "utf-8")
        (inside / "k.h").write_text(header, "utf-8")
        outside.write_text("secret", "utf-8")
        for source in source_files(inside / "k.cl", options):
            assert source.text != "secret", f"{source.path} was read, which is outside the folder of the source"
        copies.mkdir()
        try:
            written_sources((Source(name, text), Source("k.h", header)), options, copies)
        finally:
            there = {path.name for path in outer.iterdir()}
            assert there == {"sources", "copies", "secret.h"}, f"written outside its folder: {there}"


def logs(data: bytes) -> None:
    """Read what tools print and systems hold: compilers' logs, lists of installed packages, device names."""
    from kernlens.errors import telling_line
    from kernlens.isa.devices import device
    from kernlens.toolchain.diagnostics import error_lines
    from kernlens.toolchain.toolchains import IGC_PACKAGE

    (text,) = texts(data, 1)
    for message in error_lines(text, "k.cl"):
        assert message.line >= 0
        check_lines([message.message, message.path])
    telling_line(text)
    IGC_PACKAGE.search(text)
    device(text.split("\n", 1)[0][:200])
