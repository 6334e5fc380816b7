"""PATH of every verb: what holds programs is opened, and sources are compiled, by the same options and with the cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernlens.cli import option
from kernlens.cli.output import print_message
from kernlens.dataclass import dataclass

if TYPE_CHECKING:
    from kernlens.loading import Contents


def tell(sentence: str) -> None:
    """Print a sentence on what is done with a path."""
    print_message(f"kernlens: {sentence}")


@dataclass(frozen=True)
class Compiling:
    """The device and the toolchain of sources among the paths, whose build options a verb has for itself."""

    device: str | None = option.device(
        "Compile sources for this device; show only programs for it (all: every device); decode raw machine code for it."
    )
    toolchain: str = option.toolchain("Toolchain that compiles sources.")
    cache: option.Cached = option.together(option.Cached)
    program: str | None = option.program()

    @property
    def chosen(self) -> str | None:
        """The device whose programs are shown, None for all."""
        from kernlens.isa.devices import ALL

        return None if self.device == ALL else self.device

    def opened(self, paths: Sequence[str], options: str, *, uses_options: bool = True, **how: Any) -> list[Contents]:
        """Return what is in each path of the programs that are asked for, and print the compiler's warnings. ``how`` are the
        others of ``open_paths``'s arguments. Raises what that and ``of_programs`` raise."""
        from kernlens.verbs.any_path import CompiledSources, SourceBuild, of_programs, open_paths

        build = SourceBuild(self.device, self.toolchain, options, self.cache.opened)
        contents = open_paths(paths, build, tell=tell, uses_options=uses_options, **how)
        compiled = [program for each in contents if isinstance(each, CompiledSources) for program in each.programs]
        if compiled:
            from kernlens.verbs.build_messages import compiled_warnings

            print_message(*compiled_warnings(compiled))
        return contents if self.program is None else of_programs(contents, self.program)


@dataclass(frozen=True)
class Sources:
    """The options by which sources among the paths are compiled."""

    compiling: Compiling = option.together(Compiling)
    options: str = option.build_options()

    @property
    def chosen(self) -> str | None:
        """The device whose programs are shown, None for all."""
        return self.compiling.chosen

    def opened(self, path: str, **how: Any) -> Contents:
        """Return what is in a path, as ``Compiling.opened`` does."""
        (contents,) = self.compiling.opened([path], self.options, raw_for=self.chosen, uses_options=False, **how)
        return contents
