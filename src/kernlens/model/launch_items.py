"""The work-items of a launch as a user states them (``--items-per-launch``): a number, divided by what macros are.

Where a work-item makes several results, fewer of them make those of a launch. Stated for two compiles, what a launch costs is
compared, under the assumption that both launches make the same results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError

_FORM = re.compile(r"([1-9]\d{0,17})((?:/[A-Za-z_]\w{0,99}){0,8})")
_VALUE = re.compile(r"\d{1,9}")


@dataclass(frozen=True, slots=True)
class LaunchItems:
    """A number of work-items, ``most`` divided by each of the ``macros``."""

    most: int = 1
    macros: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> LaunchItems:
        """Read ``4096`` or ``4096/ROWS/COLUMNS``. Raises KernlensError for anything else."""
        form = _FORM.fullmatch(text.strip())
        if form is None:
            raise KernlensError(f"--items-per-launch {text!r} is not of the form 4096 or 4096/ROWS, with ROWS a macro")
        return cls(int(form[1]), tuple(filter(None, form[2].split("/"))))

    def with_options(self, words: Sequence[str]) -> int | None:
        """Return the work-items with these build options, the last definition of a macro counting; None if a macro has no
        value, or one that does not divide them."""
        values = dict[str, str]()
        for word, behind in zip(words, [*words[1:], ""], strict=False):
            text = behind if word == "-D" else word.removeprefix("-D") if word.startswith("-D") else ""
            name, _, value = text.partition("=")
            values[name] = value
        count = self.most
        for name in self.macros:
            results = int(values[name]) if _VALUE.fullmatch(values.get(name, "")) else 0
            if not results or count % results:
                return None
            count //= results
        return count

    def __str__(self) -> str:
        return "/".join([f"{self.most:,}", *self.macros])


#: What is compared where nobody states a launch: a work-item.
ONE_ITEM = LaunchItems()
