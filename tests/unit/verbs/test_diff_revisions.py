"""``diff --git``: what of two revisions is compiled, by what, and what is said of it; the compiler is a script."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import kernlens as package
from kernlens.errors import NotFoundError
from tests.unit.conftest import Kernlens
from tests.unit.toolchain.test_compile_cache import calls
from tests.writers.programs import SOURCE
from tests.writers.repositories import Repository, git

HEAD = '#include "common.h"\n'
WORDS = ("--device", "skl", "--unconfined")


@pytest.fixture
def repository(tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Return a repository in the working folder: ``a.cl`` includes ``common.h``, ``b.cl`` nothing."""
    result = Repository(tmp_path / "repository")
    result.commit("First", {"kernels/a.cl": HEAD + SOURCE, "kernels/b.cl": SOURCE, "kernels/common.h": "#define X 1\n"})
    monkeypatch.chdir(result.folder)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return result


def compiled(compiler: Path) -> list[str]:
    """The sources that were compiled, in the order of their names."""
    listed = compiler.with_name("calls")
    return sorted(line.split()[2] for line in listed.read_text().splitlines()) if listed.exists() else []


def test_what_includes_a_changed_header_is_compiled_and_nothing_else(
    repository: Repository, kernlens: Kernlens, compiler: Path, tmp_path: Path
) -> None:
    commit = repository.commit("Wider", {"kernels/common.h": "#define X 2\n#define Y 3\n"})
    done = kernlens("diff", "--git", "HEAD~1..HEAD", *WORDS)
    assert (done.status, done.err) == (0, "")
    assert compiled(compiler) == ["kernels/a.cl", "kernels/a.cl"]
    assert f"+ {commit[:10]} Wider" in done.out
    assert "1 source compiled; 1 not, as it is equal with all that it includes" in done.out
    assert "the sources differ in 2 lines, the code is equal" in done.out
    assert list((tmp_path / "temporary").iterdir()) == []
    document = kernlens("diff", "--git", "HEAD~1..HEAD", *WORDS, "--json").document
    change = {"old": "kernels/a.cl", "new": "kernels/a.cl", "lines": 2, "old_failure": None, "new_failure": None}
    assert document["sources"] == {"unchanged": 1, "compiled": [change], "hunks": []}
    assert document["summary"]["equal_code"] == [{"program": "kernels/a", "lines": 2}]


def test_revisions_without_a_change_of_sources_compile_nothing(
    repository: Repository, kernlens: Kernlens, compiler: Path
) -> None:
    repository.commit("Words", {"README": "words\n", "unused.h": "1\n"})
    done = kernlens("diff", "--git", "HEAD~1..HEAD", *WORDS)
    assert (done.status, calls(compiler)) == (0, 0)
    assert "2 sources and all that they include are equal on both sides, so none was compiled" in done.out


def test_a_revision_is_compared_with_the_working_tree(
    repository: Repository, kernlens: Kernlens, compiler: Path
) -> None:
    """Files that git does not track count, and what is ignored does where a source includes it."""
    repository.commit("Ignores", {".gitignore": "made.h\nmade.cl\n"})
    repository.write({"kernels/c.cl": '#include "made.h"\n' + SOURCE, "kernels/made.h": "broken\n", "made.cl": SOURCE})
    done = kernlens("diff", "--git", "HEAD", *WORDS)
    assert compiled(compiler) == ["kernels/c.cl"]
    assert done.status == 1
    assert "+ the working tree" in done.out
    assert "added: kernels/c.cl" in done.out


def test_a_source_that_does_not_compile_is_a_row(repository: Repository, kernlens: Kernlens) -> None:
    repository.commit("Breaks b", {"kernels/b.cl": "broken\n", "kernels/c.cl": "broken\n"})
    repository.commit("Edits", {"kernels/a.cl": SOURCE + "// more\n", "kernels/c.cl": "broken again\n"})
    done = kernlens("diff", "--git", "HEAD~2..HEAD", *WORDS)
    assert done.status == 3
    assert "! kernels/b.cl compiles on the old side only" in done.out
    assert "  + kernels/b.cl does not compile for skl (toolchain system): it is broken at kernels/b.cl:1:1" in done.out
    assert "! kernels/c.cl does not compile, and is on one side only" in done.out
    assert "2 kernels compared" in done.out  # Those of a.cl: the others go on.
    assert "only here" not in done.out
    assert "! kernels/c.cl compiles on neither side" in kernlens("diff", "--git", "HEAD~1..HEAD", *WORDS).out


def test_a_renamed_source_is_compared_with_itself(repository: Repository, kernlens: Kernlens, compiler: Path) -> None:
    text = SOURCE + "".join(f"// line {number}\n" for number in range(20))
    repository.commit("More", {"kernels/b.cl": text, "kernels/d.cl": "// d\n" + SOURCE})
    moved = {
        "kernels/b.cl": None,
        "lib/edited.cl": text + "// edited\n",
        "kernels/d.cl": None,
        "lib/d.cl": "// d\n" + SOURCE,
    }
    repository.commit("Moves", moved)
    done = kernlens("diff", "--git", "HEAD~1..HEAD", *WORDS)
    assert done.status == 0
    assert "renamed: kernels/b.cl -> lib/edited.cl" in done.out
    # What only moved compiles to the same.
    assert compiled(compiler) == ["kernels/b.cl", "lib/edited.cl"]


def test_three_dots_are_what_the_second_has_changed(repository: Repository, kernlens: Kernlens, compiler: Path) -> None:
    git(repository.folder, "branch", "other")
    repository.commit("On main", {"kernels/b.cl": SOURCE + "// main\n"})
    git(repository.folder, "checkout", "--quiet", "other")
    repository.commit("On other", {"kernels/a.cl": HEAD + SOURCE + "// other\n"})
    assert kernlens("diff", "--git", "main...other", *WORDS).status == 0
    assert set(compiled(compiler)) == {"kernels/a.cl"}
    assert kernlens("diff", "--git", "main..", *WORDS).status == 0
    assert set(compiled(compiler)) == {"kernels/a.cl", "kernels/b.cl"}


def test_paths_are_relative_to_the_working_folder(
    repository: Repository, kernlens: Kernlens, compiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("Both", {"kernels/a.cl": SOURCE, "kernels/b.cl": SOURCE + "//\n", "other/c.cl": SOURCE})
    monkeypatch.chdir(repository.folder / "kernels")
    for path, sources in (
        ("a.cl", {"kernels/a.cl"}),
        (".", {"kernels/a.cl", "kernels/b.cl"}),
        ("../other", {"other/c.cl"}),
    ):
        compiler.with_name("calls").unlink(missing_ok=True)
        kernlens("diff", "--git", "HEAD~1..HEAD", path, *WORDS)
        assert set(compiled(compiler)) == sources
    for path, words in (("none.cl", "is no source"), ("../..", "is outside of the repository")):
        done = kernlens("diff", "--git", "HEAD~1..HEAD", path, *WORDS)
        assert done.status == 2
        assert words in done.err


def test_a_revision_is_compiled_with_its_own_headers_and_its_own_settings(
    repository: Repository, kernlens: Kernlens, compiler: Path
) -> None:
    table = '[source."*.cl"]\ninclude = "include"\ndefine = {{ SIZE = {} }}\n'
    repository.commit("Settings", {"kernlens.toml": table.format(1), "include/x.h": "1\n"})
    repository.commit("Wider", {"kernlens.toml": table.format(2)})
    assert kernlens("diff", "--git", "HEAD~1..HEAD", *WORDS).status == 0
    lines = [line for line in compiler.with_name("calls").read_text().splitlines() if "kernels/b.cl" in line]
    assert {("-DSIZE=1" in line, "-DSIZE=2" in line) for line in lines} == {(True, False), (False, True)}
    assert all("-I include" in line for line in lines)
    # A revision from before the file gets the other's.
    compiler.with_name("calls").unlink()
    repository.commit("Edit", {"kernels/b.cl": SOURCE + "//\n"})
    assert kernlens("diff", "--git", "HEAD~3..HEAD", "kernels/b.cl", *WORDS).status == 0
    assert [line.count("-DSIZE=2") for line in compiler.with_name("calls").read_text().splitlines()] == [1, 1]


def test_nothing_of_the_repository_is_run_and_no_link_leads_out_of_it(
    repository: Repository, kernlens: Kernlens, compiler: Path, tmp_path: Path
) -> None:
    mark, secret = tmp_path / "mark", tmp_path / "secret.h"
    secret.write_text("broken\n")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho run >> {mark}\ncat\n")
    program.chmod(0o755)
    hooks = repository.folder / "hooks"
    repository.commit("Before", {".gitattributes": "* filter=bad diff=bad\n"})
    os.symlink(secret, repository.folder / "kernels/link.h")
    os.symlink("common.h", repository.folder / "kernels/inside.h")
    repository.commit("Links", {"kernels/b.cl": '#include "link.h"\n#include "inside.h"\n' + SOURCE})
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        os.symlink(program, hooks / name)
    for setting in (
        "core.fsmonitor", "filter.bad.smudge", "filter.bad.clean", "filter.bad.process", "diff.bad.textconv",
        "diff.bad.command", "diff.external", "core.pager", "gpg.program", "core.sshCommand",
    ):  # fmt: skip
        git(repository.folder, "config", setting, str(program))
    git(repository.folder, "config", "core.hooksPath", str(hooks))
    git(repository.folder, "config", "log.showSignature", "true")
    mark.unlink(missing_ok=True)
    for words in ("HEAD~1..HEAD", "HEAD~1"):
        compiler.with_name("calls").unlink(missing_ok=True)
        done = kernlens("diff", "--git", words, *WORDS)
        assert (done.status, compiled(compiler)) == (0, ["kernels/b.cl", "kernels/b.cl"])
    assert not mark.exists()
    sources = {
        source.path: source.text
        for program_ in package.diff(git="HEAD~1..HEAD", device="skl", unconfined=True).new
        for source in program_.build.sources
    }
    assert sources.keys() == {"kernels/b.cl", "kernels/inside.h"}
    assert sources["kernels/inside.h"] == "#define X 1\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("no-such", "git knows no revision 'no-such' here; git log --oneline lists commits"),
        ("HEAD..no-such", "git knows no revision 'no-such' here"),
        ("--output=x..HEAD", "git knows no revision '--output=x' here"),
        ("HEAD:kernels", "git knows no revision 'HEAD:kernels' here"),
    ],
)
def test_an_unknown_revision_is_one_sentence(
    words: str, sentence: str, repository: Repository, kernlens: Kernlens
) -> None:
    done = kernlens("diff", f"--git={words}", *WORDS)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"kernlens: {sentence}")
    assert done.err.count("\n") == 1


def test_no_repository_and_no_git_are_one_sentence(
    repository: Repository, kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = kernlens("diff", "--git", "HEAD", *WORDS)
    assert (done.status, done.err) == (
        2,
        "kernlens: . is in no git repository; go into one, or compare two folders: kernlens diff OLD NEW\n",
    )
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "--quiet", "--bare", str(repository.folder), str(bare))
    monkeypatch.chdir(bare)
    assert "this repository has no working tree to compare with" in kernlens("diff", "--git", "HEAD", *WORDS).err
    assert kernlens("diff", "--git", "HEAD..HEAD", *WORDS).status == 0
    monkeypatch.setenv("PATH", str(tmp_path / "compiler"))
    done = kernlens("diff", "--git", "HEAD..HEAD", *WORDS)
    assert (done.status, done.err) == (3, "kernlens: git was not found; install it or correct its path\n")


def test_an_interrupt_leaves_no_folder(repository: Repository, tmp_path: Path) -> None:
    repository.commit("Both", {"kernels/a.cl": SOURCE, "kernels/b.cl": SOURCE + "//\n"})

    def interrupt(done: int, total: int, name: str) -> None:
        assert total == 4
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        package.diff(git="HEAD~1..HEAD", device="skl", unconfined=True, on_progress=interrupt)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_python_names_the_repository(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit("Edit", {"kernels/a.cl": SOURCE})
    monkeypatch.chdir(tmp_path)
    difference = package.diff(
        git="HEAD~1..HEAD", repository=str(repository.folder), paths=["kernels"], device="skl", unconfined=True
    )
    assert difference.equal
    assert difference.sources is not None
    assert [each.name for each in difference.sources.compiled] == ["kernels/a.cl"]
    assert difference.old_title.endswith(" First")
    with pytest.raises(NotFoundError, match="there is no folder"):
        package.diff(git="HEAD", repository=str(tmp_path / "none"), device="skl")
