"""serve: build options tried on a served source, over the queue of compiles, as the page asks for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files

import jsonschema_rs
import pytest

from tests.integration.serve.explorer_fixtures import SOURCE, WRONG, Server, serving

DOCUMENT = json.loads((files("kernlens") / "explorer" / "openapi.json").read_text())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tried")
    (folder / "a.cl").write_text(SOURCE)
    with serving("a.cl", "--device", "dg2", folder=folder) as started:
        yield started


def test_trials_are_a_result_of_their_own(server: Server) -> None:
    validator = jsonschema_rs.Draft202012Validator(
        {**DOCUMENT["components"]["schemas"]["Event"], "components": DOCUMENT["components"]}
    )
    events = server.events(server.request(SOURCE, trials=True))
    for event in events:
        validator.validate(event)
    assert [(event["done"], event["of"]) for event in events if event["event"] == "stage"] == [
        (count, 7) for count in range(1, 8)
    ]
    known = [len(event["tried"]["kernels"][0]["tried"]) for event in events if event["event"] == "tried"]
    assert known == list(range(6)), "each result is told as it comes, from the source as it is on"
    (result,) = [event for event in events if event["event"] == "result"]
    assert (result["ok"], result["index"], result["reason"]) == (True, None, None)
    tried = result["tried"]
    assert (tried["device"], tried["options"], tried["failures"]) == ("dg2", "", [])
    assert tried["source"].endswith("a.cl")
    (kernel,) = tried["kernels"]
    assert kernel["kernel"] == "twice"
    notes = {trial["change"]: trial["note"] for trial in kernel["tried"]}
    assert notes["256-registers"] == "half the threads"


def test_no_temporary_folder_is_told(server: Server) -> None:
    events = server.events(server.request(SOURCE, trials=True, device="pvc"))
    assert [failure["change"] for failure in events[-2]["tried"]["failures"]] == ["sub-group-8"]
    assert "kernlens-" not in json.dumps(events)


def test_a_source_that_does_not_compile_says_why(server: Server) -> None:
    result = server.compiled(WRONG, trials=True)
    assert (result["ok"], result["tried"]) == (False, None)
    assert "missing" in result["reason"]
    assert "kernlens-" not in json.dumps(result)


def test_only_true_and_false_ask(server: Server) -> None:
    answer = server.client.post("/api/compile", json=server.request(SOURCE, trials="yes"))
    assert answer.status_code == 400
    assert "configurations[0].trials must be true or false" in answer.text
