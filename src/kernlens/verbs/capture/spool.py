"""The folder that the recorders in an application's processes write to (``native/recording``), and its files.

Each file is named after the process that wrote it, a number and a kind: ``process`` (the layer is in there), ``builds`` (those
that have finished, and those that have not yet), ``replacement`` (something stood in for a program) and ``counters`` (how
often kernels were created and launched so far: memory of the process).
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kernlens import log
from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError, KernlensError, NotFoundError, OutputError
from kernlens.formats.spirv.specialization import read_spec_constants
from kernlens.model.spirv import SpecConstant
from kernlens.runtime.level_zero.module_build import version_text
from kernlens.runtime.temporary import try_to_remove
from kernlens.toolchain.sources.source_reading import open_beside, read_beside
from kernlens.verbs.capture.caches import is_made_again
from kernlens.verbs.capture.spooled import Entry, Identity, read_fields

#: The variables that turn the recorder on, add options to builds, and name the file of what stands in for programs.
FOLDER, OPTIONS, REPLACE = "KERNLENS_CAPTURE", "KERNLENS_CAPTURE_OPTIONS", "KERNLENS_CAPTURE_REPLACE"
#: The variable with which what OpenCL reads back from simulated devices is zero.
ZEROS = "KERNLENS_CAPTURE_ZEROS"
#: Has the device time launches.
TIME = "KERNLENS_CAPTURE_TIME"
#: The variable that says, with 0, that the layer does not offer its extension.
SNAPSHOTS = "KERNLENS_SNAPSHOTS"
#: The name of the file of what stands in for programs, in the capture's folder.
REPLACEMENTS = "replacements"
#: The list of what could not be written, which the recorder fills without needing room on the disk: entries of this size.
MISSING = "missing"
ENTRIES, ENTRY_SIZE = 256, 256
#: Files of the folder: the path of its recording, the capture's request, and a mark where programs are started elsewhere.
_RECORDING, _ASKED, _SHARED = "recording", "asked", "shared"
#: What a capture's folder has behind the name of its recording.
_ENDING = ".capture"


@dataclass(slots=True)
class BuiltDevice:
    """The result of a build for one device; ``handle`` is the ``cl_device_id``, ``refused`` the binary of a program that the
    driver compiled and does not load, ``unasked`` why a second process, which is asked for the binary where that may end the
    application, came to none."""

    handle: int
    name: str = ""
    driver_version: str = ""
    ip: int | None = None
    platform: str = ""
    built: bool = False
    log: str = ""
    binary: bytes = field(default=b"", repr=False)
    debug: bytes = field(default=b"", repr=False)
    refused: bytes = field(default=b"", repr=False)
    unasked: str = ""


@dataclass(slots=True)
class Given:
    """The input of a driver's compile: a SPIR-V module (empty: none), options, and specialization constants.

    ``options`` are those that the driver got, ``own_options`` the application's. ``constants`` are by number: eight bytes from
    each value's place on, of which the value is as many as its type has.
    """

    spirv: bytes = field(default=b"", repr=False)
    options: str = ""
    own_options: str = ""
    constants: list[tuple[int, int]] = field(default_factory=list)

    def known_constants(self) -> dict[int, SpecConstant]:
        """Return the specialization constants that the module has, by number; none if nothing sets a value."""
        try:
            return read_spec_constants(memoryview(self.spirv)) if self.constants and self.spirv else {}
        except KernlensError as error:
            log.debug("verbs", "the constants of a module that the driver took are not known: %s", error)
            return {}


@dataclass(slots=True)
class BuildEvent(Given):
    """One call of a function that builds.

    ``operation`` is ``build``, ``compile``, ``link`` or ``built-in kernels`` (whose names are the options) of OpenCL,
    ``module`` or ``dynamic link`` of the ``interface`` ``level-zero``. ``hash`` is the SHA-256 of source or IL. ``time`` and
    ``duration`` are nanoseconds, ``time`` since 1970. ``program`` is None if the driver made none; ``inputs`` are the
    programs that were linked, ``static_inputs`` what a module was linked from. ``log`` is that of a dynamic link, which is for
    no one device. ``has_ended`` is False if the driver has not returned: mostly the process ended then. ``observed`` is
    the number by which an interpreter's plugin calls it, "" if that is not known.
    """

    operation: str = ""
    interface: str = "opencl"
    time: int = 0
    duration: int = 0
    process: int = 0
    thread: int = 0
    status: int = 0
    program: Identity | None = None
    inputs: list[Identity] = field(default_factory=list)
    source: str | None = None
    hash: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    static_inputs: list[Given] = field(default_factory=list)
    log: str = ""
    devices: list[BuiltDevice] = field(default_factory=list)
    has_ended: bool = True
    observed: str = ""

    @property
    def got_more_options(self) -> bool:
        """True if options were added to the application's."""
        sources: list[Given] = [self, *self.static_inputs]
        return any(each.options != each.own_options for each in sources)


@dataclass(frozen=True, slots=True)
class Replaced:
    """A program that the application got in place of its own: ``program`` is what the user calls its own, ``hash`` its
    SHA-256, ``by`` that of what stood in. ``error`` is the driver's code if it refused, else 0; ``identity`` is the program
    then made. ``log`` is what the driver said."""

    program: str
    hash: str
    by: str
    identity: Identity
    error: int
    log: str = ""


def spool_folder(recording: Path) -> Path:
    """Return the folder of a capture that makes this recording."""
    return recording.with_name(f"{recording.name}{_ENDING}").absolute()


class Spool:
    """A capture's folder. As long as it is made or opened, nobody else can open it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = contextlib.ExitStack()

    @classmethod
    def make(cls, recording: Path, *, is_shared: bool = False) -> Spool:
        """Make the folder beside the recording that it is for. Raises OutputError if it is there, or cannot be made."""
        folder = spool_folder(recording)
        if is_made_again(folder):
            try_to_remove(folder)
        try:
            # Whole at once, as several may begin at the same time.
            with TemporaryDirectory(prefix=".kernlens-", dir=folder.parent) as outer:
                unfinished = Path(outer) / "made"
                unfinished.mkdir(0o700)
                (unfinished / _RECORDING).write_text(str(recording.absolute()))
                (unfinished / MISSING).write_bytes(bytes(ENTRIES * ENTRY_SIZE))
                spool = cls(folder)
                if is_shared:
                    (unfinished / _SHARED).touch()
                else:
                    spool._take(unfinished)
                unfinished.rename(folder)
        except OSError as error:
            if os.path.lexists(folder):
                with contextlib.closing(cls(folder)) as other:
                    is_free = other._take(folder)
                if not is_free:
                    raise OutputError(
                        f"another process is writing the recording {recording}; wait for it, or choose another name"
                    ) from None
                raise OutputError(
                    f"there is {folder}, which a capture that was killed has left, or programs that were started elsewhere"
                    f" write to; kernlens capture --recover {folder} writes a recording from it"
                ) from None
            raise OutputError(
                f"cannot make the folder {folder}: {error.strerror}; name another place with -o"
            ) from error
        return spool

    @classmethod
    def join(cls, recording: Path) -> Spool:
        """Return the folder for programs that somebody else starts, which calls share. Raises what ``make`` raises."""
        folder = spool_folder(recording)
        if not (folder / _SHARED).is_file():
            try:
                return cls.make(recording, is_shared=True)
            except OutputError:
                if not (folder / _SHARED).is_file():
                    raise
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> Spool:
        """Return the folder of a killed capture. Raises NotFoundError if it is none, OutputError if the capture goes on."""
        if not (folder / _RECORDING).is_file() or not (folder / MISSING).is_file():
            raise NotFoundError(f"{folder} is not a capture directory; its name would end with .klens.capture")
        spool = cls(folder)
        if not spool._take(folder):
            spool.close()
            raise OutputError(
                f"another process is still writing to {folder}; it writes the recording itself when it ends"
            )
        return spool

    def _take(self, folder: Path) -> bool:
        """Lock the folder; return False if it is locked already."""
        import fcntl

        try:
            file = self._lock.enter_context(open_beside(folder / _RECORDING, folder))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except (OSError, KernlensError) as error:
            log.debug("verbs", "cannot lock %s: %s", folder, error)
        return True

    def close(self) -> None:
        """Release the folder, so that others can open it. More calls do nothing."""
        self._lock.close()

    @property
    def recording(self) -> Path:
        """The recording that it is for, beside it: what the folder states could be any path. Raises OutputError if its name
        says of none."""
        folder = Path(os.path.abspath(self.folder))
        name = folder.name.removesuffix(_ENDING)
        if name in ("", folder.name):
            raise OutputError(f"{self.folder} is not called RECORDING{_ENDING}; name the recording with -o")
        return folder.with_name(name)

    @property
    def asked(self) -> Path:
        """The file of the capture's request, as JSON; not there until somebody writes it."""
        return self.folder / _ASKED

    @property
    def was_entered(self) -> bool:
        """True if a process has loaded the layer."""
        return bool(self.files("process"))

    def missing(self) -> list[str]:
        """Return what could not be written, and why."""
        if not (self.folder / MISSING).is_file():
            return [f"what was written to {self.folder}: somebody has removed it"]
        content = read_beside(self.folder / MISSING, self.folder)
        entries = [content[start : start + ENTRY_SIZE] for start in range(0, len(content), ENTRY_SIZE)]
        # A process that may not write made an empty file, whose name is the entry.
        entries += [os.fsencode(path.stem.partition(".")[2]) for path in self.files(MISSING)]
        failures = []
        for entry in entries:
            number, _, what = entry.partition(b"\0")[0].decode("utf-8", "replace").partition(" ")
            if number.isdecimal():
                failures.append(f"{what}: {os.strerror(int(number))}" if int(number) else what)
        return failures

    def tell_outer(self, environment: dict[str, str]) -> None:
        """Tell the capture that this environment is of, if any, that what is run now is recorded here."""
        outer = Path(environment.get(FOLDER) or self.folder)
        if outer == self.folder or not (outer / MISSING).is_file():
            return
        try:
            (outer / f"{secrets.token_hex(8)}-{os.getpid()}.nested").write_text(str(self.recording.absolute()))
        except OSError as error:
            log.debug("verbs", "cannot write to %s: %s", outer, error)

    def nested_recordings(self) -> list[str]:
        """Return the recordings that captures within this one make, which have folders of their own."""
        texts = (read_beside(path, self.folder) for path in self.folder.glob("*.nested"))
        return sorted({text.decode("utf-8", "replace") for text in texts})

    def remove(self) -> None:
        """Remove the folder. A process that is killed in the middle of that leaves none that looks like a capture's."""
        removed = self.folder.with_name(f"{self.folder.name}.removed")
        try_to_remove(removed)
        try:
            self.folder.rename(removed)
        except OSError as error:
            log.debug("verbs", "cannot remove %s: %s", self.folder, error)
        try_to_remove(removed)
        self.close()

    def files(self, kind: str) -> list[Path]:
        """Return the files of a kind. Of one build ``builds`` may hold the beginning and the end."""
        # What is no file, a pipe for one, nobody of ours has written.
        return sorted(path for path in self.folder.glob(f"*.{kind}") if path.name[0] != "." and path.is_file())


def _text(value: bytes) -> str:
    return value.rstrip(b"\0").decode("utf-8", "replace")


def _number(value: bytes) -> int:
    return int.from_bytes(value, "little")


def _identity(value: bytes) -> Identity:
    return int.from_bytes(value[:8], "little"), int.from_bytes(value[8:], "little")


#: Fields of a build, and of a device: the attribute that each sets, and how it is read.
_BUILD_FIELDS: dict[str, tuple[str, Callable[[bytes], Any]]] = {
    "operation": ("operation", _text),
    "observed": ("observed", _text),
    "interface": ("interface", _text),
    "given options": ("options", _text),
    "time": ("time", _number),
    "duration": ("duration", _number),
    "thread": ("thread", _number),
    "number of process": ("process", _number),
    "program": ("program", _identity),
}
_DEVICE_FIELDS: dict[str, tuple[str, Callable[[bytes], Any]]] = {
    "device name": ("name", lambda value: _text(value).strip()),
    "driver version": ("driver_version", _text),
    "driver version number": ("driver_version", lambda value: version_text(_number(value))),
    "device ip": ("ip", _number),
    "platform": ("platform", _text),
    "log": ("log", _text),
    "built": ("built", lambda value: bool(_number(value))),
    "binary": ("binary", bytes),
    "debug": ("debug", bytes),
    "refused": ("refused", bytes),
    "unasked": ("unasked", _text),
}


def read_build(entry: Entry) -> BuildEvent:
    """Return the build of an entry. Raises FormatError if it is damaged."""
    event = BuildEvent(has_ended=entry.has_ended)
    for name, value in entry.fields():
        match name:
            case "options":
                event.options = event.own_options = _text(value)
            case "status":
                event.status = int.from_bytes(value, "little", signed=True)
            case _ if name in _BUILD_FIELDS:
                attribute, read = _BUILD_FIELDS[name]
                setattr(event, attribute, read(value))
            case "input":
                event.inputs.append(_identity(value))
            case "source":
                event.source, event.hash = _text(value), sha256(value).hexdigest()
            case "spirv":
                event.spirv, event.hash = value, sha256(value).hexdigest()
            case "header":
                event.headers.append((_text(value), ""))
            case "header source":
                event.headers[-1:] = [(header, _text(value)) for header, _ in event.headers[-1:]]
            case "input spirv":
                event.static_inputs.append(Given(value))
            case "input options" if event.static_inputs:
                event.static_inputs[-1].options = event.static_inputs[-1].own_options = _text(value)
            case "given input options" if event.static_inputs:
                event.static_inputs[-1].options = _text(value)
            case "constant":
                (event.static_inputs[-1] if event.static_inputs else event).constants.append(_identity(value))
            case "device":
                event.devices.append(BuiltDevice(_number(value)))
            case "log" if not event.devices:
                event.log = _text(value)
            case _ if event.devices and name in _DEVICE_FIELDS:
                attribute, read = _DEVICE_FIELDS[name]
                setattr(event.devices[-1], attribute, read(value))
    return event


def read_replaced(path: Path) -> Replaced:
    """Return the content of a file on a replacement. Raises FormatError if it is damaged."""
    fields = dict(read_fields(read_beside(path, path.parent), path.name))
    try:
        return Replaced(
            _text(fields["replaced"]),
            _text(fields["hash"]),
            _text(fields["replacement's hash"]),
            _identity(fields["program"]),
            int.from_bytes(fields["error"], "little", signed=True),
            _text(fields.get("log", b"")),
        )
    except KeyError as error:
        raise FormatError(f"{path.name} has no field {error}", format="capture") from error
