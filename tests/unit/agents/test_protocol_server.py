"""The server's side of the protocol, through the SDK's client in this process: no verb runs here."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import click
import pytest
from mcp.client.client import Client

from kernlens.agents.allowed_paths import AllowedPaths
from kernlens.agents.protocol_server import Calls, server_of
from kernlens.agents.tool_list import LIMIT, PAGING, TOOLS
from kernlens.cli.verb_group import VERBS, kernlens
from tests.tree import ROOT
from tests.unit.conftest import Kernlens


def with_client(steps: Callable[[Client], Awaitable[Any]], folder: Path) -> None:
    failures: list[Exception] = []

    async def run() -> None:
        async with Client(server_of(Calls(AllowedPaths([str(folder)]), "", 1.0))) as client:
            try:
                await steps(client)
            except Exception as failure:  # A task group would put it into a group of errors.
                failures.append(failure)

    anyio.run(run)
    for failure in failures:
        raise failure


def test_tools_are_verbs_and_their_arguments_are_options() -> None:
    for tool in TOOLS:
        assert tool.name in VERBS
        command = kernlens.get_command(click.Context(kernlens), tool.name)
        assert command is not None
        options = {name for each in command.params for name in each.opts}
        named = {argument.option for argument in tool.arguments if argument.option.startswith("--")}
        # A source is compiled first, by another verb.
        assert named - options <= ({"--toolchain"} if tool.compiles else set()), tool.name


def test_the_list_of_tools_is_short(tmp_path: Path) -> None:
    async def steps(client: Client) -> None:
        listed = (await client.list_tools()).model_dump(by_alias=True, exclude_none=True, mode="json")
        assert len(json.dumps(listed["tools"])) <= 8192

    with_client(steps, tmp_path)


def test_the_page_says_how_long_answers_are() -> None:
    page = (ROOT / "docs/commands/mcp.md").read_text("utf-8")
    (limit,) = (each.schema for each in PAGING if each.name == "limit")
    assert limit is not None
    assert f"(default: {LIMIT:,}; at most {limit['maximum']:,})" in " ".join(page.split())


def test_what_does_not_fit_is_an_error_of_the_tool(tmp_path: Path) -> None:
    async def steps(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
        for name, arguments, words in (
            ("anotate", {}, "there is annotate"),
            ("annotate", {}, "'path' is a required property"),
            ("annotate", {"path": 3}, "argument path"),
            ("annotate", {"path": "nothing", "line": 3}, "there is no file nothing"),
            ("diff", {"device": "dg2"}, "'path' is missing"),
            ("annotate", {"path": "/etc/passwd"}, "outside of what this server may read"),
            ("symbols", {"paths": ["nothing"]}, "there is no file nothing"),
        ):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert words in result.content[0].text

    with_client(steps, tmp_path)


def test_without_the_extra_it_says_what_to_install(kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = kernlens("mcp", "src")
    assert (done.status, done.out) == (2, "")
    assert done.err == "kernlens: kernlens mcp needs mcp and jsonschema: pip install 'mcp>=2' jsonschema\n"
