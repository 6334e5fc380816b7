"""A driver in a child process, so that one that exits, crashes or hangs raises an error and the caller survives.

``IsolatedDriver`` keeps one worker (``runtime/worker.py``) per device, as a driver chooses its device only once.
"""

from __future__ import annotations

import json
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from kernlens.errors import KernlensError, NotFoundError, ToolError, call_target
from kernlens.model.build import Build
from kernlens.model.kernel import ReportedKernel
from kernlens.runtime.driver_environment import DriverEnvironment, copy_worker, package_folder
from kernlens.runtime.file_limit import FILE_SIZE_LIMIT
from kernlens.runtime.level_zero.handle_owner import HandleError
from kernlens.runtime.level_zero.live_module import GlobalPointer
from kernlens.runtime.level_zero.module_links import DynamicLink, ModuleLinkage, NativeInput, StaticInput
from kernlens.runtime.level_zero.result_codes import LevelZeroError, RefusedCallError
from kernlens.runtime.lifeline import Lifeline
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.temporary import TemporaryFolder
from kernlens.runtime.worker import FILE_SIZE_VARIABLE
from kernlens.runtime.worker_answers import build_of, from_json, object_of, to_json

if TYPE_CHECKING:
    import logging

LEVEL_ZERO = "level-zero"
OPENCL = "opencl"
CUDA = "cuda"
#: Seconds that one request may take (a build of a large program takes 16 s on two cores).
TIME_LIMIT = 120.0
#: Seconds that the main thread waits without looking whether a signal came.
_LONGEST_WAIT = 0.5
#: An error keeps at most this many bytes of a driver's output.
LOG_SIZE = 1 << 16
_GRACE = 2.0


class DriverDiedError(ToolError):
    """The end of a driver's process, or its kill because its time was over.

    ``call`` is the driver call that did not return (None: there was none yet), ``request`` the worker's request,
    ``device`` and ``input`` what it was about. ``status`` is the exit status, negative for a signal, None if the time was
    over.
    """

    def __init__(
        self, call: str | None, request: str, device: str, input: str | None, status: int | None, limit: float, log: str
    ) -> None:
        self.call = call
        self.request = request
        self.device = device
        self.input = input
        self.status = status
        inside = f"in {call}" if call else f"before its first call for {request}"
        advice = "the input is damaged, or the driver cannot deal with it"
        if status is None:
            how = f"did not come back from {call or request} within {limit:g} s and was ended"
        elif status < 0:
            how = f"crashed ({_signal_name(-status)}) {inside}"
        else:
            how = f"ended the process with exit status {status} {inside}"
        last_line = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "")
        message = f"the driver {how}{call_target(device, input)}: {last_line or advice}"
        super().__init__(message, command=call or request, log=log)


class IsolatedDriver:
    """A driver in a child process. Use it as a context manager, or ``close`` it.

    Requests refer to objects in the worker by name. After a DriverDiedError the worker and its objects are gone, and the
    next request starts a new worker.
    """

    def __init__(self, environment: DriverEnvironment, *, time_limit: float = TIME_LIMIT) -> None:
        self.environment = environment
        self.time_limit = time_limit
        self._worker: _Worker | None = None
        self._lock = threading.Lock()
        self._is_stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def kill(self) -> None:
        """End the worker from another thread than the one that waits for its answer, and let no other begin."""
        self._is_stopped = True
        if (worker := self._worker) is not None:
            worker.kill()

    def request(self, api: str, request: str, /, *, input: str | None = None, **arguments: Any) -> Any:
        """Send the worker a ``request`` of ``api`` and return its answer as plain data (see ``runtime/worker.py``).

        ``input`` is what errors call the subject of the request. Raises the worker's error, or DriverDiedError if the
        driver took the worker down or ran out of time, ToolError if it was killed.
        """
        with self._lock:
            if self._worker is None:
                self._worker = _Worker(self.environment, self.time_limit)
            if self._is_stopped:  # Looked at when the worker is known: ``kill`` ends those that it knows.
                self.close()
                raise ToolError("the driver's process was stopped")
            try:
                return self._worker.ask(job_line(api, request, arguments), f"{api} {request}", input)
            finally:
                if self._worker.ended:
                    self._worker = None

    def devices(self, api: str = LEVEL_ZERO) -> list[dict[str, Any]]:
        """List the devices of the drivers."""
        devices: list[dict[str, Any]] = self.request(api, "devices")
        return devices

    def build_spirv(
        self,
        name: str,
        spirv: bytes,
        flags: str = "",
        api: str = LEVEL_ZERO,
        constants: Mapping[int, int] | None = None,
    ) -> dict[str, Any]:
        """Build module or program ``name`` from SPIR-V; the answer holds ``log``, and ``kernel_names`` for a module.
        ``constants`` are the bits of a module's specialisation constants, by number."""
        options: dict[str, Any] = {"flags" if api == LEVEL_ZERO else "options": flags}
        if constants:
            options["constants"] = list(constants.items())
        answer: dict[str, Any] = self.request(api, "build_spirv", input=name, name=name, spirv=spirv, **options)
        return answer

    def load_native(self, name: str, binary: bytes, flags: str = "") -> dict[str, Any]:
        """Make module ``name`` from a native binary (Level Zero)."""
        answer: dict[str, Any] = self.request(
            LEVEL_ZERO, "load_native", input=name, name=name, binary=binary, flags=flags
        )
        return answer

    def build_source(self, name: str, text: str, options: str = "") -> str:
        """Build program ``name`` from OpenCL C (OpenCL), and return the build log."""
        return str(self.request(OPENCL, "build_source", input=name, name=name, text=text, options=options)["log"])

    def static_link(self, name: str, inputs: Sequence[StaticInput]) -> dict[str, Any]:
        """Build module ``name`` from several SPIR-V modules; the answer is as for ``build_spirv``."""
        answer: dict[str, Any] = self.request(LEVEL_ZERO, "static_link", input=name, name=name, inputs=list(inputs))
        return answer

    def static_link_natives(self, name: str, inputs: Sequence[NativeInput]) -> dict[str, Any]:
        """Build module ``name`` from several native binaries; the answer is as for ``build_spirv``."""
        answer: dict[str, Any] = self.request(
            LEVEL_ZERO, "static_link_natives", input=name, name=name, inputs=list(inputs)
        )
        return answer

    def dynamic_link(self, names: Sequence[str]) -> DynamicLink:
        """Link modules with each other."""
        answer = self.request(LEVEL_ZERO, "dynamic_link", input=", ".join(names), names=list(names))
        return object_of(DynamicLink, answer)

    def inspect_linkage(self, names: Sequence[str]) -> tuple[ModuleLinkage, ...]:
        """Return the exports and imports of modules."""
        answer = self.request(LEVEL_ZERO, "inspect_linkage", input=", ".join(names), names=list(names))
        return tuple(object_of(ModuleLinkage, item) for item in answer)

    def function_pointer(self, module: str, name: str) -> int:
        """Return the device address of an exported function or a kernel."""
        return int(self.request(LEVEL_ZERO, "function_pointer", input=module, module=module, name=name))

    def global_pointer(self, module: str, name: str) -> GlobalPointer:
        """Return where an exported variable lies on the device."""
        answer = self.request(LEVEL_ZERO, "global_pointer", input=module, module=module, name=name)
        return object_of(GlobalPointer, answer)

    def kernel(self, module: str, name: str) -> ReportedKernel:
        """Return a kernel's machine code and properties (Level Zero)."""
        answer = self.request(LEVEL_ZERO, "kernel", input=f"{module}: {name}", module=module, name=name)
        return object_of(ReportedKernel, answer)

    def live_builds(self, name: str, api: str = LEVEL_ZERO) -> tuple[Build, ...]:
        """Return all that module or program ``name`` holds, a Build per device."""
        return tuple(build_of(item) for item in self.request(api, "live_builds", input=name, name=name))


class _Worker:
    """A child process and the thread that reads its answers."""

    def __init__(self, environment: DriverEnvironment, time_limit: float) -> None:
        self._environment = environment
        self._time_limit = time_limit
        self._is_ready = False
        # A worker that is confined to a root finds its modules, and can write, only below the root.
        below = None if environment.root is None else environment.root / "tmp"
        if below is not None:  # A root whose packages are only unpacked may have none.
            below.mkdir(exist_ok=True)
        self._folder = TemporaryFolder("kernlens-", below)
        modules = str(package_folder())
        if environment.root is not None:
            copy_worker(Path(self._folder.name))
            modules = "/" + str(Path(self._folder.name).relative_to(environment.root))
        variables = {**environment.full_environment(modules), FILE_SIZE_VARIABLE: str(FILE_SIZE_LIMIT)}
        _logger().debug(
            "a child process for %s: %s with %s",
            environment.device,
            " ".join(environment.python),
            environment.variables,
        )
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the worker runs)
        self._lifeline = Lifeline()
        try:
            self._process = subprocess.Popen(
                [*environment.python, "-m", "kernlens.runtime.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._printed,
                env=variables,
                cwd=environment.folder or self._folder.name,
                start_new_session=True,
                pass_fds=self._lifeline.inherited,
            )
        except OSError as error:
            self._lifeline.cut()
            self._folder.cleanup()
            python = environment.python[0]
            raise ToolError(f"{python} cannot be started: {error}", command=python) from error
        # It waits for its first request until then; if this process ends before, it reads the end of its input.
        self._lifeline.fasten(self._process.pid)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: IO[bytes] = self._process.stdin
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def _read(self, output: IO[bytes]) -> None:
        try:
            with output:
                for line in output:
                    try:
                        self._answers.put(json.loads(line))
                    except ValueError:
                        break
        finally:  # Whoever asks must not wait for answers that nobody reads.
            self._answers.put(None)

    def ask(self, job: bytes, request: str, input: str | None) -> Any:
        deadline = time.monotonic() + self._time_limit
        call: str | None = None
        try:
            self._input.write(job)
            self._input.flush()
        except OSError:
            # The process is gone; what it wrote before can still be read.
            pass
        while True:
            left = deadline - time.monotonic()
            try:
                # A signal that comes just before a wait begins is obeyed when the wait ends: none may last long.
                answer = self._answers.get(timeout=min(max(0.0, left), _LONGEST_WAIT))
            except queue.Empty:
                if left > _LONGEST_WAIT:
                    continue
                raise self._died(call, request, input, timed_out=True) from None
            if answer is None:
                raise self._died(call, request, input, timed_out=False)
            if "ready" in answer:
                self._is_ready = True
            elif "calling" in answer:
                call = str(answer["calling"])
            elif (settled := _settled(answer)) is not None:
                return settled[0]

    def _died(self, call: str | None, request: str, input: str | None, *, timed_out: bool) -> ToolError:
        status: int | None = None
        if not timed_out:
            try:
                status = self._process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                status = None
        self.end()
        size = self._printed.seek(0, 2)
        self._printed.seek(max(0, size - LOG_SIZE))
        log = self._printed.read().decode("utf-8", "replace")
        _logger().debug("the child process for %s died in %s: %s", self._environment.device, call or request, status)
        if not self._is_ready:
            command = " ".join(self._environment.python)
            reason = log.strip().splitlines()[-1:] or [f"exit status {status}"]
            return ToolError(f"Python cannot be started with {command}: {reason[0]}", command=command, log=log)
        return DriverDiedError(call, request, self._environment.device, input, status, self._time_limit, log)

    @property
    def ended(self) -> bool:
        """True if the process is known to have ended."""
        return self._process.returncode is not None

    def end(self) -> None:
        """End the process and its children, and remove its folder."""
        import contextlib

        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                self._input.close()
            self.kill()
            self._process.wait()
        self._lifeline.cut()
        self._folder.cleanup()

    def kill(self) -> None:
        """Kill the process and its children, unless it is known to have ended."""
        import contextlib
        import os
        import signal

        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


def job_line(api: str, request: str, arguments: Mapping[str, Any]) -> bytes:
    """Return a request as the line that a worker reads."""
    return json.dumps({"api": api, "request": request, "arguments": to_json(arguments)}).encode() + b"\n"


def answer_of_job(content: bytes) -> Any:
    """Return the answer in what a worker has written into a file; None if it came to none. Raises the worker's error."""
    for line in content.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            break
        if (settled := _settled(message)) is not None:
            return settled[0]
    return None


def _settled(message: dict[str, Any]) -> tuple[Any] | None:
    """Return a message's answer; None if it is none yet. Raises the error that it tells."""
    if "error" in message:
        raise _error(message["error"])
    return (from_json(message["answer"]),) if "answer" in message else None


def _error(error: dict[str, Any]) -> KernlensError:
    """Return the worker's error as an exception; an error of an unknown kind becomes a ToolError with its message."""
    kind, message, fields = error["kind"], error["message"], from_json(error["fields"])
    if kind == "LevelZeroError":
        names = ("device", "input", "log", "advice")
        return LevelZeroError(fields["call"], fields["code"], **{name: fields[name] for name in names})
    if kind == "RefusedCallError":
        return RefusedCallError(fields["call"], fields["reason"], device=fields["device"], input=fields["input"])
    if kind == "OpenCLError":
        names = ("query", "device", "input", "log")
        return OpenCLError(fields["call"], fields["code"], **{name: fields[name] for name in names})
    if kind == "NotFoundError":
        return NotFoundError(message)
    if kind == "HandleError":
        return HandleError(message)
    return ToolError(message if kind == "ToolError" else f"{kind}: {message}", log=fields.get("log") or "")


def _logger() -> logging.Logger:
    # Imported late, as in the rest of the package; beside the start of a process it costs nothing.
    import logging

    return logging.getLogger("kernlens.runtime")


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
