"""serve: an edited source, run on a launch that the served recording keeps, as the page asks for it; on PoCL."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import jsonschema_rs
import pytest

from tests.integration.serve.explorer_fixtures import Server, serving, until
from tests.writers.kept_launches import READ_WRITE, Keeper, record_launches

pytestmark = pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="no PoCL")

DOCUMENT = json.loads((files("kernlens") / "explorer" / "openapi.json").read_text())
ADD = "kernel void add(global int *out, int n) {\n  out[get_global_id(0)] += n;\n}\n"
ENDLESS = ADD.replace("+= n", "+= n; while (out[0] != -1) out[1]++")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    keeper = Keeper(ADD)
    launch = keeper.launch("add", [[struct.pack("<64i", *range(64)), READ_WRITE], struct.pack("<i", 5)], [64])
    path = record_launches(tmp_path_factory.mktemp("kept") / "add.klens", keeper.build, launch)
    with serving(path) as started:
        yield started


def asked(server: Server, text: str, runs: int = 0, kernel: str = "add") -> dict[str, object]:
    request = server.request(text, path="program.cl", replay={"kernel": kernel, "runs": runs})
    (program,) = [each["id"] for each in server.index()["programs"]]
    return {**request, "source": {**request["source"], "program": program}}


def replayed(server: Server, text: str, runs: int = 0) -> dict[str, object]:
    validator = jsonschema_rs.Draft202012Validator(
        {**DOCUMENT["components"]["schemas"]["Event"], "components": DOCUMENT["components"]}
    )
    events = server.events(asked(server, text, runs))
    for event in events:
        validator.validate(event)
    assert "/tmp/" not in json.dumps(events)
    (result,) = [event for event in events if event["event"] == "result"]
    return result


def test_the_page_knows_what_can_be_replayed(server: Server) -> None:
    (program,) = server.index()["programs"]
    replay = server.get("/api/choices").json()["replay"]
    assert replay["kernels"] == {program["id"]: ["add"]}
    assert replay["device"]


def test_a_right_source_is_equal_and_timed(server: Server) -> None:
    result = replayed(server, ADD.replace("+= n", "+= n * 1"), runs=8)
    assert (result["ok"], result["index"]) == (True, None), result["reason"]
    launch = result["replayed"]
    assert isinstance(launch, dict)
    assert (launch["equal"], launch["ratio"]["pairs"], launch["builds"][1]["title"]) == (True, 8, "edited")


def test_a_wrong_one_differs(server: Server) -> None:
    launch = replayed(server, ADD.replace("+= n", "+= n + (get_global_id(0) == 7)"))["replayed"]
    assert isinstance(launch, dict)
    (compared,) = launch["builds"][1]["results"]
    assert not launch["equal"]
    assert (compared["difference"]["count"], compared["difference"]["first"]) == (1, 7)
    assert launch["builds"][0]["results"][0]["difference"] is None


def test_what_does_not_build_says_why(server: Server) -> None:
    result = replayed(server, ADD.replace("n;", "missing;"))
    assert (result["ok"], result["replayed"]) == (False, None)
    assert "missing" in str(result["reason"])


def test_a_kernel_without_launches_is_refused(server: Server) -> None:
    answer = server.client.post("/api/compile", json=asked(server, ADD, kernel="sub"))
    assert (answer.status_code, answer.json()["error"]) == (404, "no launch of sub was kept")
    for runs in (-1, True, 1001, "8"):
        answer = server.client.post("/api/compile", json={**asked(server, ADD, runs)})  # type: ignore[arg-type]
        assert "replay.runs must be a whole number up to 1000" in answer.text


def test_a_launch_that_does_not_end_can_be_stopped(server: Server) -> None:
    before = server.children()
    request = asked(server, ENDLESS)

    def ask() -> None:
        with server.client.stream("POST", "/api/compile", json=request) as answer:
            for line in answer.iter_lines():
                if json.loads(line)["event"] == "stage":
                    until(lambda: server.children() - before, "a child runs")
                    time.sleep(1)
                    return

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    until(lambda: not server.children() - before, "the launch has ended")
    assert replayed(server, ADD)["ok"]
