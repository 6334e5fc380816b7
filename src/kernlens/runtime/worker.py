"""The child process that runs drivers and answers requests about them: ``python -m kernlens.runtime.worker``.

Requests come as lines of JSON on standard input. Answers go as lines of JSON to what was standard output when the process
started; whatever a driver prints goes to standard error. Bytes are base64. A request is ::

    {"api": "level-zero", "request": "build_spirv", "arguments": {"name": "a", "spirv": {"base64": "..."}}}

and its answer is ``{"answer": ...}`` or ``{"error": {...}}``. Before the answer, a line ``{"calling": "zeModuleCreate"}``
announces each driver call, so that the caller knows in which one the process died.

With the words ``JOB ANSWER`` the requests are the lines of a file, and answers go into another: a profiler around the process
may print where answers would go.

The worker needs only the standard library, so it runs in a toolchain's root with a bare Python.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import IO, Any

from kernlens.errors import KernlensError
from kernlens.runtime.file_limit import limit_file_size
from kernlens.runtime.worker_answers import from_json, to_json

#: The environment variable with the largest file, in bytes, that the driver may write: simulation can fill a disk.
FILE_SIZE_VARIABLE = "KERNLENS_WORKER_FILE_SIZE"
#: The fields of errors that are sent, from which the caller makes the same error.
_ERROR_FIELDS = ("call", "code", "query", "reason", "device", "input", "log", "advice")


def main() -> None:
    """Answer requests until standard input, or the file of requests, ends."""
    requests, answers = _files(*sys.argv[1:]) if len(sys.argv) > 1 else _take_over_streams()
    _limit_files()
    apis: dict[str, Any] = {}

    def send(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message).encode() + b"\n")

    def on_call(name: str) -> None:
        send({"calling": name})

    send({"ready": os.getpid()})
    for line in requests:
        send(_answer(json.loads(line), apis, on_call))


def _answer(message: dict[str, Any], apis: dict[str, Any], on_call: Callable[[str], None]) -> dict[str, Any]:
    try:
        api = message["api"]
        if api not in apis:
            apis[api] = _requests_of(api, on_call)
        ask = getattr(apis[api], message["request"])
        return {"answer": to_json(ask(**from_json(message["arguments"])))}
    except KernlensError as error:
        fields = {name: getattr(error, name) for name in _ERROR_FIELDS if hasattr(error, name)}
        return {"error": {"kind": type(error).__name__, "message": str(error), "fields": to_json(fields)}}
    except Exception as error:
        # The worker itself has a bug: the caller must hear of it rather than wait.
        trace = traceback.format_exc()
        return {"error": {"kind": type(error).__name__, "message": f"{error}", "fields": {"log": trace}}}


def _requests_of(api: str, on_call: Callable[[str], None]) -> object:
    if api == "level-zero":
        from kernlens.runtime.level_zero.level_zero_requests import LevelZeroRequests

        return LevelZeroRequests(on_call)
    if api == "cuda":
        from kernlens.runtime.cuda.cuda_requests import CudaRequests

        return CudaRequests(on_call)
    from kernlens.runtime.opencl.opencl_requests import OpenCLRequests

    return OpenCLRequests(on_call)


def _files(job: str, answer: str) -> tuple[IO[bytes], IO[bytes]]:
    return open(job, "rb"), open(answer, "wb", buffering=0)


def _take_over_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Keep standard input and output for the worker; the driver reads nothing and prints to standard error."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _limit_files() -> None:
    limit = os.environ.get(FILE_SIZE_VARIABLE)
    if not limit:
        return
    import signal

    # With the signal ignored, a write beyond the limit fails and does not end the process.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit_file_size(int(limit))


if __name__ == "__main__":
    main()
