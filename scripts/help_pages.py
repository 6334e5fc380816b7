"""Write the help of each verb into its page, docs/commands/VERB.md, in place of what stands there:

python scripts/help_pages.py
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from kernlens.cli.verb_group import VERBS, kernlens

PAGES = Path(__file__).parents[1] / "docs" / "commands"


def main() -> None:
    root = click.Context(kernlens, info_name="kernlens", terminal_width=118, **kernlens.context_settings)
    for verb in VERBS:
        command = kernlens.get_command(root, verb)
        assert command is not None
        block = f"```text\n{click.Context(command, root, verb).get_help()}\n```"
        page = PAGES / f"{verb}.md"
        text = page.read_text("utf-8")
        page.write_text(re.sub(r"```text\nUsage: .*?```", lambda _, block=block: block, text, flags=re.DOTALL), "utf-8")


if __name__ == "__main__":
    main()
