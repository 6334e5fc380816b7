"""A kept launch as a program that needs nothing of kernlens: one C file, one Python file, data, a Makefile and a README.

It is for a report to a vendor: no path of this machine is in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from pprint import pformat
from typing import Any

from kernlens.dataclass import dataclass
from kernlens.errors import OutputError, UnsupportedError
from kernlens.formats.spirv.specialization import specialized
from kernlens.model.build import Build
from kernlens.model.kept_launch import BY_ADDRESS, IMAGE, KeptArgument, KeptLaunch, KeptMemory
from kernlens.runtime.opencl.launch_prototypes import COARSE, FLAGS_OF_KERNEL
from kernlens.toolchain.sources.directives import inclusions, joined_lines
from kernlens.toolchain.sources.includes import join_options, options_with_values, split_options
from kernlens.verbs.replay.kept import chosen, open_recording, recorded_launches
from kernlens.verbs.replay.memory_names import memory_names

_TEMPLATES = Path(__file__).parent / "reproducer"
_C_KINDS = {
    "value": "VALUE",
    "local": "LOCAL",
    "memory": "MEMORY",
    "sampler": "SAMPLER",
    "pointer": "POINTER",
    "null": "NONE",
}
_LAUNCH_OF_C, _LAUNCH_OF_PYTHON = "/*LAUNCH*/\n", "LAUNCH = {}  # The launch is written here.\n"


@dataclass(frozen=True, slots=True)
class Exported:
    """The answer of an export: the folder, its files, and the launch's title."""

    folder: str
    files: tuple[str, ...]
    title: str

    @property
    def document(self) -> dict[str, Any]:
        """The keys of a document."""
        return {"folder": self.folder, "files": list(self.files)}


def export(
    recording: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    program: str | None = None,
    launch: int | None = None,
) -> Exported:
    """Write a launch into ``folder``, which must be empty or not there. Raises OutputError if it is not, or cannot be written,
    UnsupportedError if the recording holds no program that can be built alone, NotFoundError for what is not there."""
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise OutputError(f"{path} exists and is not an empty folder: name another one")
    with open_recording(recording) as opened:
        selected = chosen(list(recorded_launches(opened, program)), os.fspath(recording), kernel, launch)[0]
        files = dict(_files(selected.build, selected.launch))
        try:
            path.mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(content)
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
    return Exported(os.fspath(folder), tuple(files), selected.title)


def _files(build: Build, launch: KeptLaunch) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file."""
    kind, name, program, headers = _program(build)
    yield name, program
    yield from headers.items()
    options = _options(build, has_headers=bool(headers))
    names = memory_names(launch, [], build.sources[0].text if build.sources else "")
    memory = [
        {**_memory(number, each), "real": names[number].element.size if names[number].element.letter in "fd" else 0}
        for number, each in enumerate(launch.memory)
    ]
    for number, each in enumerate(launch.memory):
        for moment, read in (("before", each.before), ("after", each.after)):
            if read is not None and memory[number][moment] is not None:
                yield f"memory{number}.{moment}", read()
    document = {
        "kernel": launch.kernel,
        "recorded_on": build.device,
        "program": name,
        "program_kind": kind,
        "options": options,
        **{each: getattr(launch, each) for each in ("global_size", "local_size", "global_offset")},
        "arguments": [_argument(each) for each in launch.arguments],
        "memory": memory,
    }
    yield "replay.c", _template("replay.c").replace(_LAUNCH_OF_C, _c_text(document)).encode()
    text = f"LAUNCH = {pformat(document, width=110, sort_dicts=False)}\n"
    yield "replay.py", _template("replay.py.txt").replace(_LAUNCH_OF_PYTHON, text).encode()
    yield "Makefile", _template("Makefile").encode()
    yield "README.md", _readme(document, launch).encode()


def _template(name: str) -> str:
    return (_TEMPLATES / name).read_text()


def _program(build: Build) -> tuple[str, str, bytes, dict[str, bytes]]:
    """Return kind, file name and content of the program, and the files that it includes."""
    if build.inputs:
        raise UnsupportedError(f"{build.title} was linked from several programs, and is not exported")
    sources = build.sources
    if sources:
        texts = [source.text for source in sources]
        named = {name for text in texts for name, _ in inclusions(joined_lines(text))}
        headers = {}
        for source in sources[1:]:
            path = PurePosixPath(source.path)
            fitting = [name for name in named if path.as_posix().endswith(f"/{name}") and ".." not in name.split("/")]
            headers[f"include/{max(fitting, key=len, default=path.name)}"] = source.text.encode()
        return "source", "program.cl", texts[0].encode(), headers
    if build.spirv:
        spirv = specialized(memoryview(build.spirv), build.constants) if build.constants else build.spirv
        return "spirv", "program.spv", spirv, {}
    if build.binary:
        return "binary", "program.bin", build.binary, {}
    raise UnsupportedError(f"the recording holds neither source, SPIR-V nor binary of {build.name}")


def _options(build: Build, *, has_headers: bool) -> str:
    """Return the options without those that name files of this machine."""
    words: list[str] = []
    for word, value in options_with_values(split_options(build.options or "")):
        if word in ("-I", "-s", "-include") or "/" in word.partition("=")[0]:
            continue
        words += [word, value] if value else [word]
    return join_options([*words, *(["-I", "include"] if has_headers else [])])


def _memory(number: int, each: KeptMemory) -> dict[str, Any]:
    is_view = each.image is not None and each.image.buffer is not None
    image = None
    if each.image is not None:
        names = ("order", "data_type", "object_type", "width", "height", "depth", "array_size", "row_pitch")
        image = [getattr(each.image, name) for name in names]
    return {
        "kind": "address" if each.kind in BY_ADDRESS else each.kind,
        "size": each.size,
        "flags": each.flags & (COARSE if each.kind in BY_ADDRESS else FLAGS_OF_KERNEL),
        "address": each.address,
        "before": None if each.before is None or is_view else f"memory{number}.before",
        "after": None if each.after is None or is_view else f"memory{number}.after",
        "image": image,
        "made_of": each.image.buffer if each.image is not None else None,
    }


def _argument(each: KeptArgument) -> dict[str, Any]:
    stated = {name: getattr(each, name) for name in ("kind", "memory", "offset", "size", "flags", "sampler")}
    stated["flags"] = each.flags & FLAGS_OF_KERNEL & ~0x10
    return {**stated, "value": each.content.hex()}


def _c_text(document: Mapping[str, Any]) -> str:
    """Return the launch as C."""
    memory, arguments = document["memory"], document["arguments"]
    lines = [
        f"#define MEMORIES {len(memory)}",
        f"#define ARGUMENTS {len(arguments)}",
        f"#define DIMENSIONS {len(document['global_size'])}",
        f"static const char kernel_name[] = {_c_string(document['kernel'])};",
        f"static const char recorded_on[] = {_c_string(document['recorded_on'])};",
        f"static const char program_file[] = {_c_string(document['program'])};",
        f"static const enum program_kind program_kind = {document['program_kind'].upper()};",
        f"static const char build_options[] = {_c_string(document['options'])};",
        f"static const size_t global_size[] = {_c_list(document['global_size'])};",
        f"static const size_t global_offset[] = {_c_list(document['global_offset'])};",
    ]
    local = document["local_size"]
    lines.append(
        "static const size_t *const local_size = NULL;"
        if local is None
        else f"static const size_t local_size[] = {_c_list(local)};"
    )
    for number, each in enumerate(arguments):
        if each["value"]:
            lines.append(f"static const unsigned char value{number}[] = {_c_list(bytes.fromhex(each['value']))};")
    lines += ["static const struct memory memories[MEMORIES + 1] = {", *map(_c_memory, memory), "};"]
    lines += ["static const struct argument arguments[ARGUMENTS + 1] = {"]
    lines += [_c_argument(number, each) for number, each in enumerate(arguments)]
    return "\n".join([*lines, "};", ""])


def _c_memory(each: Mapping[str, Any]) -> str:
    before, after = ("NULL" if each[name] is None else _c_string(each[name]) for name in ("before", "after"))
    made_of = -1 if each["made_of"] is None else each["made_of"]
    words = f"{each['kind'].upper()}, {each['size']}u, {each['flags']}u, {each['address']}u, {before}, {after}"
    order, data_type, *image = each["image"] or [0] * 8
    stated = ", ".join(map(str, image))
    return f"  {{{words}, {{{order}, {data_type}}}, {{{stated}, 0, 0, 0, {{NULL}}}}, {made_of}, {each['real']}}},"


def _c_argument(number: int, each: Mapping[str, Any]) -> str:
    size = len(each["value"]) // 2 if each["kind"] == "value" else each["size"]
    memory = -1 if each["memory"] is None else each["memory"]
    value = f"value{number}" if each["value"] else "NULL"
    sampler = _c_list(each["sampler"] or (0, 0, 0))
    return (
        f"  {{{_C_KINDS[each['kind']]}, {memory}, {each['offset']}u, {size}u, {each['flags']}u, {value}, {sampler}}},"
    )


def _c_list(values: Sequence[int] | bytes) -> str:
    return "{" + ", ".join(f"{each}u" for each in values) + "}"


def _c_string(text: str) -> str:
    """Return a literal. Each byte that is no plain character is an octal escape, which no character behind it lengthens."""
    plain = set(range(32, 127)) - set(b'"\\?')
    return (
        '"' + "".join(chr(each) if each in plain else f"\\{each:03o}" for each in text.encode("utf-8", "replace")) + '"'
    )


def _readme(document: Mapping[str, Any], launch: KeptLaunch) -> str:
    from kernlens.report.describe import sizes_of_launch

    rows = [f"|{number}|{_read_kind(each)}|" for number, each in enumerate(launch.arguments)]
    kinds = [each.kind for each in launch.memory if each.kind in BY_ADDRESS]
    moved = (
        "\nPointers: words of 8 bytes in memory that is reached by addresses, and in values, are changed to where memory is now"
        " if they lie in an allocation of the application. All such memory is shared virtual memory here.\n"
        if kinds
        else ""
    )
    images = "" if IMAGE not in {each.kind for each in launch.memory} else "\nImages are rows without gaps.\n"
    return (
        f"# One launch of `{document['kernel']}`\n\n"
        f"An application launched this OpenCL kernel on {document['recorded_on'] or 'an unknown device'}:"
        f" {sizes_of_launch(launch.global_size, launch.local_size)}.\n"
        f"`{document['program']}` is the program, built with `{document['options'] or 'no options'}`. `memoryN.before` is what"
        " memory N\ncontained before the launch, `memoryN.after` what it contained after it.\n\n"
        "    make check              # builds replay.c and runs it: exit status 0 if all results are equal\n"
        "    ./replay PLATFORM DEVICE\n"
        "    ./replay -t 1e-6        # accepts floats and doubles that are apart by this share of the larger one\n"
        "    python3 replay.py       # the same without a compiler\n\n"
        "It needs an OpenCL loader (libOpenCL), and to build replay.c its headers (CL/cl.h) and gcc.\n"
        f"{moved}{images}\n|Argument|What|\n|-|-|\n" + "\n".join(rows) + "\n"
    )


def _read_kind(each: KeptArgument) -> str:
    if each.memory is not None:
        part = f", {each.size:,} bytes from {each.offset:,}" if each.size or each.offset else ""
        return f"memory {each.memory}{part}"
    if each.content:
        return f"value `{each.content.hex()}` (bytes in their order)"
    return f"{each.size:,} bytes of local memory" if each.size else each.kind
