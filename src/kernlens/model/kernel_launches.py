"""The facts on a kernel's launches: no binary says them, but what lay beside one, or a recording, may."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernlens.model.behaviour import Behaviour
    from kernlens.model.device_time import DeviceTime


class KernelLaunches:
    """The launches of a kernel, as far as they are known: ``shared_bytes`` of local memory that they ask for besides those
    that it declares, None if nothing says it; ``find_behaviours`` gives what an interpreter counted of them; ``launch_time`` is
    what a device took for them, None if nothing says it."""

    def __init__(
        self,
        shared_bytes: int | None = None,
        find_behaviours: Callable[[], Sequence[Behaviour]] = tuple,
        launch_time: DeviceTime | None = None,
    ) -> None:
        self.launch_time = launch_time
        self.shared_bytes = shared_bytes
        self._find_behaviours = find_behaviours

    @cached_property
    def behaviours(self) -> tuple[Behaviour, ...]:
        """The launches that an interpreter ran; none where nothing was observed."""
        return tuple(self._find_behaviours())


#: Of a kernel whose launches nothing tells of.
NOTHING_KNOWN = KernelLaunches()
