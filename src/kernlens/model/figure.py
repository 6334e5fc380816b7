"""A figure: what can be said of a kernel in one number. ``figures`` has the list of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kernlens.dataclass import dataclass
from kernlens.model.device_time import NANOSECONDS, duration

if TYPE_CHECKING:
    from kernlens.model.device_time import DeviceTime
    from kernlens.model.kernel_resources import KernelResources
    from kernlens.model.launch_limits import LaunchLimits
    from kernlens.model.pressure import Pressure
    from kernlens.model.trips import TripWeights
    from kernlens.model.waits import Waits


class Measured(Protocol):
    """The object that figures are read from: a ``Kernel``, which imports this module."""

    @property
    def resources(self) -> KernelResources: ...

    @property
    def instructions(self) -> Sized: ...

    @property
    def code_size(self) -> int: ...

    @property
    def costs(self) -> Mapping[str, int]: ...

    @property
    def pressure(self) -> Pressure | None: ...

    @property
    def waits(self) -> Waits | None: ...

    @property
    def launch_limits(self) -> LaunchLimits: ...

    @property
    def launch_shared_bytes(self) -> int | None: ...

    @property
    def launch_time(self) -> DeviceTime | None: ...

    @property
    def trip_weights(self) -> TripWeights | None: ...

    @property
    def behaviours(self) -> Sequence[Any]: ...


MeasuredKernel = TypeVar("MeasuredKernel", bound=Measured)


def as_name(words: str) -> str:
    """Return words as options and files write a key or a heading: in small letters, with hyphens."""
    return words.lower().replace("_", "-").replace(" ", "-")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. ``key`` names it in JSON, ``heading`` in tables; ``origin`` says how it is obtained.

    ``read`` gives a kernel's value, None where it is not known. ``words`` is the phrase of a value, with ``{}`` for the
    number and ``(s)`` for the ending of a plural, ``zero`` the phrase of 0; where they are empty a line of words leaves
    the figure out. ``unknown`` says, for those who see a dash in a table, why a value may be missing.
    ``needs_decoding``: reading it decodes the instructions, which listing a large file must not do.
    ``is_upper_bound``: the true value depends on the run, and is never more. ``more_is_better``: less of it is worse.
    ``caused_by`` are the keys of the costs of which the likely cause of a large value has most, among the source lines, or
    PEAK, the line of the peak pressure. ``akin`` are the keys of those that other vendors' binaries state instead, and
    ``counterparts`` of those of them that a limit of this figure holds too, ``former_counterparts`` of those that one by a
    ``former`` name holds. ``part_of`` is the key of the sum that this is a
    part of; ``is_detail``: a table that has the sum leaves the part out where no kernel has any of it. ``grows_at_launch``:
    a launch may ask for more local memory than this has, and a limit holds both. ``is_observed``: it is known without machine
    code, of what an interpreter counted. ``former`` are its key and headings before
    the current release: options, ``kernlens.toml`` and Python take these names too.
    """

    key: str
    heading: str
    unit: str
    meaning: str
    origin: str
    read: Callable[[Measured], int | None]
    words: str = ""
    zero: str = ""
    unknown: str = ""
    needs_decoding: bool = False
    is_upper_bound: bool = False
    more_is_better: bool = False
    caused_by: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    akin: tuple[str, ...] = ()
    counterparts: tuple[str, ...] = ()
    former_counterparts: tuple[str, ...] = ()
    part_of: str = ""
    is_detail: bool = False
    grows_at_launch: bool = False
    is_observed: bool = False

    def __repr__(self) -> str:
        return f"<Figure {self.key}: {self.heading}, in {self.unit}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names in options and files, the shortest first: key and heading in small letters, with hyphens."""
        return tuple(sorted({as_name(self.key), as_name(self.heading)}, key=lambda name: (len(name), name)))

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names, and behind them those that it had before."""
        return tuple(dict.fromkeys((*self.names, *map(as_name, self.former))))

    def limited(self, kernel: Measured) -> int | None:
        """Return the value that limits hold: with the bytes that the launch adds, where they are known. Of a kernel without
        machine code nothing is known that is not observed."""
        value = self.read(kernel) if self.is_observed or kernel.code_size else None
        if value is None or not self.grows_at_launch:
            return value
        return value + (kernel.launch_shared_bytes or 0)

    def text(self, value: int) -> str:
        """Return the value as words and tables have it: ``1,024``, ``15.2 us``."""
        return duration(value) if self.unit == NANOSECONDS else f"{value:,}"

    def cell(self, value: int | None) -> int | str | None:
        """Return the value as a cell of a table."""
        return value if value is None or self.unit != NANOSECONDS else duration(value)

    def phrase(self, value: int | None) -> str:
        """Return the value in words (``128 GRFs available``); empty where there is nothing to say."""
        if value is None:
            return ""
        words = self.words if value else self.zero
        return words.replace("{}", self.text(value)).replace("(s)", "" if value == 1 else "s")
