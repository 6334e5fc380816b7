"""Generated modules that import from and export to each other, and links of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kernlens.analysis.linking.driver_rules import DriverRules
from kernlens.loading.context import Context
from kernlens.loading.linkable import module_of
from kernlens.loading.open import open_bytes
from kernlens.model.module import Module
from kernlens.runtime.isolation import IsolatedDriver
from kernlens.toolchain.clang import compile_library

FUNCTIONS = tuple(f"function{number}" for number in range(8))
VARIABLES = tuple(f"variable{number}" for number in range(4))
FLAGS = ("-library-compilation -ze-take-global-address", "-library-compilation", "-ze-take-global-address", "")
#: Most modules have both flags, or nothing would ever link.
FLAG_WEIGHTS = (7, 2, 1, 2)


@dataclass(frozen=True)
class Source:
    """A module's text and flags."""

    name: str
    text: str
    flags: str


def sources(count: int, seed: int) -> list[Source]:
    """Return distinct modules: random exports, imports used in kernels or in exported functions, random flags."""
    chance = random.Random(seed)
    return [_source(f"module{number}", chance) for number in range(count)]


def _source(name: str, chance: random.Random) -> Source:
    exported = chance.sample(FUNCTIONS, chance.choice((0, 1, 1, 2, 3)))
    imported = chance.sample([name_of for name_of in FUNCTIONS if name_of not in exported], chance.choice((0, 1, 1, 2)))
    own = chance.sample(VARIABLES, chance.choice((0, 0, 1)))
    foreign = chance.sample([variable for variable in VARIABLES if variable not in own], chance.choice((0, 0, 1)))
    lines = [f"int {imported_name}(int x);" for imported_name in imported]
    lines += [f"extern global int {foreign_name};" for foreign_name in foreign]
    lines += [f"global int {name_of} = {chance.randrange(100)};" for name_of in own]
    if foreign and chance.random() < 0.25:
        lines.append(f"global int *global pointer_{name} = &{foreign[0]};")
    needs = [f"{needed}(x)" for needed in imported] + foreign
    for name_of in exported:
        # Some exported functions call imports, so that chains and circles come about without a kernel.
        used = [need for need in needs if chance.random() < 0.4]
        lines.append(
            f"int {name_of}(int x) {{ return x * {chance.randrange(2, 99)} {''.join(f' + {need}' for need in used)}; }}"
        )
    for number in range(chance.choice((0, 1, 1, 2))):
        used = [need for need in needs if chance.random() < 0.7]
        used += [f"{name_of}(x)" for name_of in exported if chance.random() < 0.4] + [
            name_of for name_of in own if chance.random() < 0.7
        ]
        body = "".join(f" + {need}" for need in used)
        lines.append(f"kernel void kernel{number}_{name}(global int *out) {{ int x = out[0]; out[1] = x{body}; }}")
    flags = chance.choices(FLAGS, FLAG_WEIGHTS)[0]
    return Source(name, "\n".join(lines) + "\n", flags)


@dataclass(frozen=True)
class Built:
    """A module as a driver built it: the binary to load again, its symbols read from it, and those of its SPIR-V."""

    source: Source
    binary: bytes = field(repr=False)
    module: Module = field(repr=False)
    spirv_module: Module = field(repr=False)


def spirv_of(source: Source, folder: Path) -> bytes:
    path = folder / f"{source.name}.cl"
    path.write_text(source.text)
    return compile_library(path).spirv


def build(driver: IsolatedDriver, source: Source, spirv: bytes, rules: DriverRules) -> Built:
    """Let the driver compile a module."""
    driver.build_spirv(source.name, spirv, source.flags)
    (live,) = driver.live_builds(source.name)
    assert live.binary is not None
    return Built(
        source,
        live.binary,
        read_module(source.name, live.binary, None, rules),
        read_module(source.name, spirv, source.flags, rules),
    )


def read_module(name: str, content: bytes, options: str | None, rules: DriverRules) -> Module:
    (program,) = open_bytes(memoryview(content), name, Context()).programs
    return module_of(program, name=name, options=options, rules=rules)


def cases(built: list[Built], count: int, seed: int) -> Iterator[list[Built]]:
    """Yield links of two to six modules, no two alike. Half of them grow from a module by what it lacks, so that many link."""
    chance = random.Random(seed)
    seen: set[tuple[str, ...]] = set()
    while len(seen) < count:
        chosen = chance.sample(built, chance.randint(2, 6))
        if chance.random() < 0.6:
            chosen = _completed(chosen[:2], built, chance)
        key = tuple(choice.source.name for choice in chosen)
        if 2 <= len(chosen) <= 6 and key not in seen:
            seen.add(key)
            yield chosen


def _completed(chosen: list[Built], built: list[Built], chance: random.Random) -> list[Built]:
    for _ in range(4):
        exports = {symbol.name for choice in chosen for symbol in choice.module.exports}
        lacking = {use.symbol for choice in chosen for use in choice.module.uses} - exports
        able = [
            build
            for build in built
            if build not in chosen and lacking & {symbol.name for symbol in build.module.exports}
        ]
        if not able:
            break
        chosen = [*chosen, chance.choice(able)]
    return chance.sample(chosen, len(chosen))
