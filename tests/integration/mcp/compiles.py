"""The processes of a server that compiles."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import anyio


def children(process: int) -> list[int]:
    """All processes below one."""
    result: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            for child in map(int, task.read_text().split()):
                result += [child, *children(child)]
    return result


async def begun(server: int) -> list[int]:
    """Wait until a call has started processes below the server, the compiler among them."""
    with anyio.fail_after(60):
        while not any(
            "ocloc" in command_line(each) and "kernlens_confine" not in command_line(each) for each in children(server)
        ):
            await anyio.sleep(0.05)
    return children(server)


def _is_compiler(words: str) -> bool:
    return "ocloc" in words and "kernlens_confine" not in words


def command_line(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""
