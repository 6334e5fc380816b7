"""An application on Oclgrind, whose plugin counts what its kernels do, for a device of the user's choice."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import struct
import threading
from collections.abc import Iterator, Mapping

from kernlens import log
from kernlens.dataclass import dataclass, replace
from kernlens.errors import KernlensError
from kernlens.isa.devices import device as device_named
from kernlens.isa.observed_machines import machine_of
from kernlens.model.behaviour import ObservedMachine
from kernlens.model.build import Build
from kernlens.toolchain.compile_cache import open_cache
from kernlens.toolchain.foreign_text import foreign_text
from kernlens.toolchain.loaders.vendor_file import behind_layer
from kernlens.toolchain.oclgrind import machine_words, oclgrind, plugin
from kernlens.toolchain.sources.includes import include_folders, with_lines
from kernlens.toolchain.sources.source_reading import is_wide
from kernlens.toolchain.toolchains import DEFAULT, find_toolchains
from kernlens.verbs.capture.spool import BuildEvent, Spool, read_build
from kernlens.verbs.capture.spooled import read_entries
from kernlens.verbs.compile import build, compiled_kernels, plan, targets_of

#: Seconds that are counted of each kernel.
SECONDS = 20.0
#: Launches of a kernel and its sizes that are counted.
LAUNCHES = 8
#: The variable that the plugin and the layer read.
OBSERVE = "KERNLENS_OBSERVE"
#: Names the script that translates an application's SPIR-V.
TRANSLATOR = "KERNLENS_OBSERVE_TRANSLATOR"
_CREDENTIALS = struct.Struct("3i")
_LONGEST_QUESTION = 1 << 16


@dataclass(frozen=True, slots=True)
class Observing:
    """The wish to observe: for a ``device`` (None: none), for so many seconds of each kernel, in a ``toolchain``'s Oclgrind."""

    device: str | None = None
    seconds: float = SECONDS
    toolchain: str = ""

    def machine(self) -> ObservedMachine:
        """Return what requests are counted for; its width is 0 where each kernel's compile decides. Raises NotFoundError and
        UnsupportedError for a device of which that is not known."""
        return machine_of(device_named(self.device)) if self.device is not None else ObservedMachine()

    def variables(self, environment: Mapping[str, str], spool: Spool, number: int) -> dict[str, str]:
        """Return the variables that have an application's processes see Oclgrind alone, and its plugin count into the folder.
        ``number`` is that of the socket which is asked for the width of sub-groups."""
        machine = self.machine()
        races = environment.get("OCLGRIND_DATA_RACES", "1") == "1"
        words = machine_words(
            machine if machine.width else replace(machine, width=ObservedMachine().width), races=races
        )
        asks = "" if machine.width else f" asks={number}"
        own = {
            "OCLGRIND_PLUGINS": str(plugin()),
            "OCLGRIND_DATA_RACES": "0",  # The plugin looks for them.
            "OCLGRIND_LOG": os.devnull,  # What it says of faults is recorded.
            OBSERVE: f"{words}{asks} seconds={max(1, round(self.seconds))} launches={LAUNCHES} folder={spool.folder}",
        }
        sizes = {"OCLGRIND_LOCAL_MEM_SIZE": 64 << 10, "OCLGRIND_GLOBAL_MEM_SIZE": 3 << 30}
        chosen = {name: environment.get(name, str(value)) for name, value in sizes.items()}
        interpreter = oclgrind(self.toolchain)
        if (script := interpreter.translator_script) is not None:
            path = spool.folder / "translate"
            path.write_text(script)
            own[TRANSLATOR] = str(path)
        return {**interpreter.variables(), **chosen, **own}


class DeviceCode:
    """The programs of an application, compiled for a ``device`` (None: nothing here compiles for it) from the source and
    options that the application gave."""

    def __init__(self, device: str | None, spool: Spool, *, unconfined: bool = False) -> None:
        #: Why nothing is compiled; empty if it is.
        self.reason = ""
        self._toolchain = DEFAULT
        self.device = device if device is not None and self._is_compiled_for(device) else None
        self._spool, self._unconfined = spool, unconfined
        self._known: dict[tuple[str, str], Build] = {}
        self._lock = threading.Lock()

    def _is_compiled_for(self, device: str) -> bool:
        """Look for a toolchain that compiles for the device, the default one first; else keep why the default one does not."""
        for name in (DEFAULT, *(each.name for each in find_toolchains())):
            try:
                if targets_of([device], [name])[0]:
                    self._toolchain = name
                    return True
            except KernlensError as error:
                self.reason = self.reason or str(error)
        return False

    def build_of(self, event: BuildEvent) -> Build | None:
        """Return the build for the device, which may have failed; None without a device, and for what came not from source or
        SPIR-V in one call."""
        content = event.spirv or (event.source or "").encode()
        if self.device is None or not content or event.operation != "build":
            return None
        with self._lock:
            key = event.hash, event.own_options
            if key not in self._known:
                self._known[key] = self._compile(event, content, self.device)
            return self._known[key]

    def _compile(self, event: BuildEvent, content: bytes, device: str) -> Build:
        try:
            folder = self._spool.folder / "sources" / event.hash[:16]
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"program.{'spv' if event.spirv else 'cl'}"
            path.write_bytes(content)
            words = event.own_options
            shown = [str(folder), os.getcwd(), *include_folders(words)]
            shown = [each for each in shown if os.path.isdir(each) and not is_wide(each)]
            jobs = plan([path], [device], [self._toolchain], options=with_lines(words)).jobs
            with (
                foreign_text(shown, unconfined=self._unconfined),
                contextlib.closing(build(jobs, cache=open_cache())) as all_,
            ):
                return next(each for _, each in all_)
        except (KernlensError, OSError) as error:
            return Build("", device, ok=False, reason=str(error))

    def width_of(self, event: BuildEvent, kernel: str) -> int | None:
        """Return how wide the compiler made the sub-groups of a kernel; None if that is not known."""
        compiled = self.build_of(event)
        if compiled is None or not compiled.ok:
            return None
        return next((each.resources.simd for each in compiled_kernels(compiled) if each.name == kernel), None)


class WidthServer:
    """Answers the plugin's questions how wide the sub-groups of a kernel are, in a thread, within the context."""

    def __init__(self, spool: Spool, code: DeviceCode) -> None:
        self._spool, self._code = spool, code
        self.number = 1 + secrets.randbelow(1 << 62)
        self._socket: socket.socket | None = None
        self._is_over = False

    def __enter__(self) -> WidthServer:
        """Begin to listen, under a name that only who knows the number can guess."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(f"\0kernlens-observe-{self.number}")
        self._socket.listen(16)
        threading.Thread(target=self._serve, args=(self._socket,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._is_over = True
        assert self._socket is not None
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self, listening: socket.socket) -> None:
        # Signals are the main thread's, which passes them on to the application.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while not self._is_over:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    self._answer(connection)
                except (KernlensError, OSError) as error:
                    log.debug("verbs", "the width of a sub-group is not known: %s", error)

    def _answer(self, connection: socket.socket) -> None:
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        if _CREDENTIALS.unpack(peer)[1] != os.geteuid():
            return
        connection.settimeout(10.0)
        question = b""
        while not question.endswith(b"\n") and len(question) < _LONGEST_QUESTION:
            received = connection.recv(4096)
            if not received:
                return
            question += received
        number, _, kernel = question.decode("utf-8", "replace").rstrip("\n").partition("\t")
        event = next((each for each in self._events() if number and each.observed == number), None)
        width = self._code.width_of(event, kernel) if event is not None else None
        connection.sendall(str(width or 0).encode())

    def _events(self) -> Iterator[BuildEvent]:
        for path in self._spool.files("builds"):
            for entry in read_entries(path):
                yield read_build(entry)


@contextlib.contextmanager
def observed(
    observing: Observing | None, environment: dict[str, str], spool: Spool, *, unconfined: bool
) -> Iterator[DeviceCode]:
    """Have an application that starts in this environment run on the interpreter, if that is wished; give the code for the
    device."""
    code = DeviceCode(observing.device if observing is not None else None, spool, unconfined=unconfined)
    if observing is None:
        yield code
        return
    with WidthServer(spool, code) as server:
        environment |= behind_layer(environment, observing.variables(environment, spool, server.number))
        yield code
