"""A page's request for compiles: JSON, and not too much of it, checked key by key."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Set
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request

from kernlens.dataclass import dataclass
from kernlens.explorer.responses import JSON, RefusedError
from kernlens.model.source_path import why_unfit

#: Bytes of a request's body, at most.
BODY_LIMIT = 2 << 20
#: Seconds in which a body has to come.
BODY_TIME = 30.0
#: Configurations of one request, at most.
CONFIGURATIONS = 16
#: Edited files of one request beside the one that it names, at most.
OTHERS = 64
#: Characters of a name, a path, and an option string, at most.
_NAME, _PATH, _OPTIONS = 128, 4096, 4096
#: Characters of a kernel's name, at most: mangled ones are long.
_KERNEL = 1 << 16
#: Keys of a configuration that are true or false.
_SWITCHES = {"all_passes", "trials"}


#: Runs of a replay that are timed, at most.
_RUNS = 1000


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """The kernel whose kept launch is to be run, and how many runs are timed."""

    kernel: str
    runs: int


@dataclass(frozen=True, slots=True)
class Configuration:
    """The target of a compile. ``all_passes`` keeps the LLVM IR after each pass too; ``trials``: instead of one compile
    other build options are tried (``trial_work``). ``replay``: instead of a compile the source runs on a kept launch
    (``replay_work``)."""

    device: str
    toolchain: str
    options: str
    all_passes: bool = False
    trials: bool = False
    replay: ReplayRequest | None = None


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """One request of a page. ``path`` names the source that was edited, ``text`` is what became of it; ``program`` is the
    program it belongs to, None if the path says enough; ``others`` are the program's other edited files, path and text."""

    session: str
    serial: int
    path: str
    text: str
    program: str | None
    configurations: tuple[Configuration, ...]
    others: tuple[tuple[str, str], ...] = ()


async def json_body(request: Request) -> Any:
    """Return a request's body, which has to be JSON and of limited size; more is not read.

    Raises RefusedError 415, 413, 408 or 400.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise RefusedError(415, f"the request's Content-Type is {kind or 'missing'}; it has to be {JSON}")
    too_large = RefusedError(
        413, f"the request contains more than {BODY_LIMIT >> 20} MB", "send a smaller source", {"Connection": "close"}
    )
    stated = request.headers.get("content-length", "")
    if stated.isdigit() and int(stated[:20]) > BODY_LIMIT:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIME):
            async for chunk in request.stream():
                if len(body) + len(chunk) > BODY_LIMIT:
                    raise too_large
                body += chunk
    except TimeoutError:
        raise RefusedError(408, "the request's body did not come in time", None, {"Connection": "close"}) from None
    except ClientDisconnect:
        raise RefusedError(400, "the request's body ended early") from None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RefusedError(400, f"the request is no JSON: {error}") from None


def compile_request(document: Any) -> CompileRequest:
    """Return the request in a body. Raises RefusedError 400, which names the key, if it is none."""
    top = checked_object(document, "the request", {"session", "serial", "source", "configurations"})
    source = checked_object(top["source"], "source", {"path", "text"}, {"program", "others"})
    items = top["configurations"]
    if not isinstance(items, list) or not 1 <= len(items) <= CONFIGURATIONS:
        raise RefusedError(400, f"configurations must be a list of 1 to {CONFIGURATIONS}")
    serial = _whole(top["serial"])
    if isinstance(serial, bool) or not isinstance(serial, int) or not 0 <= serial < 1 << 53:
        raise RefusedError(400, "serial must be a whole number from 0")
    program = source.get("program")
    others = source.get("others", [])
    if not isinstance(others, list) or len(others) > OTHERS:
        raise RefusedError(400, f"source.others must be a list of up to {OTHERS}")
    return CompileRequest(
        session=checked_text(top["session"], "session", _NAME),
        serial=serial,
        path=_checked_path(source["path"], "source.path"),
        text=checked_text(source["text"], "source.text", None, least=0),
        program=None if program is None else checked_text(program, "source.program", _NAME),
        configurations=tuple(_configurations(items)),
        others=tuple(_others(others)),
    )


def _others(items: list[Any]) -> Iterator[tuple[str, str]]:
    for number, item in enumerate(items):
        where = f"source.others[{number}]"
        fields = checked_object(item, where, {"path", "text"})
        yield (
            _checked_path(fields["path"], f"{where}.path"),
            checked_text(fields["text"], f"{where}.text", None, least=0),
        )


def _configurations(items: list[Any]) -> Iterator[Configuration]:
    for number, item in enumerate(items):
        where = f"configurations[{number}]"
        fields = checked_object(item, where, {"device", "toolchain", "options"}, {*_SWITCHES, "replay"})
        switches = {key: fields.get(key, False) for key in _SWITCHES}
        for key, value in switches.items():
            if not isinstance(value, bool):
                raise RefusedError(400, f"{where}.{key} must be true or false")
        options = checked_text(fields["options"], f"{where}.options", _OPTIONS, least=0)
        yield Configuration(
            checked_text(fields["device"], f"{where}.device", _NAME),
            checked_text(fields["toolchain"], f"{where}.toolchain", _NAME),
            options,
            **switches,
            replay=_replay(fields["replay"], f"{where}.replay") if "replay" in fields else None,
        )


def _whole(value: Any) -> Any:
    """Return a number without its point if it is a whole one: 1.0 is in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _replay(value: Any, where: str) -> ReplayRequest:
    fields = checked_object(value, where, {"kernel", "runs"})
    runs = _whole(fields["runs"])
    if isinstance(runs, bool) or not isinstance(runs, int) or not 0 <= runs <= _RUNS:
        raise RefusedError(400, f"{where}.runs must be a whole number up to {_RUNS}")
    return ReplayRequest(checked_text(fields["kernel"], f"{where}.kernel", _KERNEL), runs)


def checked_object(value: Any, where: str, needed: Set[str], possible: Set[str] = frozenset()) -> dict[str, Any]:
    """Return a JSON object with all keys that are ``needed``, and of others only those that are ``possible``. Raises
    RefusedError 400."""
    if not isinstance(value, dict):
        raise RefusedError(400, f"{where} must be a JSON object")
    for key in sorted(needed - value.keys()):
        raise RefusedError(400, f"{where} lacks {key!r}")
    for key in sorted(value.keys() - needed - possible):
        raise RefusedError(400, f"{where} has an unknown key {key!r}")
    return value


def _checked_path(value: Any, where: str) -> str:
    """Return the path of a source. Raises RefusedError 400 for one of which no file is made."""
    path = checked_text(value, where, _PATH)
    if why := why_unfit(path):
        raise RefusedError(400, f"{where} {why}")
    return path


def checked_text(value: Any, where: str, most: int | None, least: int = 1) -> str:
    """Return a text of ``least`` to ``most`` printable characters; None: any text. Raises RefusedError 400."""
    if not isinstance(value, str) or len(value) < least or (most is not None and len(value) > most):
        raise RefusedError(
            400, f"{where} is no text of {least} to {most} characters" if most else f"{where} is no text"
        )
    if most is not None and not value.isprintable():
        raise RefusedError(400, f"{where} contains a control character")
    return value
