"""kernlens mcp through the SDK's own client: the tools' answers, and that nothing leads out of the given paths."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import jsonschema_rs
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from kernlens.agents.confined_verb import ConfinedVerb, linked_toolchains
from kernlens.agents.tool_list import PAGING, TOOLS
from kernlens.errors import KernlensError
from tests.documents import faults
from tests.integration.cli.test_cli import kernlens
from tests.integration.mcp.compiles import begun, children, command_line
from tests.processes import have_ended
from tests.tree import ROOT

SECRET = "a_secret_of_the_users"
#: Lines that unroll to a compile of many seconds.
SLOW = (
    "kernel void slow(global float *a) {\n  float x = a[0];\n" + "  x = sin(x) * tan(x);\n" * 4000 + "  a[0] = x;\n}\n"
)

LOOP = """kernel void total(global float *a, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i)
    sum += a[i];
  a[0] = sum;
}
"""

Steps = Callable[[Client], Awaitable[Any]]


def parameters(*paths: str | Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "kernlens", "mcp", *map(str, paths)], env=dict(os.environ)
    )


def with_client(steps: Steps, *paths: str | Path) -> None:
    """Run steps with a client of ``kernlens mcp PATHS``."""
    failures: list[Exception] = []

    async def run() -> None:
        async with Client(stdio_client(parameters(*paths))) as client:
            try:
                with anyio.fail_after(120):
                    await steps(client)
            except Exception as failure:  # A task group would put it into a group of errors.
                failures.append(failure)

    anyio.run(run)
    for failure in failures:
        raise failure


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    """Return a tool's result, whose text says the same; fails if it is an error."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert content.type == "text"
    assert not result.is_error, content.text
    assert json.loads(content.text) == result.structured_content
    return result.structured_content


async def error(client: Client, tool: str, **arguments: Any) -> str:
    """Return the sentence of a tool's error."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert content.type == "text"
    assert result.is_error, content.text
    assert result.structured_content is None
    assert SECRET not in content.text
    assert "Traceback" not in content.text
    sentence: str = content.text
    return sentence


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what is given (``given``), and secrets beside it to which much of it leads."""
    home = tmp_path_factory.mktemp("home")
    allowed, outside = home / "given", home / "outside"
    allowed.mkdir()
    outside.mkdir()
    text = (ROOT / "examples" / "scale.cl").read_text("utf-8")
    (allowed / "scale.cl").write_text(text)
    (allowed / "edited.cl").write_text(text.replace("0.0f;", "1.0f;"))
    (allowed / "slow.cl").write_text(SLOW)
    (allowed / "loop.cl").write_text(LOOP)
    for name, devices in (("scale", "dg2,skl"), ("loop", "dg2")):
        done = kernlens("compile", f"{name}.cl", "--device", devices, "-o", f"{name}.klens", cwd=allowed)
        assert done.returncode == 0, done.stderr
    (outside / "secret.h").write_text(f"// {SECRET}\n#define SECRET 3\n")
    (outside / "secret.cl").write_text(f"// {SECRET}\n{text}")
    done = kernlens("compile", outside / "secret.cl", "--device", "dg2", "-o", outside / "secret.klens")
    assert done.returncode == 0, done.stderr
    (allowed / "link.cl").symlink_to(outside / "secret.cl")
    (allowed / "folder").symlink_to(outside)
    done = kernlens("extract", outside / "secret.klens", "-o", outside / "parts")
    assert done.returncode == 0, done.stderr
    # Its line table names the secret source.
    (binary,) = (path for path in (outside / "parts").rglob("*.bin") if b"secret.cl" in path.read_bytes())
    (allowed / "named.bin").write_bytes(binary.read_bytes())
    return home


def test_the_tools_and_their_answers(home: Path) -> None:
    """Each answer is the document that the verb's --json prints, on a recording and on sources."""
    allowed = home / "given"
    page = (ROOT / "docs/commands/mcp.md").read_text("utf-8")

    async def steps(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(re.findall(r"^\|`(\w+)`\|", page, re.MULTILINE)) == set(tools)
        for tool in tools.values():
            jsonschema_rs.meta.validate(tool.input_schema)
            jsonschema_rs.meta.validate(TOOLS[list(tools).index(tool.name)].input_schema(PAGING))
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
        for name, arguments, words in (
            ("inspect", {"path": "scale.klens"}, ("inspect", "scale.klens")),
            ("annotate", {"path": str(allowed / "scale.klens"), "top": 3}, ("annotate", "scale.klens", "--top=3")),
            (
                "annotate",
                {"path": "scale.klens", "line": "5", "device": "skl"},
                ("annotate", "scale.klens", "--line=5", "--device=skl"),
            ),
            (
                "annotate",
                {"path": "scale.klens", "device": "dg2", "offsets": ["0x10", "32"]},
                ("annotate", "scale.klens", "--device=dg2", "--offset=0x10,32"),
            ),
            (
                "annotate",
                {"path": "loop.klens", "waits": True, "trips": ["loop.cl:4=10", "depth=3"]},
                ("annotate", "loop.klens", "--waits", "--trips=loop.cl:4=10", "--trips=depth=3"),
            ),
            ("stages", {"path": "scale.cl", "device": "dg2", "line": "5"}, None),
            ("stages", {"path": "scale.klens", "device": "dg2", "stage": "source"}, None),
            ("diff", {"paths": ["scale.cl", "edited.cl"], "devices": ["dg2"], "lines": True}, None),
            ("diff", {"paths": ["scale.klens"], "devices": ["dg2", "skl"]}, None),
            ("advise", {"paths": ["scale.cl"], "device": "dg2", "stages": True}, None),
            ("symbols", {"paths": ["scale.klens"]}, ("symbols", "scale.klens")),
            ("annotate", {"path": "scale.cl", "device": "dg2", "pressure": True, "options": "-DN=4 -I ."}, None),
        ):
            result = await answer(client, name, limit=200_000, full=True, **arguments)
            assert faults(name, result["answer"]) == []
            assert "left_out" not in result
            if words is not None:
                shown = json.dumps(result["answer"]).replace(f"{allowed}/", "")
                assert json.loads(shown) == json.loads(
                    kernlens(*words, "--json", cwd=allowed).stdout.replace(f"{allowed}/", "")
                )

        # A compile of a tool's own has the versions that the command states, though it cannot read dpkg's list.
        result = await answer(client, "annotate", path="scale.cl", device="dg2", top=1, full=True)
        printed = kernlens("inspect", "scale.klens", "--device=dg2", "--json", cwd=allowed).stdout
        (stated,) = json.loads(printed)["programs"]
        assert result["answer"]["programs"][0]["toolchain"] == stated["toolchain"]

    with_client(steps, allowed)


def test_no_path_leads_out(home: Path) -> None:
    """Links, ``..``, includes, folders to include from, options and debug lines: all of them stay inside."""
    allowed, outside = home / "given", home / "outside"
    for name, text in {
        "absolute.cl": f'#include "{outside}/secret.h"\nkernel void k(global int *a) {{ a[0] = SECRET; }}\n',
        "dots.cl": '#include "../outside/secret.h"\nkernel void k(global int *a) { a[0] = SECRET; }\n',
        "through.cl": '#include "folder/secret.h"\nkernel void k(global int *a) { a[0] = SECRET; }\n',
        "plain.cl": '#include "secret.h"\nkernel void k(global int *a) { a[0] = SECRET; }\n',
    }.items():
        (allowed / name).write_text(text)

    async def steps(client: Client) -> None:
        for path in (
            str(outside / "secret.klens"),
            "../outside/secret.klens",
            "link.cl",
            "folder/secret.cl",
            "folder",
            "/etc/passwd",
            "/proc/self/environ",
        ):
            assert "outside of what this server may read" in await error(client, "inspect", path=path), path
            assert "outside" in await error(client, "annotate", path=path, device="dg2"), path
            assert "outside" in await error(client, "diff", paths=["scale.klens", path]), path
        for name in ("absolute.cl", "dots.cl", "through.cl", "plain.cl"):
            assert "secret.h" in await error(client, "annotate", path=name, device="dg2", top=3), name
            result = await answer(client, "stages", path=name, device="dg2", stage="source")
            assert SECRET not in json.dumps(result), name
        for options in (f"-I {outside}", f"-I{outside}", "-I ..", "-I folder"):
            assert "outside" in await error(client, "annotate", path="plain.cl", device="dg2", options=options), options
            assert "outside" in await error(
                client, "diff", paths=["plain.cl"], devices=["dg2", "skl"], options=[options]
            )
        for options in (
            f"-include {outside}/secret.h",
            f"-isystem{outside}",
            "-x cl",
            "-s /etc/passwd",
            "@/etc/passwd",
        ):
            assert "may name a file" in await error(client, "stages", path="scale.cl", device="dg2", options=options), (
                options
            )
        result = await answer(client, "annotate", path="named.bin", device="dg2", limit=200_000, full=True)
        assert "secret.cl" in json.dumps(result)
        assert SECRET not in json.dumps(result)

    with_client(steps, allowed)
    assert {path.name for path in outside.iterdir()} == {"secret.h", "secret.cl", "secret.klens", "parts"}


def test_the_system_confines_without_the_check(home: Path) -> None:
    """What runs a verb sees nothing else, whatever paths it gets: the check in front of it is for the message."""
    allowed, outside = home / "given", home / "outside"
    (allowed / "absolute.cl").write_text(
        f'#include "{outside}/secret.h"\nkernel void k(global int *a) {{ a[0] = SECRET; }}\n'
    )
    inside = str(allowed / "scale.klens")
    with linked_toolchains() as toolchains:
        verb = ConfinedVerb([str(allowed)], toolchains, 60)
        with verb.folder():
            verb.answer(["inspect", "--", inside])
            for words in (
                ["inspect", str(outside / "secret.klens")],
                ["inspect", str(allowed / "folder" / "secret.klens")],
                ["compile", "--device=dg2", "--output=x.klens", str(allowed / "link.cl")],
                ["diff", inside, str(outside / "secret.klens")],
                ["annotate", f"--source={outside}/secret.cl", inside],
                ["extract", f"--output={allowed}/written", inside],
                ["extract", f"--output={outside}/written", inside],
                ["report", f"--output={allowed}/scale.cl", inside],
            ):
                with pytest.raises(KernlensError) as raised:
                    verb.answer(words)
                assert SECRET not in str(raised.value), words
            done = verb.run(["compile", "--device=dg2", "--output=y.klens", "--json", str(allowed / "absolute.cl")])
            assert done.returncode == 3, done.log
            assert SECRET not in done.log
    assert not (allowed / "written").exists()
    assert not (outside / "written").exists()
    assert "kernel void" in (allowed / "scale.cl").read_text("utf-8")


def test_hostile_arguments_are_errors_of_tools(home: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (home / "given").rglob("*")}

    async def steps(client: Client) -> None:
        for words, arguments in (
            ("correct it", {"path": [3]}),
            ("correct it", {"path": ""}),
            ("correct it", {"path": "x" * 5000}),
            ("correct it", {}),
            ("correct it", {"path": "scale.klens", "output": "/x"}),
            ("correct it", {"path": "scale.klens", "top": 10**30}),
            ("correct it", {"path": "scale.klens", "limit": 10**9}),
            ("correct it", {"path": "scale.klens", "offsets": ["@/etc/passwd"]}),
            ("correct it", {"path": "scale.klens", "offsets": ["-"]}),
            ("correct it", {"path": "scale.klens", "offsets": ["0x10,@/etc/passwd"]}),
            ("not of the form", {"path": "scale.klens", "trips": ["@/etc/passwd"]}),
            ("correct", {"path": "scale\0.klens"}),
            ("no kernel", {"path": "scale.klens", "kernel": "--output=x"}),
            ("no kernel", {"path": "scale.klens", "kernel": "\x1b[31m\n; rm -rf *"}),
            ("--unconfined", {"path": "scale.klens", "line": "--unconfined"}),
            ("left_out", {"path": "scale.klens", "at": "/programs/99"}),
            ("left_out", {"path": "scale.klens", "at": "programs"}),
            ("left_out", {"path": "scale.klens", "at": "/programs", "start": 99}),
            ("is for sources", {"path": "scale.klens", "options": "-DX"}),
            ("give the device", {"path": "scale.cl"}),
            ("control character", {"path": "scale.cl", "device": "dg2", "options": '-D"X=1\n"'}),
        ):
            assert words in await error(client, "annotate", **arguments), arguments
        assert "there is no tool" in await error(client, "anotate", path="scale.klens")
        assert "correct it" in await error(client, "stages", path="scale.klens", diff=["--output", "x"])
        await answer(client, "inspect", path="scale.klens")

    with_client(steps, home / "given")
    assert {path: path.stat().st_mtime_ns for path in (home / "given").rglob("*")} == before


def test_an_answer_is_bounded_and_goes_on(home: Path) -> None:
    """What left_out names, taken part by part, is the whole answer."""

    async def steps(client: Client) -> None:
        question: dict[str, Any] = {"path": "scale.klens", "device": "dg2", "kernel": "scale", "full": True}
        whole = await answer(client, "annotate", limit=200_000, **question)
        assert "left_out" not in whole
        place = "/programs/0/kernels/0/instructions"
        instructions = whole["answer"]["programs"][0]["kernels"][0]["instructions"]
        first = await answer(client, "annotate", limit=3000, **question)
        assert len(json.dumps(first)) < 4000
        (rest,) = (each for each in first["left_out"] if each["at"] == place)
        assert rest["of"] == len(instructions)
        got = first["answer"]["programs"][0]["kernels"][0]["instructions"]
        assert len(got) == rest["start"]
        while rest is not None:
            part = await answer(client, "annotate", limit=6000, at=place, start=rest["start"], **question)
            got += part["answer"]
            rest = part["left_out"][0] if "left_out" in part else None
        assert got == instructions

    with_client(steps, home / "given")


def test_a_call_that_is_cancelled_ends_its_compiler(home: Path) -> None:
    async def steps(client: Client) -> None:
        (server,) = (each for each in children(os.getpid()) if " mcp " in command_line(each))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "annotate", {"path": "slow.cl", "device": "dg2", "top": 1})
            started = await begun(server)
            tasks.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(have_ended, started)
        await answer(client, "inspect", path="scale.klens")

    with_client(steps, home / "given")


def messages(*calls: tuple[str, dict[str, Any]]) -> list[str]:
    """What a client writes: the handshake, and calls of tools, numbered from 1."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    bodies: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
    ]
    for number, (name, arguments) in enumerate(calls, 1):
        bodies.append({"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
    return [json.dumps({"jsonrpc": "2.0", **body}) + "\n" for body in bodies]


@pytest.mark.parametrize("how", ["leaves", "is killed"])
def test_a_client_that_vanishes_takes_the_server_with_it(how: str, home: Path) -> None:
    """Whether its end of the pipe is closed, or the server is killed: nothing that a call started is left."""
    words = [sys.executable, "-m", "kernlens", "mcp", str(home / "given")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        server.stdin.writelines(messages(("annotate", {"path": "slow.cl", "device": "dg2"})))
        server.stdin.flush()
        started = anyio.run(begun, server.pid)
        if how == "is killed":
            server.kill()
        else:
            server.stdin.close()
        assert have_ended([server.pid, *started] if how == "leaves" else started)
        assert server.wait(60) == (0 if how == "leaves" else -9)


def test_standard_output_has_the_protocol_alone(home: Path) -> None:
    """Also with --verbose and --debug, and for lines that are no messages."""
    words = [sys.executable, "-m", "kernlens", "mcp", "--verbose", "--debug", str(home / "given")]
    first, *others = messages(("inspect", {"path": "scale.klens"}), ("inspect", {"path": "/etc/passwd"}))
    answers: dict[int, dict[str, Any]] = {}
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.writelines([first, "no message\n", '{"jsonrpc": "2.0"}\n', *others])
        server.stdin.flush()
        while len(answers) < 3:
            message = json.loads(server.stdout.readline())
            assert message["jsonrpc"] == "2.0"
            if "result" in message:
                answers[message["id"]] = message["result"]
        rest, _ = server.communicate(timeout=60)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert answers[1]["isError"] is False
    assert answers[2]["isError"] is True
