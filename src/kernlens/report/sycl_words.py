"""The descriptors of SYCL images and the runtime's choice among them, as text and for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kernlens.analysis.cxx_names import kernel_title
from kernlens.model.sycl_device import KernelChoice
from kernlens.model.sycl_image import ASPECTS, EXPORTS, FORMATS, IMPORTS, MISC, REQUIREMENTS, SyclImage
from kernlens.report.describe import plural
from kernlens.report.style import style
from kernlens.report.table import table
from kernlens.report.width import Name

#: Choices that are listed kernel by kernel; more are counted by what is chosen.
_LISTED = 40


def image_lines(image: SyclImage) -> Iterator[str]:
    """Yield the lines on an image's descriptor."""
    words = [f"target {image.target}", f"format {FORMATS.get(image.format, image.format)}"]
    if image.compile_target is not None:
        words.append(f"compiled for {image.compile_target}")
    if image.version:
        words.append(f"descriptor version {image.version}")
    yield f"  SYCL image: {', '.join(words)}"
    if image.compile_options:
        yield f"  compile options: {image.compile_options}"
    if image.link_options:
        yield f"  link options: {image.link_options}"
    if requirements := ", ".join(_requirements(image)):
        yield f"  requires: {requirements}"
    if properties := [f"{name} {_value(value)}" for name, value in image.properties.get(MISC, {}).items()]:
        yield f"  properties: {', '.join(properties)}"
    others = {name: each for name, each in image.properties.items() if each and name not in (MISC, REQUIREMENTS)}
    if others:
        counts = (f"{name.removeprefix('SYCL/')} ({len(each)})" for name, each in others.items())
        yield f"  further properties: {', '.join(counts)}"
    for title, name in (("exports", EXPORTS), ("imports", IMPORTS)):
        if symbols := image.properties.get(name):
            yield f"  {title}: {', '.join(kernel_title(symbol) for symbol in symbols)}"


def _requirements(image: SyclImage) -> Iterator[str]:
    if image.aspects:
        yield f"aspects {', '.join(ASPECTS.get(aspect, str(aspect)) for aspect in image.aspects)}"
    if image.sub_group_size is not None:
        yield f"sub-groups of {image.sub_group_size}"
    if image.work_group_size:
        yield f"work-groups of {' x '.join(map(str, image.work_group_size))}"
    for name in ("joint_matrix", "joint_matrix_mad"):
        if text := image.text(name):
            yield f"{name} {text}"


def _value(value: int | bytes) -> str:
    return str(value) if isinstance(value, int) else value.hex()


def image_document(image: SyclImage) -> dict[str, Any]:
    """Return an image's descriptor for JSON: numbers as they are, byte arrays in hexadecimal digits."""
    return {
        "target": image.target,
        "version": image.version,
        "format": image.format,
        "compile_options": image.compile_options,
        "link_options": image.link_options,
        "entries": list(image.entries),
        "aspects": [ASPECTS.get(aspect, str(aspect)) for aspect in image.aspects],
        "sub_group_size": image.sub_group_size,
        "work_group_size": list(image.work_group_size),
        "compile_target": image.compile_target,
        "properties": {
            title: {name: value if isinstance(value, int) else value.hex() for name, value in properties.items()}
            for title, properties in image.properties.items()
        },
    }


def choice_document(choice: KernelChoice) -> dict[str, Any]:
    """Return the runtime's choice for a kernel for JSON."""
    return {
        "kernel": choice.kernel,
        "program": choice.program,
        "build_options": choice.options,
        "reason": choice.reason or None,
        "note": choice.note or None,
    }


def choice_lines(choices: Sequence[KernelChoice], device: str) -> Iterator[str]:
    """Yield the lines on what the SYCL runtime does with kernels on a device."""
    runs = sum(not choice.reason for choice in choices)
    title = style(f"SYCL runtime on {device}, through Level Zero", bold=True)
    yield f"{title}: it runs {runs:,} of {plural(len(choices), 'kernel')}"
    if len(choices) <= _LISTED:
        rows = [
            (Name(kernel_title(choice.kernel)), choice.program or "none", choice.options or "none")
            for choice in choices
        ]
        yield from table(("kernel", "image", "options of the runtime"), rows)
        for choice in choices:
            if words := (choice.reason and f"does not run: {choice.reason}") or choice.note:
                yield style(f"  {kernel_title(choice.kernel)}: {words}", fg="yellow" if choice.reason else None)
        return
    counts: dict[str, int] = {}
    for choice in choices:
        words = f"does not run: {choice.reason}" if choice.reason else f"runs with {choice.options or 'no options'}"
        words += f"; {choice.note}" if choice.note else ""
        counts[words] = counts.get(words, 0) + 1
    for words, count in sorted(counts.items(), key=lambda each: -each[1]):
        yield f"  {plural(count, 'kernel')}: {words}"
    yield style(f"  --kernel K shows the image of each, for {_LISTED} kernels at most", dim=True)
