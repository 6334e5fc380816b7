"""The differences between the generations of Intel's driver when they link.

Measured on NEO 22.43 (dg2, pvc, skl) and 26.27 (bmg, pvc); source: compute-runtime, ``module_imp.cpp`` and
``linker.cpp`` of those releases. Releases between them are taken to behave like the nearer one.
"""

from __future__ import annotations

from kernlens.analysis.linking.compiler_functions import FUNCTIONS_22_43, FUNCTIONS_26_27, CompilerFunctions
from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class DriverRules:
    """One generation.

    ``release`` is (year, week). The flags say what this generation does:

    * ``exports_variables_alone``: even without ``-ze-take-global-address``, any module exports the variables that its
      code uses; without this flag, only a module that exports a function too does so.
    * ``reads_data_imports``: an imported variable's address in a global initialiser counts as an import (22.43 drops it
      silently).
    * ``crashes_on_data_imports``: linking such a module with one that exports the variable is a segmentation fault.
    * ``names_missing_flag``: a failed link in which no module has the library flag says so
      (zeDriverGetLastErrorDescription).
    * ``names_duplicates``: a static link says which symbol is defined twice.
    * ``loads_patch_tokens``: the driver takes patch-token programs as native binaries.
    * ``links_binaries``: a static link takes native binaries, and links them as a dynamic link does (22.43 takes SPIR-V
      only).
    * ``compiler_functions``: the functions that its compiler has itself.
    * ``crashes_on_work_items``: for devices before Xe-HP, building a library module is a segmentation fault if it exports a
      function that asks for its work-item's id or size.
    """

    name: str
    release: tuple[int, int]
    exports_variables_alone: bool
    reads_data_imports: bool
    crashes_on_data_imports: bool
    names_missing_flag: bool
    names_duplicates: bool
    loads_patch_tokens: bool
    links_binaries: bool
    compiler_functions: CompilerFunctions
    crashes_on_work_items: bool


RELEASE_22_43 = DriverRules(
    name="22.43",
    release=(22, 43),
    exports_variables_alone=False,
    reads_data_imports=False,
    crashes_on_data_imports=False,
    names_missing_flag=False,
    names_duplicates=False,
    loads_patch_tokens=True,
    links_binaries=False,
    compiler_functions=FUNCTIONS_22_43,
    crashes_on_work_items=True,
)
RELEASE_26_27 = DriverRules(
    name="26.27",
    release=(26, 27),
    exports_variables_alone=True,
    reads_data_imports=True,
    crashes_on_data_imports=True,
    names_missing_flag=True,
    names_duplicates=True,
    loads_patch_tokens=False,
    links_binaries=True,
    compiler_functions=FUNCTIONS_26_27,
    crashes_on_work_items=False,
)
GENERATIONS = (RELEASE_22_43, RELEASE_26_27)
LATEST = RELEASE_26_27


def rules_of(name: str) -> DriverRules:
    """Return the rules of the generation nearest to release ``name`` (``22.43``, ``25.18.33578``). Raises NotFoundError
    if ``name`` is no release."""
    parts = name.split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts[:2]):
        measured = ", ".join(generation.name for generation in GENERATIONS)
        raise NotFoundError(f"{name!r} is not a driver release such as 25.18; kernlens has rules for {measured}")
    return nearest((int(parts[0]), int(parts[1])))


def nearest(release: tuple[int, int]) -> DriverRules:
    """Return the generation whose release, (year, week), is the fewest weeks away."""
    return min(GENERATIONS, key=lambda generation: abs(_weeks(generation.release) - _weeks(release)))


def _weeks(release: tuple[int, int]) -> int:
    year, week = release
    return year * 52 + week
