"""The server: the Model Context Protocol over standard input and output, by its own SDK (the extra ``mcp``).

Calls run side by side, each in a thread that waits for its command. A call that is cancelled, and a client that vanishes, end
their commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import anyio.to_thread
import mcp.types as protocol
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from kernlens import __version__
from kernlens.agents.allowed_paths import AllowedPaths
from kernlens.agents.confined_verb import ConfinedVerb, check_confinement, linked_toolchains
from kernlens.agents.cut_answer import Cut, part_at
from kernlens.agents.tool_list import LIMIT, PAGING, TOOLS
from kernlens.agents.tools import SPELLINGS, Tool
from kernlens.errors import KernlensError, likeliest
from kernlens.processors import processors
from kernlens.report.json_text import encoded

_TOOLS = {tool.name: tool for tool in TOOLS}
#: Characters of messages in an answer.
_MESSAGES = 500


def serve(paths: Sequence[str], seconds: float) -> None:
    """Serve a client on standard input and output until it leaves; tools read ``paths`` alone, and a call takes ``seconds`` at
    most. Raises KernlensError if a path is not there, or this machine cannot confine."""
    allowed = AllowedPaths(paths)
    check_confinement()
    with linked_toolchains() as toolchains:
        anyio.run(_serve, Calls(allowed, toolchains, seconds))


async def _serve(calls: Calls) -> None:
    server = server_of(calls)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def server_of(calls: Calls) -> Server[Any]:
    """Return the protocol's server for these calls."""
    return Server(
        "kernlens",
        version=__version__,
        instructions="What a GPU compiler made of kernels: from the source line to the machine instruction. The tools read"
        f" {', '.join(calls.allowed.paths)} and nothing else. Paths may be relative to these folders."
        " Lists are ranked, the most first; what is missing is 0 or unknown. An answer has"
        f" {LIMIT:,} characters; 'limit' is another number, and 'at' and 'start' go on at what left_out lists. 'full' is the"
        " whole document of the command's --json.",
        on_list_tools=calls.list_tools,
        on_call_tool=calls.call,
    )


class Calls:
    """The calls of one client: tools that read ``allowed``, each for at most ``seconds``; ``toolchains`` is the folder of
    ``linked_toolchains``."""

    def __init__(self, allowed: AllowedPaths, toolchains: str, seconds: float) -> None:
        self.allowed = allowed
        self._toolchains = toolchains
        self._seconds = seconds
        self._threads = anyio.CapacityLimiter(processors())

    async def list_tools(
        self, context: Any, parameters: protocol.PaginatedRequestParams | None
    ) -> protocol.ListToolsResult:
        """Return all tools."""
        hints = protocol.ToolAnnotations(read_only_hint=True)
        return protocol.ListToolsResult(
            tools=[
                protocol.Tool(
                    name=tool.name,
                    description=tool.meaning,
                    input_schema=tool.listed_schema,
                    annotations=hints,
                )
                for tool in TOOLS
            ]
        )

    async def call(self, context: Any, parameters: protocol.CallToolRequestParams) -> protocol.CallToolResult:
        """Return what a tool answers; every error is its one sentence."""
        try:
            tool, values = _checked(parameters.name, parameters.arguments or {})
            result = await self._result(tool, values)
        except KernlensError as error:
            text = protocol.TextContent(type="text", text=str(error))
            return protocol.CallToolResult(content=[text], is_error=True)
        text = protocol.TextContent(type="text", text=encoded(result))
        return protocol.CallToolResult(content=[text], structured_content=result)

    async def _result(self, tool: Tool, values: Mapping[str, Any]) -> dict[str, Any]:
        verb = ConfinedVerb(self.allowed.paths, self._toolchains, self._seconds)

        async def stop_when_cancelled() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                verb.stop()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_when_cancelled)
            answered: tuple[dict[str, Any], KernlensError | None] = await anyio.to_thread.run_sync(
                _answered, tool, values, self.allowed, verb, limiter=self._threads
            )
            tasks.cancel_scope.cancel()
        result, error = answered
        if error is not None:
            raise error
        return result


def _answered(
    tool: Tool, values: Mapping[str, Any], allowed: AllowedPaths, verb: ConfinedVerb
) -> tuple[dict[str, Any], KernlensError | None]:
    """Return the result of a call, or its error, which would come out of a task group in a group of its own."""
    try:
        answer = tool.answer(values, allowed, verb)
        at, start = values.get("at", ""), values.get("start", 0)
        cut = Cut()
        part = cut.fitted(part_at(answer.document, at, start), values.get("limit", LIMIT), at, start)
    except KernlensError as error:
        return {}, error
    more = {"left_out": cut.left_out, "messages": answer.messages[:_MESSAGES]}
    return {"answer": part, **{key: value for key, value in more.items() if value}}, None


def _checked(name: str, arguments: Mapping[str, Any]) -> tuple[Tool, Mapping[str, Any]]:
    """Return a tool and arguments that fit it. Raises KernlensError with what does not."""
    tool = _TOOLS.get(name)
    if tool is None:
        near = likeliest(name, _TOOLS) or list(_TOOLS)
        raise KernlensError(f"there is no tool {name[:100]!a}; there is {', '.join(near)}")
    known = {argument.name for argument in tool.arguments}
    arguments = {
        SPELLINGS[key] if key not in known and SPELLINGS.get(key) in known else key: value
        for key, value in arguments.items()
    }
    lines = [each.name for each in tool.arguments if each.schema is None and type(arguments.get(each.name)) is int]
    arguments = {**arguments, **{name: str(arguments[name]) for name in lines}}
    error = best_match(Draft202012Validator(tool.input_schema(PAGING)).iter_errors(arguments))
    if error is not None:
        where = f"the argument {error.path[0]}" if error.path else "the arguments"
        raise KernlensError(f"{where} of {name}: {error.message[:300]}; correct it, as the tool's schema says")
    return tool, arguments
