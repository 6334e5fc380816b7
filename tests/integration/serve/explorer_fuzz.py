"""Requests that nobody thought of, made by schemathesis from explorer/openapi.json, to a server that runs or to one of
its own.

python -m tests.integration.serve.explorer_fuzz --examples 2000
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from tests.integration.serve.explorer_fixtures import SOURCE, serving

DOCUMENT = files("kernlens") / "explorer" / "openapi.json"


def fuzz(port: int, token: str, examples: int) -> int:
    """Return schemathesis' status: 0 if it found nothing."""
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "openapi.json"
        document.write_bytes(DOCUMENT.read_bytes())
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", str(document)),
            *("--url", f"http://127.0.0.1:{port}", "--header", f"Authorization: Bearer {token}"),
            *("--max-examples", str(examples), "--phases", "examples,coverage,fuzzing", "--seed", "1", "--no-color"),
            *("--checks", "all", "--continue-on-failure", "--warnings", "off"),
        ]
        return subprocess.run(command, cwd=folder).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=2000, help="for each route")
    parser.add_argument("--port", type=int, help="of a server that runs")
    parser.add_argument("--token")
    words = parser.parse_args()
    if words.port is not None:
        sys.exit(fuzz(words.port, words.token, words.examples))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "a.cl"
        source.write_text(SOURCE)
        with serving(source, "--device", "dg2") as server:
            status = fuzz(server.port, server.token, words.examples)
            children, errors = server.children(), server.end()[1]
        print(f"children left: {len(children)}; the server's own words: {errors or 'none'}")
        sys.exit(status or bool(children) or "fault" in errors)


if __name__ == "__main__":
    main()
