"""What holds for every verb: help with an example, bad usage, missing files, --debug, --verbose."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from kernlens.cli.verb_group import GROUPS, VERBS
from kernlens.cli.verb_group import kernlens as kernlens_command
from tests import pages
from tests.tree import ROOT
from tests.unit.conftest import Kernlens

ACTIONS = {"recording": ("list", "merge", "prune", "redact"), "toolchain": ("list", "add", "remove")}
COMMANDS = [(verb,) for verb in VERBS] + [(verb, action) for verb, actions in ACTIONS.items() for action in actions]
#: Verbs that answer without another word.
NEEDS_NOTHING = {"devices", "doctor", "layer", *ACTIONS}
#: Words after which a file that is not there is asked for.
READERS = {
    "advise": ("advise",),
    "annotate": ("annotate",),
    "check": ("check", "--max-spill-bytes", "0"),
    "compile": ("compile", "--device", "skl"),
    "diff": ("diff", "--toolchain", "a,b"),
    "disasm": ("disasm",),
    "extract": ("extract", "-o", "parts"),
    "inspect": ("inspect",),
    "link": ("link",),
    "observe": ("observe", "--size", "64", "--group", "64"),
    "recording": ("recording", "list"),
    "replay": ("replay",),
    "stages": ("stages", "--device", "skl"),
    "sweep": ("sweep", "--device", "skl"),
    "symbols": ("symbols",),
}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_has_an_example_and_the_options_of_every_verb(words: tuple[str, ...], kernlens: Kernlens) -> None:
    done = kernlens(*words, "--help")
    assert (done.status, done.err) == (0, "")
    assert f"kernlens {words[0]}" in done.out.split("Example:")[1]
    (end,) = [line for line in " ".join(done.out.split()).split(".") if "Every command takes" in line]
    assert all(option in end for option in ("--debug", "--verbose", "--color", "--yes"))
    assert done.out.count("--verbose") == 1, "what all commands take is explained in the help of kernlens alone"


@pytest.mark.parametrize("verb", VERBS)
def test_a_list_that_is_given_in_two_options_is_one_list(verb: str) -> None:
    command = kernlens_command.get_command(click.Context(kernlens_command), verb)
    assert command is not None
    commands = [command, *(command.commands.values() if isinstance(command, click.Group) else ())]
    lists = [
        option
        for each in commands
        for option in each.params
        if isinstance(option, click.Option) and "..." in (option.metavar or "")
    ]
    dropped = [option.opts for option in lists if not option.multiple]
    assert not dropped, "of these options all but the last would be ignored without a word"


def test_kernlens_alone_shows_the_daily_commands_first_on_one_screen(kernlens: Kernlens) -> None:
    done = kernlens()
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    daily = lines[lines.index("Every day:") + 1 : lines.index("More:") - 1]
    assert [line.split()[0] for line in daily] == list(GROUPS["Every day"])
    assert len(daily) == 8
    assert len(lines) < 40
    assert all(verb in done.out for verb in VERBS)


@pytest.mark.parametrize("words", [(verb,) for verb in ACTIONS], ids=" ".join)
def test_without_a_word_of_what_to_do_the_help_is_printed(words: tuple[str, ...], kernlens: Kernlens) -> None:
    done = kernlens(*words)
    assert done == kernlens(*words, "--help")
    assert (done.status, done.err) == (0, "")
    assert done.out.count("\n") > 10
    assert "\\n" not in done.out


README = ROOT / "README.md"


@pytest.mark.parametrize("verb", VERBS)
def test_the_page_of_a_verb_shows_its_help(verb: str, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (pages.VERB_PAGES / f"{verb}.md").exists(), (
        f"write docs/commands/{verb}.md: what {verb} answers, with an example"
    )
    page = (pages.VERB_PAGES / f"{verb}.md").read_text("utf-8")
    monkeypatch.setenv("COLUMNS", str(pages.WIDTH))
    assert "```text\nUsage: " in page
    assert page == pages.with_help(page, kernlens(verb, "--help").out), "python -m tests.pages writes it"


@pytest.mark.parametrize("words", [words for words in COMMANDS if words not in (("run",), ("mcp",))], ids=" ".join)
def test_json_is_a_flag_of_every_verb(words: tuple[str, ...]) -> None:
    """Only run and mcp have none: they become the application, and speak a protocol."""
    command: click.Command | None = kernlens_command
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command, **kernlens_command.context_settings), word)
    assert command is not None
    options = [each for each in command.params if "--json" in each.opts]
    assert isinstance(command, click.Group) or [
        isinstance(each, click.Option) and each.is_flag for each in options
    ] == [True]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_unknown_option_is_bad_usage(words: tuple[str, ...], kernlens: Kernlens) -> None:
    done = kernlens(*words, "--no-such-option")
    assert (done.status, done.out) == (2, "")
    assert "--no-such-option" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("verb", VERBS)
def test_the_readme_has_a_row_for_each_verb(verb: str) -> None:
    row = f"|[`{verb}`](docs/commands/{verb}.md)"
    assert row in README.read_text(), f"give {verb} a row of README.md's table of commands: {row} ...|...|"


@pytest.mark.parametrize("verb", sorted(set(VERBS) - NEEDS_NOTHING))
def test_a_verb_that_needs_something_says_what_is_missing(verb: str, kernlens: Kernlens) -> None:
    done = kernlens(verb)
    assert done.status, f"if {verb} needs no word, add it to NEEDS_NOTHING"
    assert (done.status, done.out) == (2, "")
    assert "Missing" in done.err or "there is nothing to link" in done.err


@pytest.mark.parametrize("verb", READERS)
def test_a_file_that_is_not_there(
    verb: str, kernlens: Kernlens, compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = kernlens(*READERS[verb], "nowhere.cl")
    assert (done.status, done.out) == (2, "")
    assert "nowhere.cl" in done.err
    assert done.err.startswith("kernlens: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("words", [("inspect", "--debug", "/nowhere"), ("--debug", "inspect", "/nowhere")])
def test_debug_shows_the_traceback_and_changes_nothing_else(words: tuple[str, ...], kernlens: Kernlens) -> None:
    done = kernlens(*words)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("Traceback")
    assert "kernlens.errors.NotFoundError: there is no file /nowhere" in done.err
    assert done.err.endswith("\nkernlens: there is no file /nowhere; no name in / is like it\n")


def test_the_debug_flag_of_another_program_is_not_ours(kernlens: Kernlens, compiler: Path) -> None:
    done = kernlens("run", "--simulate", "skl", "--", "/nowhere/app", "--debug")
    assert done.status == 2
    assert "there is no program /nowhere/app" in done.err


@pytest.mark.parametrize(
    ("word", "offered"),
    [
        ("inspct", "did you mean inspect"),
        ("zzz", "see kernlens --help"),
        ("lnk", "link"),
        ("help", "write kernlens --help"),
        ("nowhere.cl", "there is no file nowhere.cl, and no command of that name"),
    ],
)
def test_an_unknown_verb_offers_the_nearest(word: str, offered: str, kernlens: Kernlens) -> None:
    done = kernlens(word)
    assert done.status == 2
    assert offered in done.err


def test_help_lists_every_verb_with_its_sentence(kernlens: Kernlens) -> None:
    done = kernlens("--help")
    words = " ".join(done.out.split())
    for verb, sentence in VERBS.items():
        assert f"{verb} {sentence}" in words


def test_help_groups_the_verbs_by_what_one_wants(kernlens: Kernlens) -> None:
    help_text = kernlens("--help").out
    titles = ["Every day", "Look", "Explain", "Compile", "Applications", "This machine"]
    blocks = [help_text.split(f"\n{title}:\n")[1].split("\n\n")[0] for title in titles]
    verbs = [[line.split()[0] for line in block.splitlines() if line[2] != " "] for block in blocks]
    assert verbs == [list(group) for group in GROUPS.values()]
    columns = {
        line.index(VERBS[line.split()[0]][:8]) for block in blocks for line in block.splitlines() if line[2] != " "
    }
    assert len(columns) == 1


def test_an_interruption_has_its_own_status(kernlens: Kernlens, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kernlens.verbs.any_path.open_file", interrupt)
    done = kernlens("inspect", file)
    assert (done.status, done.err) == (130, "kernlens: interrupted\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("annotate", "x", "--json", "--format", "csv"), "--json and --format csv exclude each other"),
        (("annotate", "x", "--json", "--format", "text"), "--json and --format text exclude each other"),
        (("layer", "--unset", "--json"), "--unset prints shell lines, which have no JSON"),
        (("stages", "x", "--form", "text"), "--form needs --stage"),
    ],
)
def test_options_that_contradict_one_another_are_bad_usage(
    words: tuple[str, ...], sentence: str, kernlens: Kernlens
) -> None:
    done = kernlens(*words)
    assert (done.status, done.out) == (2, "")
    assert f"Error: {sentence}" in done.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("annotate", "x", "--top", "3", "--sort", "memry"), "did you mean memory?"),
        (("annotate", "x", "--format", "jsn"), "did you mean json?"),
        (("inspect", "x", "--color", "alway"), "did you mean always?"),
        (("inspect", "x", "--sort", "spil"), "spill"),
        (("inspect", "x", "--sort", "grf-cont"), "did you mean grf-count?"),
        (("inspect", "x", "--sort", "live"), "did you mean live-grfs?"),
        (("check", "x", "--max-spill-byte", "0"), "--max-spill-bytes"),
    ],
)
def test_a_misspelt_word_gets_the_nearest(words: tuple[str, ...], meant: str, kernlens: Kernlens) -> None:
    done = kernlens(*words)
    assert (done.status, done.out) == (2, "")
    assert meant in done.err
