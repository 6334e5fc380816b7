"""``kernlens mcp``: the answers of the verbs as tools for agents, on standard input and output."""

from __future__ import annotations

from kernlens.cli import option
from kernlens.dataclass import dataclass
from kernlens.errors import UnsupportedError


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    paths: tuple[str, ...] = option.paths()
    timeout: float = option.number(
        "Time limit of each call.", "--timeout", least=0.1, most=3600, metavar="SECONDS", default=300, show_default=True
    )


@option.verb(Asked, "kernlens mcp ./src ./build")
def command(asked: Asked) -> None:
    """Answer an agent's questions about kernels in PATHS, as a server of the Model Context Protocol (MCP).

    An MCP client starts this command and talks to it over stdin and stdout. Its tools have the answers of inspect,
    annotate, diff, advise, check, compile, sweep, observe, replay, stages and symbols. They read files in PATHS only, and
    write none.
    """
    _check_installed()
    from kernlens.agents.protocol_server import serve

    serve(asked.paths, asked.timeout)


def _check_installed() -> None:
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("mcp", "jsonschema")):
        raise UnsupportedError("kernlens mcp needs mcp and jsonschema: pip install 'mcp>=2' jsonschema")
