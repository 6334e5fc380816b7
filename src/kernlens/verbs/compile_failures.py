"""Compilers' words on sources that do not compile, in the lines to print them in, and what helps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens.model.opencl_built_ins import misspelt_built_in, opencl_built_ins
from kernlens.verbs.build_messages import (
    MOST_MESSAGES,
    MOST_NOTES,
    errors_of,
    message_lines,
    more_line,
    source_texts_of,
    targets,
)

if TYPE_CHECKING:
    from kernlens.model.build import Build
    from kernlens.toolchain.diagnostics import ErrorLine

#: The languages of sources that are compiled for other APIs, by how their names end.
_OTHER_LANGUAGES = {
    **dict.fromkeys((".comp", ".frag", ".glsl", ".vert"), "GLSL"),
    **dict.fromkeys((".fx", ".hlsl"), "HLSL"),
    **dict.fromkeys((".cu", ".cuh"), "CUDA"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp"), "C++ (of SYCL, open what it is compiled to)"),
    ".metal": "Metal",
    ".wgsl": "WGSL",
}
#: What clang says of a header that is nowhere.
_NO_HEADER = re.compile(r"'([^']+)' file not found")
#: What it says of a function that nothing declares, unless it proposes a name itself.
_UNKNOWN_NAME = re.compile(
    r"^(?:use of undeclared identifier|implicit declaration of function) '(\w+)'(?!.*did you mean)"
)
#: What IGC says of a kernel whose spilled values, private memory and stack are more than a thread may have.
_NO_SUCH_WIDTH = re.compile(r"Unsupported required sub group size|SIMD mode specified by intel_reqd_sub_group_size")
_TOO_MUCH_SCRATCH = re.compile(r"total scratch space exceeds HW supported limit")
#: An option that selects an OpenCL C with all built-in functions.
_NEW_OPENCL_C = re.compile(r"-cl-std=(?:CL[23]|CLC\+\+)", re.IGNORECASE)
_LOCKED_HEADER = re.compile(r"cannot open file '(.+)': Permission denied")


def failure_lines(failed: Sequence[Build]) -> Iterator[str]:
    """Yield what compilers said of sources that do not compile: once what they said of one source for several devices."""
    alike: dict[tuple[str, tuple[ErrorLine, ...]], list[Build]] = {}
    for build in failed:
        errors = tuple(message for message, _ in errors_of(build))
        # Failures without a place in the source, such as a compiler that died, are told one by one.
        is_placed = any(message.path or message.kernels for message in errors)
        alike.setdefault((build.path, errors) if is_placed else (str(id(build)), ()), []).append(build)
    for (_, errors), builds in alike.items():
        yield from _of_source(builds, errors_of(builds[0]) if errors else [])


def _of_source(builds: Sequence[Build], errors: Sequence[tuple[ErrorLine, Sequence[ErrorLine]]]) -> Iterator[str]:
    """Yield the first errors, each with its source line and a mark under the column; without any, the failure itself."""
    first = builds[0]
    if not errors:
        yield f"kernlens: {first.told_failure}"
        return
    yield f"kernlens: {first.source} does not compile for {targets(builds)}"
    texts = source_texts_of(first)
    for message, notes in errors[:MOST_MESSAGES]:
        for each in (message, *(notes if len(notes) <= MOST_NOTES else ())):
            yield from message_lines(each, texts)
    yield from _remedies(builds, [message.message for message, _ in errors])
    yield from more_line(errors[MOST_MESSAGES:], "error")
    language = _OTHER_LANGUAGES.get(Path(first.path).suffix.lower())
    if language is not None:
        yield (f"{first.source} has the extension of {language}; kernlens compiles OpenCL C and SPIR-V for OpenCL")


def _remedies(builds: Sequence[Build], messages: Sequence[str]) -> Iterator[str]:
    """Yield what helps against errors that are known."""
    for header in dict.fromkeys(match[1] for message in messages if (match := _NO_HEADER.match(message))):
        yield f"kernlens: name the folder of {header}: --build-options '-I FOLDER'"
    for header in dict.fromkeys(match[1] for message in messages if (match := _LOCKED_HEADER.match(message))):
        yield f"kernlens: you may not read {header}: ls -l {header} shows who may"
    unknown = list(dict.fromkeys(match[1] for message in messages if (match := _UNKNOWN_NAME.search(message))))
    for name in unknown:
        if meant := misspelt_built_in(name):
            yield f"kernlens: {name} is no built-in function; {meant} is one"
    if absent := [name for name in unknown if name in opencl_built_ins()]:
        from kernlens.toolchain.device_compilers import fullest_language

        options = " ".join(build.options or "" for build in builds)
        languages = dict.fromkeys(fullest_language(build.device) for build in builds if build.device)
        untried = [
            f"--build-options -cl-std={each}"
            for each in languages
            if each not in options and not (each == "CL3.0" and _NEW_OPENCL_C.search(options))
        ]
        yield (
            f"kernlens: the device or this version of OpenCL C lacks built-in functions: {', '.join(absent)}"
            + (f"; try {' or '.join(untried)}" if untried else "")
        )
    if any(_TOO_MUCH_SCRATCH.search(message) for message in messages):
        yield (
            "kernlens: the limit is for a hardware thread, and what it needs grows with the SIMD width: require smaller"
            " sub-groups (intel_reqd_sub_group_size), or try --build-options -cl-intel-256-GRF-per-thread"
        )
    if any(_NO_SUCH_WIDTH.search(message) for message in messages):
        from kernlens.isa.intel.sycl_support import sycl_device_named

        devices = [known for build in builds if (known := sycl_device_named(build.device))]
        sizes = "; ".join(
            f"{known.name} has sub-groups of {', '.join(map(str, sorted(known.sub_group_sizes)))}" for known in devices
        )
        yield (
            f"kernlens: one such kernel keeps the whole program from compiling{sizes and f'; {sizes}'}; compile it apart from"
            " the others (SYCL: -fsycl-device-code-split=per_kernel)"
        )
