"""The kernels that a profiler's samples are of, by the names that it prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kernlens.analysis.kernel_names import called
from kernlens.model.samples import SampledKernel, Samples

_TYPES = re.compile(r"[<(]")


class SampledKernels:
    """The samples of a file by their kernels.

    A profiler prints a C++ name as a demangler writes it, SYCL's as the name of its type; blanks do not count, as
    demanglers of other versions set them otherwise.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self._by_name: dict[str, list[SampledKernel]] = {}
        for kernel in self.samples.kernels:
            self._by_name.setdefault(_spelled(kernel.name), []).append(kernel)

    def of(self, name: str) -> Sequence[SampledKernel]:
        """Return the samples of the kernel that a binary calls ``name``, those of each device apart."""
        spelled = dict.fromkeys(map(_spelled, (name,) if name in self._by_name else called(name)))
        exact = [kernel for each in spelled for kernel in self._by_name.get(each, ())]
        if exact or not name.startswith("_Z"):
            return exact
        # Without types a name may be that of several kernels: only those that state their code can be told apart.
        bare = {_spelled(_without_types(each)) for each in called(name)}
        return [kernel for each in bare for kernel in self._by_name.get(each, ()) if kernel.texts]

    def without(self, names: Iterable[str]) -> list[SampledKernel]:
        """Return the samples that are of none of these kernels, those with most of them first."""
        matched = {id(kernel) for name in names for kernel in self.of(name)}
        unmatched = (kernel for kernel in self.samples.kernels if id(kernel) not in matched)
        return sorted(unmatched, key=lambda kernel: -kernel.total)


def _without_types(name: str) -> str:
    """Return a C++ name without parameters, template arguments and the type that it returns."""
    words = _TYPES.split(name, maxsplit=1)[0].split()
    return words[-1].rsplit("::", 1)[-1] if words else name


def _spelled(name: str) -> str:
    return "".join(name.split())
