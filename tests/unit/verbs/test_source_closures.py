"""What a source may include, and what is the same source on two sides: found without a compiler."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from kernlens.errors import KernlensError, NotFoundError
from kernlens.verbs.sources.closures import Closure, Closures
from kernlens.verbs.sources.scope import SourceText, check_paths, in_tree, paired, sources_of
from kernlens.verbs.sources.sides import opened_trees
from kernlens.verbs.sources.trees import Tree, folder_tree
from tests.limits import processor_time


def tree_of(files: Mapping[str, str]) -> Tree:
    numbers = {name: hashlib.sha1(text.encode()).hexdigest() for name, text in files.items()}
    contents = {numbers[name]: text.encode() for name, text in files.items()}
    return Tree("a tree", "", frozenset(files), numbers.get, contents.__getitem__, numbers)


def closure(files: Mapping[str, str], source: str, folders: tuple[str, ...] = (), options: str = "") -> Closure:
    return Closures().of(tree_of(files), source, folders, options)


def test_every_include_counts_wherever_it_is_looked_for() -> None:
    files = {
        "k/a.cl": '#include "x.h"\n#if 0\n#include <y.h>\n#endif\n',
        "k/x.h": '#include "z.h"\n',
        "include/y.h": "",
        "z.h": '#include "k/a.cl"\n',
        "include/z.h": "",
        "other/x.h": "",
    }
    assert closure(files, "k/a.cl", ("include",)).files.keys() == files.keys() - {"other/x.h"}
    assert next(iter(closure(files, "k/a.cl").files)) == "k/a.cl"


@pytest.mark.parametrize(
    ("text", "options", "included"),
    [
        ("#include M2S(PATH/x.h)\n", "-DM2S(x)=#x", {"lib/x.h"}),
        ("#define COMPARE M2S(PATH/y.h)\n#include COMPARE\n", "", {"lib/y.h"}),
        ('#define FIRST SECOND\n#define SECOND "x.h"\n#include FIRST\n', "", {"lib/x.h"}),
        ("#include FILE\n", "-DFILE=<y.h>", {"lib/y.h"}),
        ("  #  include   M2S( x.h )  // y.h\n", "", {"lib/x.h", "lib/y.h"}),
        ("#include UNKNOWN\n", "-I lib", {"lib/x.h", "lib/y.h", "top.h"}),
    ],
)
def test_an_include_that_a_macro_names(text: str, options: str, included: set[str]) -> None:
    files = {"k/a.cl": text, "lib/x.h": "", "lib/y.h": "", "far/z.h": "", "top.h": "", "README": ""}
    whole = closure(files, "k/a.cl", ("lib",), options)
    assert whole.files.keys() - {"k/a.cl"} == included
    # What is only guessed does not make a source a header.
    assert ("lib/x.h" in whole.included) == ("UNKNOWN" not in text and "lib/x.h" in included)


def test_too_much_is_equal_to_nothing() -> None:
    files = {"a.cl": "".join(f'#include "{number}.h"\n' for number in range(2000))}
    files |= {f"{number}.h": "" for number in range(2000)}
    with processor_time(5):
        whole = closure(files, "a.cl")
    assert not whole.is_whole
    assert not whole.is_equal(whole)


def test_a_name_that_takes_part_in_the_code_is_a_difference() -> None:
    for text, is_equal in (("kernel void f() {}\n", True), ("kernel void f() { g(__FILE__); }\n", False)):
        old, new = closure({"a.cl": text}, "a.cl"), closure({"b.cl": text}, "b.cl")
        assert old.is_equal(new) == is_equal
        assert old.is_equal(closure({"a.cl": text}, "a.cl"))


def sources(files: Mapping[str, str], *paths: str) -> dict[str, SourceText]:
    return sources_of(tree_of(files), paths, lambda name: "", "", Closures())


def test_a_source_that_another_includes_is_compiled_with_that() -> None:
    files = {"k/a.cl": '#include "part.cl"\n', "k/part.cl": "", "k/b.cl": '#include "a.cl"\n', "x.clh": ""}
    assert sources(files).keys() == {"k/b.cl"}
    assert sources(files, "k").keys() == {"k/b.cl"}
    assert sources(files, "k/part.cl", "k/*.cl").keys() == {"k/part.cl", "k/b.cl"}
    assert sources(files, "x.clh").keys() == {"x.clh"}
    # Of two that include each other one is left.
    assert len(sources({"a.cl": '#include "b.cl"\n', "b.cl": '#include "a.cl"\n'})) == 1


def test_renamed_sources_are_found_by_content_and_then_by_their_lines() -> None:
    text = [f"line {number};\n" for number in range(40)]
    old = sources({"a/x.cl": "same\n", "a/y.cl": "".join(text), "a/z.cl": "gone\n", "s.cl": "1\n"})
    new = sources({"b/x.cl": "same\n", "c/x.cl": "same\n", "b/w.cl": "".join(text[:30]), "s.cl": "2\n"})
    pairs = {(pair.old and pair.old.name, pair.new and pair.new.name) for pair in paired(old, new)}
    assert pairs == {
        ("a/x.cl", "b/x.cl"), (None, "c/x.cl"), ("a/y.cl", "b/w.cl"), ("a/z.cl", None), ("s.cl", "s.cl"),
    }  # fmt: skip
    assert [pair.is_equal for pair in paired(old, new) if pair.new and pair.new.name == "b/x.cl"] == [True]


def test_folders_to_include_from_are_those_of_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("old/include", "shared", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "old/include/x.h").write_text("")
    tree = folder_tree("old")
    assert in_tree("-I include -DX -Ishared", tree) == (f"-I include -DX -I {tmp_path}/shared", ["include"])
    assert in_tree(f"-I {tmp_path}/old/include -I .", tree) == ("-I include -I .", ["include", ""])
    assert in_tree(f"-I {tmp_path}/elsewhere", tree) == (f"-I {tmp_path}/elsewhere", [])
    # From a folder of a repository.
    assert in_tree("-I ../include -I here", tree, "k") == ("-I include -I k/here", ["include", "k/here"])


def test_links_of_a_folder_lead_to_files_within_it_alone(tmp_path: Path) -> None:
    (tmp_path / "secret.h").write_text("secret")
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/a.h").write_text("a")
    for name, target in (
        ("out.h", tmp_path / "secret.h"),
        ("up.h", "../secret.h"),
        ("in.h", "sub/a.h"),
        ("round.h", "round.h"),
    ):
        (folder / name).symlink_to(target)
    (folder / ".hidden.cl").write_text("")
    tree = folder_tree(str(folder))
    assert [tree.find(name) is not None for name in ("in.h", "sub/a.h", "out.h", "up.h", "round.h", "../secret.h")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip
    assert ".hidden.cl" not in tree.names
    assert tree.find("in.h") == hashlib.sha1(b"blob 1\0a").hexdigest()  # As git has it.


def test_paths_without_sources_and_sides_of_two_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"include is no source, and no folder with sources \(\*\.cl\)"):
        check_paths(["include"], [tree_of({"include/x.h": "", "a.cl": ""})])
    check_paths(["include", "*.cl"], [tree_of({"include/x.cl": ""}), tree_of({"a.cl": ""})])
    for name in ("sources", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "sources/a.cl").write_text("")
    folders = [str(tmp_path / "sources"), str(tmp_path / "empty")]
    with (
        pytest.raises(KernlensError, match=r"is a folder of sources and .*empty is not"),
        opened_trees(None, folders, (), "."),
    ):
        pass
