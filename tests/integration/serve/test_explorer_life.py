"""``kernlens serve`` from its start to its end: ports, files that vanish or are damaged, several at once, an idle one."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from kernlens.explorer.app import Explorer
from kernlens.explorer.served import Chunks, SourceBuild, open_served
from kernlens.toolchain.confinement import Limits
from tests.corpus.build import Built
from tests.integration.serve.explorer_fixtures import MAIN, SOURCE, WRONG, in_a_loop, serving


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two builds, of which one failed."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "good.cl").write_text(SOURCE)
    (folder / "wrong.cl").write_text(WRONG)
    command = [*MAIN, "compile", "good.cl", "wrong.cl", "--device", "dg2", "-o", "both.klens"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    return folder / "both.klens"


def refused(*words: str | Path) -> tuple[int, str]:
    """The status and the words of a server that does not start."""
    done = subprocess.run(
        [*MAIN, "serve", *map(str, words), "--no-browser"], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_recording_with_a_build_that_failed(recording: Path) -> None:
    with serving(recording) as server:
        good, wrong = server.index()["programs"]
        assert (good["ok"], good["kernels"]["name"]) == (True, ["twice"])
        assert (wrong["ok"], wrong["name"]) == (False, "wrong")
        assert "missing" in server.chunk(wrong["log"])["text"]
        # It can be mended: its messages are listed, and its other files go with it.
        (error,) = wrong["diagnostics"]
        assert (error["line"], error["severity"], error["fix"]) == (3, "error", None)
        assert good.get("diagnostics") is None
        mended = server.request(SOURCE, path=wrong["files"][0]["path"])
        mended["source"]["program"] = wrong["id"]
        (result,) = [event for event in server.events(mended) if event["event"] == "result"]
        assert result["ok"]
        mended["source"]["path"] = "other.cl"
        mended["serial"] += 1
        assert server.client.post("/api/compile", json=mended).status_code == 404
        # The recording need not be there for what its sources become.
        path = good["files"][0]["path"]
        recording.rename(recording.with_suffix(".away"))
        try:
            assert server.compiled(SOURCE.replace("2.0f", "4.0f"), path=path)["ok"]
            assert server.chunk(good["kernels"]["chunk"][0])["code"]["size"]
        finally:
            recording.with_suffix(".away").rename(recording)


def test_a_recording_that_is_replaced_is_served_as_it_was(tmp_path: Path) -> None:
    """Written over, cut off, exchanged and removed, in turn, while it is asked for: never a fault, nor another figure."""
    (tmp_path / "good.cl").write_text("".join(SOURCE.replace("twice", f"twice{number}") for number in range(12)))
    (tmp_path / "other.cl").write_text(SOURCE.replace("2.0f", "sqrt(data[1])"))
    for name in ("good", "other"):
        command = [*MAIN, "stages", f"{name}.cl", "--device", "dg2", "-o", f"{name}.klens"]
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=120)
    path = tmp_path / "good.klens"
    whole, other = path.read_bytes(), (tmp_path / "other.klens").read_bytes()
    with serving(path) as server:
        chunks = list(server.index()["chunks"])
        expected = {chunk: server.chunk(chunk) for chunk in chunks}
    random.seed(24)

    def change() -> None:
        choice = random.randrange(5)
        if choice == 0:
            os.truncate(path, random.randrange(len(whole)))
        elif choice == 1:
            path.write_bytes(other)  # as cp does: the same file
        elif choice == 2:
            (tmp_path / "new.klens").write_bytes(other)
            (tmp_path / "new.klens").rename(path)
        elif choice == 3:
            path.write_bytes(random.randbytes(len(whole)))
        else:
            path.unlink()
            path.write_bytes(whole[: random.randrange(len(whole))])

    for _ in range(3):
        path.write_bytes(whole)
        random.shuffle(chunks)
        with serving(path) as server:
            assert server.get("/api/changes").json() == {"changed": []}
            for chunk in chunks:
                change()
                assert server.chunk(chunk) == expected[chunk]
            assert server.get("/api/changes").json() == {"changed": [str(path)]}
            assert server.end()[1] == ""


def test_the_same_answers_as_json(recording: Path, corpus_sample: list[Built], tmp_path: Path) -> None:
    dg2_build = next(built for built in corpus_sample if built.device == "dg2")
    binary = tmp_path / "one.bin"
    binary.write_bytes(dg2_build.binary.read_bytes())
    told = subprocess.run([*MAIN, "link", str(binary), "--json"], capture_output=True, text=True, timeout=120)
    with serving(binary) as server:
        assert server.get("/api/link").json() == json.loads(told.stdout)
        (program,) = server.index()["programs"]
        server.chunk(program["kernels"]["chunk"][0])


def test_the_table_of_a_sweep(recording: Path, tmp_path: Path) -> None:
    row = dict.fromkeys(("source", "device", "toolchain", "compiler", "options", "kernel", "figures", "reason"))
    document = {"schema": 1, "rows": [{**row, "device": "dg2", "figures": {"spill_stores": 1}}]}
    table = tmp_path / "table.json"
    table.write_text(json.dumps(document))
    with serving(recording, table) as server:
        assert server.get("/api/sweep").json() == document
        assert len(server.index()["programs"]) == 2
    for other in ('{"schema": 1, "rows": [{}]}', '{"schema": 1', "{}"):
        table.write_text(other)
        status, errors = refused(table)  # It is taken for a source.
        assert (status, "--device" in errors) == (2, True)
    with serving(recording) as server:
        assert server.get("/api/sweep").json() is None


@pytest.mark.parametrize("how", ["removed", "cut", "overwritten"])
def test_a_file_that_vanishes_stays_served(corpus_sample: list[Built], tmp_path: Path, how: str) -> None:
    """A mapped file that is cut would kill the server at its next look."""
    content = next(built for built in corpus_sample if built.device == "dg2").binary.read_bytes()
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "one.bin").write_bytes(content)
    with serving(whole) as server:
        (program,) = server.index()["programs"]
        if how == "removed":
            (whole / "one.bin").unlink()
        elif how == "cut":
            os.truncate(whole / "one.bin", 0)
        else:
            (whole / "one.bin").write_bytes(b"\xff" * len(content))
        for chunk in program["kernels"]["chunk"]:
            assert server.chunk(chunk)["code"]["text"]


def test_a_damaged_recording_is_an_answer(recording: Path, tmp_path: Path) -> None:
    """Damage at 40 places: the server says at its start what is wrong, or it answers, and lives."""
    content = recording.read_bytes()
    damaged = tmp_path / "damaged.klens"
    for step in range(1, 4):
        changed = bytearray(content)
        for place in range(step * 1021, len(content), len(content) // 40):
            changed[place] ^= 0x55
        damaged.write_bytes(changed)
        status, errors = refused(damaged)
        assert status == 2, errors
        assert errors.startswith("kernlens: ")
        assert "Traceback" not in errors


def test_what_it_refuses_to_start_with(recording: Path, tmp_path: Path) -> None:
    source = tmp_path / "a.cl"
    source.write_text(SOURCE)
    for words, sentence in (
        ((tmp_path / "nothing.klens",), "nothing.klens"),
        ((source,), "--device"),
        ((source, "--device", "nothing"), "no device"),
        ((recording, "--include", tmp_path / "nothing"), "no folder"),
        ((recording, "--toolchain", "nothing"), "no toolchain"),
    ):
        status, errors = refused(*words)
        assert (status, sentence in errors) == (2, True), errors


def test_a_port_that_is_taken(recording: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, errors = refused(recording, "--port", str(taken.getsockname()[1]))
    assert status == 2
    assert "omit --port" in errors


def test_two_servers_at_once_do_not_share_a_token(recording: Path) -> None:
    with serving(recording) as first, serving(recording) as second:
        assert first.port != second.port
        assert first.token != second.token
        for server, token in ((first, second.token), (second, first.token)):
            assert server.get("/api/index", headers={"Authorization": f"Bearer {token}"}).status_code == 401
            assert server.get("/api/index").status_code == 200
        assert first.end(signal.SIGINT) == (0, "kernlens: the server has stopped\n")
        assert second.get("/api/index").status_code == 200
    # The port is free again at once.
    with serving(recording, "--port", str(first.port)) as again:
        assert again.port == first.port


def test_an_idle_server_ends_by_itself(recording: Path) -> None:
    with serving(recording, "--idle-timeout", "1.5") as server:
        for _ in range(4):
            time.sleep(0.5)
            assert server.get("/").status_code == 200
        assert server.process.wait(60) == 0


def test_the_address_as_json(recording: Path) -> None:
    command = [*MAIN, "serve", str(recording), "--no-browser", "--idle-timeout", "0.5", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    document = json.loads(done.stdout)
    assert (document["schema"], document["title"]) == (1, recording.name)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#t=\S+", document["address"])


def test_temporary_folders_go(recording: Path, tmp_path: Path) -> None:
    with serving(recording, environment={"TMPDIR": str(tmp_path)}) as server:
        assert server.compiled(SOURCE)["ok"]
        server.end(signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []


def test_a_chunk_that_takes_long_keeps_nobody_waiting(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is answered while a chunk is being made, however long that takes."""
    begun, released = threading.Event(), threading.Event()
    make = Chunks.content_of

    def held(chunks: Chunks, chunk: str) -> bytes | None:
        begun.set()
        assert released.wait(60)
        return make(chunks, chunk)

    monkeypatch.setattr(Chunks, "content_of", held)
    limits = Limits()
    served = open_served(
        [str(recording)], source_build=SourceBuild("dg2", "system", ""), include=(), limits=limits, source_roots=()
    )
    explorer = Explorer(served, jobs=1, limits=limits, toolchains=(), on_fault=lambda error: None)

    async def ask() -> tuple[list[int], bool, int]:
        transport = httpx.ASGITransport(app=explorer.app())
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            chunk = served.document.index["programs"][0]["kernels"]["chunk"][0]
            asked = asyncio.create_task(client.get(f"/api/chunk/{chunk}"))
            await asyncio.to_thread(begun.wait, 60)
            pages = [(await client.get("/")).status_code for _ in range(3)]
            early = asked.done()
            released.set()
            return pages, early, (await asked).status_code

    try:
        assert in_a_loop(asyncio.wait_for(ask(), 60)) == ([200, 200, 200], False, 200)
    finally:
        released.set()
        explorer.close()


def test_nothing_of_the_server_is_loaded_for_other_verbs(recording: Path) -> None:
    script = "import sys; from kernlens.cli.verb_group import kernlens; import kernlens.cli.serve; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"starlette", "uvicorn", "asyncio", "kernlens.explorer"} & set(loaded)


def test_a_machine_without_the_extra(recording: Path, tmp_path: Path) -> None:
    script = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'starlette' else find(name, *more)\n"
        f"sys.argv = ['kernlens', 'serve', {str(recording)!r}]\n"
        "from kernlens.cli.main import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        2,
        "kernlens: kernlens serve needs starlette: pip install starlette\n",
    )


def test_opening_tells_what_is_done(recording: Path) -> None:
    """A source takes seconds: who waits sees which."""
    source = recording.parent / "good.cl"

    def told(*paths: Path) -> list[tuple[int, int, str]]:
        steps: list[tuple[int, int, str]] = []
        open_served(
            [*map(str, paths)],
            source_build=SourceBuild("dg2", "system", ""),
            include=(),
            limits=Limits(),
            source_roots=(),
            on_progress=lambda done, total, name: steps.append((done, total, name)),
        )
        return steps

    assert told(recording, source) == [(0, 2, "both.klens"), (1, 2, "good.cl")]
    assert told(recording) == []
