"""explorer/openapi.json says what the server does: against its routes, its answers, and requests that nobody thought of."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from starlette.routing import Route

from kernlens.explorer.app import Explorer
from kernlens.explorer.compile_queue import CAPACITY, CompileQueue, Tell
from kernlens.explorer.compile_request import CONFIGURATIONS
from kernlens.explorer.served import SourceBuild, open_served
from kernlens.toolchain.confinement import Limits
from tests.integration.serve.explorer_fixtures import SOURCE, WRONG, Server, in_a_loop, serving

DOCUMENT = json.loads((files("kernlens") / "explorer" / "openapi.json").read_text())
SCHEMAS = DOCUMENT["components"]["schemas"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("served") / "a.cl"
    source.write_text(SOURCE)
    return source


@pytest.fixture(scope="module")
def server(source: Path) -> Iterator[Server]:
    with serving(source, "--device", "dg2") as started:
        yield started


def test_it_has_the_routes_that_there_are(source: Path) -> None:
    limits = Limits()
    build = SourceBuild("dg2", "system", "")
    served = open_served([str(source)], source_build=build, include=(), limits=limits, source_roots=())
    explorer = Explorer(served, jobs=1, limits=limits, toolchains=(), on_fault=lambda error: None)
    routes = {
        (route.path, method.lower())
        for route in explorer.app().routes
        if isinstance(route, Route)
        for method in route.methods or ()
    }
    explorer.close()
    told = {(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods}
    # The script's name is its hash.
    assert {route for route in routes if not re.fullmatch(r"/viewer-[0-9a-f]{16}\.js", route[0])} == told


def test_its_limits_are_those_of_the_code() -> None:
    configurations = SCHEMAS["CompileRequest"]["properties"]["configurations"]
    assert configurations["maxItems"] == CONFIGURATIONS
    assert str(CAPACITY) in DOCUMENT["paths"]["/api/compile"]["post"]["responses"]["429"]["description"]


@pytest.mark.parametrize(("text", "ends"), [(SOURCE, True), (WRONG, False)])
def test_events_are_of_its_form(server: Server, text: str, ends: bool) -> None:
    validator = jsonschema_rs.Draft202012Validator({**SCHEMAS["Event"], "components": DOCUMENT["components"]})
    events = server.events(server.request(text))
    for event in events:
        validator.validate(event)
    assert [event["ok"] for event in events if event["event"] == "result"] == [ends]


class Faulty:
    """A compile in which kernlens itself fails."""

    def run(self, tell: Tell) -> None:
        raise ZeroDivisionError

    def stop(self) -> None:
        pass


def test_a_fault_is_a_result_of_its_form() -> None:
    faults: list[BaseException] = []

    async def events() -> list[Any]:
        queue = CompileQueue(1, faults.append)
        told = queue.submit("page", 1, [(0, Faulty())]).events
        events = []
        while (event := await told.get()) is not None:
            events.append(event)
        queue.close()
        return events

    *_, result, end = in_a_loop(events())
    validator = jsonschema_rs.Draft202012Validator({**SCHEMAS["Event"], "components": DOCUMENT["components"]})
    validator.validate(result)
    assert (result["ok"], "fault of kernlens" in result["reason"], end) == (False, True, {"event": "end"})
    assert [type(fault) for fault in faults] == [ZeroDivisionError]


BAD: list[tuple[str, Any]] = [
    ("serial", -1), ("serial", True), ("serial", 1.5), ("serial", 1 << 60), ("serial", None), ("session", ""), ("session", 1),
    ("session", "x" * 129), ("session", "a\nb"), ("source", []), ("source", {"path": "a.cl"}),
    ("source", {"path": "a.cl", "text": 1}), ("source", {"path": "", "text": ""}), ("source", {"path": "a\0", "text": ""}),
    ("source", {"path": "a.cl", "text": "", "other": 1}), ("configurations", []), ("configurations", {}),
    ("configurations", [1]), ("configurations", [{}]), ("other", 1),
    ("configurations", [{"device": "dg2", "toolchain": "system", "options": "\0"}]),
    ("configurations", [{"device": "dg2", "toolchain": "system", "options": "", "all_passes": 1}]),
    ("configurations", [{"device": "dg2", "toolchain": "system", "options": ""}] * 17),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), BAD)
def test_a_request_of_another_form_is_refused_by_name(server: Server, key: str, value: Any) -> None:
    answer = server.client.post("/api/compile", json={**server.request(SOURCE), key: value})
    assert answer.status_code == 400
    assert key.rstrip("s") in answer.json()["error"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"a"', b"[" * 100_000, b'{"session":"\\ud800"}', b"\xff", b"NaN"]
)
def test_a_body_that_is_none_is_refused(server: Server, body: bytes) -> None:
    answer = server.client.post("/api/compile", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert set(answer.json()) == {"error", "next"}


def test_schemathesis_finds_nothing(server: Server, tmp_path: Path) -> None:
    """A short run; ``python -m tests.integration.serve.explorer_fuzz`` does a long one."""
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(DOCUMENT))
    command = [
        sys.executable,
        "-m",
        "tests.integration.serve.explorer_fuzz",
        "--examples",
        "12",
        "--port",
        str(server.port),
    ]
    done = subprocess.run([*command, f"--token={server.token}"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert server.process.poll() is None
