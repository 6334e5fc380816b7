"""The extension ``cl_codeplay_program_snapshot`` for pyopencl's programs: lists of a program's stages, delivery of one.

Source: the extension's specification, version 2; where it contradicts itself, its reference implementation decides.
``docs/stages.md`` names the stages. If the OpenCL layer is loaded, its two functions do the work. Without it the request
extends the program's ``build``, which calls back before it returns. Intel's GPU compiler keeps the stage during the
application's build, unless another thread could build meanwhile. Otherwise a second build follows: a child process builds
the same source with the same options, driver and device and keeps its stages. For Intel's GPUs both builds' machine code
is compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, UnsupportedError
from kernlens.pipeline.live_stages import LiveProgram, live_program
from kernlens.pipeline.own_build import ApplicationBuild
from kernlens.pipeline.snapshot_layer import LIST_CALL, REQUEST_CALL, SnapshotLayer, snapshot_layer
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.handle_checks import OpenCLHandleError, handle_of
from kernlens.runtime.opencl.opencl_library import OpenCL, open_opencl

#: CL_PROGRAM_BINARY_FORMAT_*_CODEPLAY.
DEFAULT, BINARY, TEXT = 0, 1, 2
_NO_FORMAT = 0xFFFFFFFF
_FORMS = {DEFAULT: None, BINARY: "binary", TEXT: "text"}

INVALID_VALUE, INVALID_DEVICE, INVALID_PROGRAM, INVALID_PROGRAM_EXECUTABLE, INVALID_ARG_VALUE = -30, -33, -44, -45, -50


class SnapshotWarning(UserWarning):
    """The warning that a requested snapshot could not be made. The build itself stands."""


class SnapshotLabel(NamedTuple):
    """The description of a snapshot; the callback gets it as the extension's ``callback_data``. ``ending`` is the usual
    file ending of the content (``.ll``), ``kernel`` the kernel's name, empty for a stage of the whole program."""

    ending: str
    kernel: str


#: Called with the size in bytes, the bytes, the label, and the user's object.
SnapshotCallback = Callable[[int, bytes, SnapshotLabel, Any], object]


def request_program_snapshot_list(program: object, device: object, count: int | None = None) -> list[str]:
    """Return the names of the stages that ``device``'s compiler has for ``program``, in pipeline order.

    ``program`` and ``device`` are pyopencl's. ``count`` limits the number of names (None: all). Listing is possible
    before and after the build.

    Raises OpenCLError with the code that the extension names: CL_INVALID_PROGRAM; CL_INVALID_DEVICE, also for a device
    that is not the program's; CL_INVALID_VALUE for a ``count`` of 0, and if the stages cannot be queried.
    """
    library = open_opencl()
    program_handle = _handle(library, program, "program", LIST_CALL, INVALID_PROGRAM)
    device_handle = _handle(library, device, "device", LIST_CALL, INVALID_DEVICE)
    layer = snapshot_layer(library, device_handle)
    if layer is not None:
        return layer.list(program_handle, device_handle, count)
    live = live_program(library, program_handle, device_handle)
    if live is None:
        raise OpenCLError(LIST_CALL, INVALID_DEVICE)
    if count is not None and count < 1:
        raise OpenCLError(LIST_CALL, INVALID_VALUE)
    if not live.stages:
        raise OpenCLError(LIST_CALL, INVALID_VALUE, input="a program whose compiler shows no stages")
    return [stage.name for stage in live.stages][:count]


def request_program_snapshot(
    program: object, device: object, stage: str, format: int, callback: SnapshotCallback, user_data: Any = None
) -> None:
    """Have ``callback(size, content, label, user_data)`` called when ``program`` is built for ``device``.

    ``stage`` is a name from the list. ``format`` is DEFAULT, BINARY or TEXT; a stage with one form delivers that one
    whatever the format. A stage of kernel scope calls back once per kernel. The callback runs before the building
    call returns; the latest request for a program counts. If the snapshot cannot be made the build stands, the callback
    is not called, and a SnapshotWarning says why. Without the layer only pyopencl's ``Program.build`` delivers.

    Raises OpenCLError, checked in this order: CL_INVALID_PROGRAM; CL_INVALID_DEVICE; CL_INVALID_ARG_VALUE for no stage,
    an unknown format, a callback that cannot be called, or an unknown stage; CL_INVALID_PROGRAM_EXECUTABLE if the
    program was compiled or built before; CL_INVALID_VALUE if the stages cannot be queried.
    """
    library = open_opencl()
    program_handle = _handle(library, program, "program", REQUEST_CALL, INVALID_PROGRAM)
    device_handle = _handle(library, device, "device", REQUEST_CALL, INVALID_DEVICE)
    layer = snapshot_layer(library, device_handle)
    if layer is not None:
        _request_of_layer(layer, program_handle, device_handle, stage, format, callback, user_data)
        return
    live = live_program(library, program_handle, device_handle)
    if live is None:
        raise OpenCLError(REQUEST_CALL, INVALID_DEVICE)
    if not isinstance(stage, str) or not _is_format(format) or not callable(callback):
        raise OpenCLError(REQUEST_CALL, INVALID_ARG_VALUE)
    if not live.stages:
        raise OpenCLError(REQUEST_CALL, INVALID_VALUE, input="a program whose compiler shows no stages")
    if stage not in {each.name for each in live.stages}:
        raise OpenCLError(REQUEST_CALL, INVALID_ARG_VALUE, input=f"the stage {stage!r}")
    if live.is_built:
        raise OpenCLError(REQUEST_CALL, INVALID_PROGRAM_EXECUTABLE)
    _extend_build(program, _Request(live, stage, _FORMS[format], callback, user_data))


def _is_format(format: object) -> bool:
    return isinstance(format, int) and not isinstance(format, bool) and format in _FORMS


def _request_of_layer(
    layer: SnapshotLayer, program: int, device: int, stage: str, format: int, callback: SnapshotCallback, user_data: Any
) -> None:
    def deliver(content: bytes, ending: str, kernel: str) -> None:
        callback(len(content), content, SnapshotLabel(ending, kernel), user_data)

    # Values that C cannot express become values that the layer refuses, so that its order of checks holds.
    layer.request(
        program,
        device,
        stage if isinstance(stage, str) else None,
        format if _is_format(format) else _NO_FORMAT,
        deliver if callable(callback) else None,
    )


def _handle(library: OpenCL, candidate: object, kind: str, call: str, code: int) -> int:
    """Return the handle. Raises OpenCLError with ``code`` for a null handle, and for what cannot be such an object."""
    with warnings.catch_warnings():
        # pyopencl warns that it does not use its cache for a program whose handle was asked for. A request needs just that.
        warnings.filterwarnings("ignore", "Pre-build attribute access", UserWarning)
        try:
            return handle_of(candidate, kind, library)
        except OpenCLHandleError as error:
            raise OpenCLError(call, code, input=str(error)) from None


@dataclass(frozen=True)
class _Request:
    """A request that waits for the build."""

    live: LiveProgram
    stage: str
    form: str | None
    callback: SnapshotCallback
    user_data: Any

    def deliver(self, options: str, build: ApplicationBuild | None) -> None:
        """Call back with what the application's ``build`` kept, else with what a second build with ``options`` makes.
        Warns (SnapshotWarning) if there is neither."""
        try:
            own_snapshots = build.snapshots(self.live.binary()) if build is not None else []
            contents = [(content, SnapshotLabel(ending, kernel)) for content, ending, kernel in own_snapshots]
            if not contents:
                snapshots = self.live.snapshots(self.stage, self.form, options)
                contents = [(each.content, SnapshotLabel(each.ending, each.kernel or "")) for each in snapshots]
        except (KernlensError, OSError) as error:
            warnings.warn(f"no snapshot of the stage {self.stage}: {error}", SnapshotWarning, stacklevel=4)
            return
        for content, label in contents:
            self.callback(len(content), content, label, self.user_data)


def _extend_build(program: Any, request: _Request) -> None:
    """Make the program's next successful ``build`` deliver the request before it returns."""
    if not hasattr(program, "__dict__") or not callable(getattr(type(program), "build", None)):
        raise UnsupportedError(
            f"without the OpenCL layer, only pyopencl's Program supports snapshots, not {type(program).__name__};"
            " 'kernlens layer' prints how to load the layer"
        )

    def build(options: Any = None, *arguments: Any, **keywords: Any) -> Any:
        with request.live.build_keeping(request.stage, request.form) as application_build:
            result = type(program).build(program, options, *arguments, **keywords)
        program.__dict__.pop("build", None)
        if request.live.is_built:
            request.deliver(_option_text(options), application_build)
        return result

    program.__dict__["build"] = build


def _option_text(options: object) -> str:
    """Return the options, which pyopencl takes as a text or as a list of words, as a text."""
    if options is None:
        return ""
    return options if isinstance(options, str) else " ".join(str(word) for word in options)  # type: ignore[attr-defined]
