"""Compiles in place: edit, error, mend; the queue, what supersedes and cancels, and what no compiler may do to the server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.serve.explorer_fixtures import SOURCE, Server, descendants, in_a_loop, serving, until

#: Sources that keep a compiler busy for minutes, or want more than there is.
BOMBS = {
    "macros": "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(A(A(A(A(x))))))))\n"
    "kernel void k(global int *p) { B(B(*p += 1;)) }\n",
    "unrolled": "kernel void k(global float *p) {\n" + "".join(
        f"{'  ' * depth}#pragma unroll 64\nfor (int i{depth} = 0; i{depth} < 64; i{depth}++)\n" for depth in range(6)
    ) + "p[get_global_id(0)] = sin(p[i0] + i5);\n}\n",
    "array": "constant int a[1 << 30] = {1};\nkernel void k(global int *p) { *p = a[*p]; }\n",
    "itself": '#include "a.cl"\nkernel void k(global int *p) { *p = 1; }\n',
    "deep": "kernel void k(global int *p) { *p = " + "(" * 200_000 + "1" + ")" * 200_000 + "; }\n",
}  # fmt: skip
#: What the stand-in for the compiler never ends with.
ENDLESS = "ENDLESS"
#: Compiles as ocloc does, but for the source that never ends: it sleeps, in a process of its own.
SLOW_OCLOC = """#!/bin/sh
for word; do [ "$before" = -file ] && file=$word; before=$word; done
if [ -n "$file" ] && grep -q ENDLESS "$file"; then sleep 1000 & wait; fi
exec %s "$@"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    (folder / "a.cl").write_text('#include "half.h"\n' + SOURCE)
    (folder / "half.h").write_text("#define HALF 0.5f\n")
    (folder / "included").mkdir()
    (folder / "included" / "third.h").write_text("#define THIRD 0.33f\n")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "secret.txt").write_text("not for the page\n")
    return folder


@pytest.fixture(scope="module")
def slow_ocloc(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables with which the system's toolchain has a compiler that does not end, where a test wants that."""
    real = shutil.which("ocloc")
    assert real
    folder = tmp_path_factory.mktemp("ocloc")
    (folder / "ocloc").write_text(SLOW_OCLOC % real)
    (folder / "ocloc").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def server(folder: Path, slow_ocloc: dict[str, str]) -> Iterator[Server]:
    words = (folder / "a.cl", "--device", "dg2", "--include", folder / "included", "--timeout", "8", "--jobs", "1")
    with serving(*words, environment=slow_ocloc, folder=folder / "elsewhere") as started:
        yield started
        status, errors = started.end(signal.SIGINT)
        assert (status, errors) == (0, "kernlens: the server has stopped\n")


@pytest.fixture(scope="module")
def patient(folder: Path, slow_ocloc: dict[str, str]) -> Iterator[Server]:
    """A server that would wait for a compiler longer than a test: what ends a compile here is what is tested."""
    words = (folder / "a.cl", "--device", "dg2", "--timeout", "600", "--jobs", "1")
    with serving(*words, environment=slow_ocloc) as started:
        yield started


def test_edit_error_and_mend(server: Server) -> None:
    entry = server.index()["programs"][0]
    path = entry["files"][0]["path"]
    text = server.chunk(entry["files"][0]["chunk"])["text"]
    edited = server.compiled(text.replace("2.0f", "HALF"), path=path)
    assert edited["ok"]
    assert edited["diagnostics"] == []
    (program,) = edited["index"]["programs"]
    assert program["kernels"]["name"] == ["twice"]
    kernel = server.chunk(program["kernels"]["chunk"][0])
    assert "mul" in kernel["code"]["text"]
    assert "llvm-codegen" in {stage["stage"] for stage in kernel["stages"]}
    assert [server.chunk(file["chunk"])["text"] for file in program["files"]] == [text.replace("2.0f", "HALF")]

    wrong = server.compiled(text.replace("2.0f", "missing"), path=path)
    assert (wrong["ok"], wrong["index"]) == (False, None)
    (error,) = [each for each in wrong["diagnostics"] if each["severity"] == "error"]
    assert (os.path.basename(error["path"]), error["line"], error["column"]) == ("a.cl", 4, 29)
    assert "missing" in error["message"]
    assert re.findall(r".{40}kernlens-.{20}", json.dumps(wrong)) == []

    assert server.compiled(text, path=path)["ok"]


def test_all_that_is_answered_is_free_of_temporary_folders(server: Server) -> None:
    result = server.compiled(SOURCE, path="/home/someone/b.cl", all_passes=True)
    assert result["ok"]
    (program,) = result["index"]["programs"]
    documents = [result, *(server.chunk(chunk) for chunk in result["index"]["chunks"])]
    told = json.dumps(documents)
    assert "/home/someone/b.cl" in told
    assert re.findall(r".{40}kernlens-.{20}", told) == []
    assert all(server.chunk(chunk)["passes"] for chunk in program["passes"])


def test_a_header_of_the_program_may_be_edited(server: Server, folder: Path) -> None:
    entry = server.index()["programs"][0]
    edited = server.request("#define HALF (\n", path=str(folder / "half.h"))
    edited["source"]["program"] = entry["id"]
    (result,) = [event for event in server.events(edited) if event["event"] == "result"]
    assert result["ok"], result["log"]  # nothing uses it
    edited["source"]["path"] = "other.h"
    edited["serial"] += 1
    assert server.client.post("/api/compile", json=edited).status_code == 404
    # Several files at once.
    both = server.request(f'#include "half.h"\n{SOURCE.replace("2.0f", "QUARTER")}', path=str(folder / "a.cl"))
    both["source"] |= {
        "program": entry["id"],
        "others": [{"path": str(folder / "half.h"), "text": "#define QUARTER 0.25f\n"}],
    }
    (result,) = [event for event in server.events(both) if event["event"] == "result"]
    assert result["ok"], result["log"]
    both["source"]["others"] = [{"path": "other.h", "text": ""}]
    both["serial"] += 1
    assert server.client.post("/api/compile", json=both).status_code == 404
    both["source"]["others"] = [{"path": "other.h"}]
    both["serial"] += 1
    assert server.client.post("/api/compile", json=both).status_code == 400


def test_the_same_again_is_not_compiled_again(server: Server) -> None:
    first = server.compiled(SOURCE + "// the same")
    again = server.compiled(SOURCE + "// the same")
    assert again["seconds"] == first["seconds"]
    assert again["index"] == first["index"]
    assert server.compiled(SOURCE + "// the same", options="-cl-fast-relaxed-math")["seconds"] != first["seconds"]


def test_two_programs_differ_as_kernlens_diff_says(server: Server) -> None:
    ids = [server.compiled(text)["index"]["programs"][0]["id"] for text in (SOURCE, SOURCE.replace("2.0f", "3.0f * 4"))]
    same = server.get("/api/diff", params={"left": ids[0], "right": ids[0]}).json()
    assert (same["equal"], same["compared"], same["kernels"]) == (True, 1, [])
    document = server.get("/api/diff", params={"left": ids[0], "right": ids[1]}).json()
    assert not document["equal"]
    (kernel,) = document["kernels"]
    assert kernel["name"] == "twice"
    assert server.get("/api/diff", params={"left": ids[0], "right": "0" * 16}).status_code == 404
    assert server.get("/api/diff", params={"left": ids[0]}).status_code == 400


def test_several_configurations_of_one_request(server: Server) -> None:
    request = server.request(SOURCE)
    configuration = request["configurations"][0]
    request["configurations"] = [
        configuration,
        {**configuration, "device": "skl"},
        {**configuration, "device": "nothing"},
        {**configuration, "options": "-DX=1"},
    ]
    events = server.events(request)
    assert [event["event"] for event in events[:4]].count("queued") >= 3
    assert events[-1] == {"event": "end"}
    results = {event["configuration"]: event for event in events if event["event"] == "result"}
    assert [results[number]["ok"] for number in range(4)] == [True, True, False, True]
    assert "nothing" in results[2]["reason"]
    assert [results[number]["index"]["programs"][0]["device"] for number in (0, 1, 3)] == ["dg2", "skl", "dg2"]


@pytest.mark.parametrize(
    "options", ["-I /etc", "-I/etc", "-include /etc/passwd", "@/etc/passwd", "-s /etc/passwd", "-out_dir /tmp", "-x spir",
                "-file /etc/passwd", "-o /tmp/x", "-igc_opts 'DumpToCustomDir=/tmp/x'", "--format zebin", "-Xfinalizer -x",
                "-fprofile-instr-generate=/tmp/x", "-MF /tmp/x", "$(id)", "; id"],
)  # fmt: skip
def test_options_that_name_files_are_refused(server: Server, options: str) -> None:
    answer = server.client.post("/api/compile", json=server.request(SOURCE, options=options))
    assert answer.status_code == 403
    assert "may name a file" in answer.json()["error"]


def test_options_reach_no_shell(server: Server, folder: Path) -> None:
    trap = folder / "made"
    result = server.compiled(SOURCE, options=f"-DX=$(touch$IFS{trap}) -DY=`touch$IFS{trap}` -DZ=';touch$IFS{trap};'")
    assert result["ok"], result["log"]
    assert not trap.exists()


@pytest.mark.parametrize(
    "include", ['"/etc/passwd"', '"secret.txt"', "</etc/passwd>", '"../../../../etc/passwd"', '"/proc/self/environ"']
)
def test_files_of_the_machine_are_not_included(server: Server, include: str) -> None:
    """What could be included is refused before the compiler sees it; the rest it does not find."""
    for line in (f"#include {include}", f"#define F {include}\n#include F", f"  #  /* */ include_next {include}"):
        result = server.compiled(f"{line}\n{SOURCE}", path="/elsewhere/b.cl")
        assert not result["ok"]
        told = json.dumps(result)
        assert "root:" not in told
        assert "not for the page" not in told
        assert "PATH=" not in told


def test_files_of_named_folders_are_included(server: Server, folder: Path) -> None:
    result = server.compiled('#include "third.h"\n' + SOURCE.replace("2.0f", "THIRD"), path="/elsewhere/b.cl")
    assert result["ok"], result
    # They are no options of whoever asked, and stand in no version.
    for index in (server.index(), result["index"]):
        assert [program["options"] for program in index["programs"]] == ["-gline-tables-only"]
    # They may change: what includes any is compiled each time.
    third = folder / "included" / "third.h"
    before = third.read_text()
    third.write_text("#define THIRD missing\n")
    assert not server.compiled('#include "third.h"\n' + SOURCE.replace("2.0f", "THIRD"), path="/elsewhere/b.cl")["ok"]
    third.write_text(before)
    link = folder / "included" / "link.h"
    link.symlink_to("/etc/passwd")
    result = server.compiled('#include "link.h"\n' + SOURCE, path="/elsewhere/b.cl")
    link.unlink()
    assert not result["ok"]
    assert "--include" in result["reason"]
    assert "root:" not in json.dumps(result)


@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "C:\\x.cl", "a/../../b.cl", "x" * 300, "."])
def test_a_name_is_no_path(server: Server, path: str) -> None:
    before = Path("/etc/passwd").read_bytes()
    result = server.compiled(SOURCE, path=path)
    assert "event" in result
    assert Path("/etc/passwd").read_bytes() == before


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_compile_bomb_is_stopped(server: Server, bomb: str) -> None:
    before = server.memory()
    result = server.compiled(BOMBS[bomb])
    if not result["ok"]:
        assert result["reason"]
    assert len(result["log"]) <= (1 << 20) + 200
    assert server.memory() - before < 256 << 20
    until(lambda: not server.children(), "the compiler ended")
    assert server.get("/api/index").status_code == 200


def test_a_long_log_is_cut(server: Server) -> None:
    warnings = "".join(f'#warning "{"x" * 1000} {number}"\n' for number in range(2000))
    result = server.compiled(warnings + SOURCE)
    assert len(result["log"]) <= (1 << 20) + 200
    assert "dropped" in result["log"]


def test_a_compiler_that_is_killed_is_an_answer(patient: Server) -> None:
    request = patient.request(ENDLESS)
    results: list[dict[str, object]] = []
    thread = threading.Thread(target=lambda: results.extend(patient.events(request)))
    thread.start()
    until(lambda: patient.children(), "the compiler began")
    for child in patient.children():
        with contextlib.suppress(ProcessLookupError):  # The first process of a namespace takes all others with it.
            os.kill(child, signal.SIGKILL)
    thread.join(60)
    (result,) = [event for event in results if event["event"] == "result"]
    assert "SIGKILL" in str(result["reason"])
    assert patient.compiled(SOURCE)["ok"]


def test_a_newer_request_supersedes(patient: Server) -> None:
    first = patient.request(ENDLESS, session="page")
    events: list[dict[str, object]] = []
    thread = threading.Thread(target=lambda: events.extend(patient.events(first)))
    thread.start()
    until(lambda: patient.children(), "the compiler began")
    second = patient.compiled(SOURCE + "// newer", session="page")
    assert second["ok"]
    thread.join(60)
    assert events[-1] == {"event": "superseded"}
    assert not [event for event in events if event["event"] == "result"]
    old = patient.client.post("/api/compile", json=first)
    assert old.status_code == 409


def test_a_client_that_goes_ends_its_compile(patient: Server) -> None:
    with patient.client.stream("POST", "/api/compile", json=patient.request(ENDLESS)) as answer:
        lines = answer.iter_lines()  # which closes the answer when it goes
        next(lines)
        until(lambda: patient.children(), "the compiler began")
    until(lambda: not patient.children(), "the compiler ended")


def test_a_hundred_compiles_wait_and_more_than_the_queue_holds_are_refused(patient: Server) -> None:
    """The first keeps the only worker busy until all others are there."""
    asked = 140

    async def ask() -> list[tuple[int, str]]:
        headers = {"Authorization": f"Bearer {patient.token}"}
        limits = httpx.Limits(max_connections=None)
        there = 0
        async with httpx.AsyncClient(
            base_url=patient.client.base_url, headers=headers, timeout=120, limits=limits
        ) as page:

            async def ask() -> tuple[int, str]:
                nonlocal there
                last = ""
                async with page.stream("POST", "/api/compile", json=patient.request(SOURCE)) as answer:
                    there += 1
                    if answer.status_code != 200:
                        return answer.status_code, answer.headers["retry-after"]
                    async for line in answer.aiter_lines():
                        event = json.loads(line)
                        last = f"{last} {event['event']}" if event["event"] in ("result", "end") else last
                    return answer.status_code, last

            async with page.stream("POST", "/api/compile", json=patient.request(ENDLESS)) as answer:
                lines = answer.aiter_lines()  # which closes the answer when it goes
                async for line in lines:
                    if json.loads(line)["event"] == "started":
                        break
                waiting = [asyncio.create_task(ask()) for _ in range(asked)]
                while there < asked:
                    await asyncio.sleep(0.05)
            return await asyncio.gather(*waiting)

    answers = in_a_loop(ask())
    assert [status for status, _ in answers].count(429) == asked - 128
    assert {last for status, last in answers if status == 200} == {" result end"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_no_compiler_outlives_the_server(folder: Path, slow_ocloc: dict[str, str], number: int) -> None:
    with serving(folder / "a.cl", "--device", "dg2", environment=slow_ocloc) as server:
        thread = threading.Thread(target=_ignoring, args=(server, server.request(ENDLESS)))
        thread.start()
        until(lambda: len(server.children()) > 1, "the compiler began, and what it starts")
        children = server.children()
        server.process.send_signal(number)
        server.process.wait(60)
        until(lambda: not any(Path(f"/proc/{child}/exe").exists() for child in children), "the compiler ended")
        thread.join(60)
        if number != signal.SIGKILL:
            assert server.process.returncode == (0 if number == signal.SIGINT else -number)


def _ignoring(server: Server, request: dict[str, object]) -> None:
    try:
        server.events(request)
    except httpx.HTTPError:
        return


def test_a_compiler_that_crashes_is_an_answer(folder: Path) -> None:
    """IGC trusts what its own developers set."""
    with serving(folder / "a.cl", "--device", "dg2", environment={"IGC_VISAOptions": "-noSuchOption"}) as server:
        assert not server.index()["programs"][0]["ok"]
        result = server.compiled(SOURCE)
        assert not result["ok"]
        assert "killed by SIG" in result["reason"] or "ended with status" in result["reason"]
        assert server.get("/api/index").status_code == 200


def test_descendants_are_found() -> None:
    assert os.getpid() in descendants(os.getppid())
