"""Messages read out of compiler logs, and the files that a source includes."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlens.errors import UnsupportedError
from kernlens.toolchain.diagnostics import ErrorLine, Fix, error_lines, log_parts
from kernlens.toolchain.sources.includes import include_folders, join_options, source_files, split_options
from tests.limits import processor_time

LOG = """\
In file included from 1:1:
./bad.h:1:22: error: use of undeclared identifier 'c'
int f(int a){ return c; }
                     ^
1:3:2: warning: hello
/a folder/k.cl:7:12: fatal error: 'x.h' file not found
C:\\k.cl:7:12: note: on: another: platform
error: undefined reference to `foo()'

Unrecognized build options: -bogus
InvalidModule: Invalid SPIR-V module: invalid magic number
Build failed with error code: -11
Command was: ocloc compile -file syn.cl -device dg2
"""


def test_every_message_with_its_place() -> None:
    assert error_lines(LOG, "k.cl") == (
        ErrorLine("./bad.h", 1, 22, "error", "use of undeclared identifier 'c'"),
        ErrorLine("k.cl", 3, 2, "warning", "hello"),
        ErrorLine("/a folder/k.cl", 7, 12, "error", "'x.h' file not found"),
        ErrorLine("C:\\k.cl", 7, 12, "note", "on: another: platform"),
        ErrorLine("", 0, 0, "error", "undefined reference to `foo()'"),
        ErrorLine("", 0, 0, "error", "Unrecognized build options: -bogus"),
        ErrorLine("", 0, 0, "error", "InvalidModule: Invalid SPIR-V module: invalid magic number"),
    )


def test_without_a_source_the_stand_in_stays() -> None:
    assert error_lines("1:2:3: error: x")[0].path == "1"


def test_a_line_number_that_is_no_number() -> None:
    assert error_lines("k.cl:" + "9" * 5000 + ":1: error: x")[0].line == 999_999_999


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", []),
        ('-DX=1  -I "a b" -g', ["-DX=1", "-I", "a b", "-g"]),
        ("-DNAME='x' -I a\\b", ["-DNAME='x'", "-I", "a\\b"]),
        ('-D "x', ["-D", '"x']),
    ],
)
def test_options_are_words(options: str, words: list[str]) -> None:
    assert split_options(options) == words


#: A word may hold anything but a double quote and what ends a line or a text, spaces and quotes of other kinds included.
@given(
    st.lists(st.text(st.characters(exclude_characters='"', exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=8))
)
def test_words_that_are_joined_split_again(words: list[str]) -> None:
    assert split_options(join_options(words)) == words


@given(st.text('ab \t\n""\'\\#', max_size=12))
def test_options_are_split_as_python_splits_words(options: str) -> None:
    lexer = shlex.shlex(options, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.quotes, lexer.escape, lexer.commenters = True, '"', "", ""
    words = options.split() if options.count('"') % 2 else list(lexer)
    if any("\t" in word or "\n" in word for word in words):
        with pytest.raises(UnsupportedError, match="contains a control character"):
            split_options(options)
    else:
        assert split_options(options) == words


def test_long_options_take_linear_time() -> None:
    with processor_time(5):
        assert split_options(f'-DX={"a" * 3_000_000} "{"b " * 500_000}"')[0] == "-DX=" + "a" * 3_000_000


def test_a_string_of_options_stays_as_it_is() -> None:
    assert join_options("-D A=1  -g") == "-D A=1  -g"
    assert join_options(["-g", "-I", "/with spaces", "-Ia b", "", "- "]) == '-g -I "/with spaces" -I"a b" "" "- "'
    with pytest.raises(UnsupportedError, match='the option -DX="1" contains a double quote'):
        join_options(['-DX="1"'])


def test_include_folders() -> None:
    assert include_folders('-Ia -I "b c" -DI=-Ix -I') == ["a", "b c"]


def test_source_files(tmp_path: Path) -> None:
    headers = tmp_path / "headers"
    headers.mkdir()
    (tmp_path / "k.cl").write_text('#include "a.h"\n  #  include <b.h>\n#include "gone.h"\n// #include "c.h"\n')
    (tmp_path / "a.h").write_text('#include "k.cl"\n#include "headers/../a.h"\n')
    (headers / "b.h").write_bytes(b"\xff")
    (tmp_path / "c.h").write_text("")
    files = source_files(tmp_path / "k.cl", f"-I {headers}")
    assert [source.path for source in files] == [str(tmp_path / "k.cl"), str(tmp_path / "a.h"), str(headers / "b.h")]
    assert files[2].text == "\ufffd"


def test_a_source_that_includes_a_device_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text('#include "/dev/zero"\n')
    assert len(source_files(tmp_path / "k.cl")) == 1


def fix_of(message: str, caret: str, inserted: str, source: str = "  int n = lszz * 2") -> Fix | None:
    """Return the proposal that is read of a message in the fourth line, as clang writes it."""
    error, *_ = error_lines(f"1:4:11: error: {message}\n{source}\n{caret}\n{inserted}\n")
    return error.fix


def test_what_the_compiler_proposes() -> None:
    # As Debian 12's ocloc and IGC 2.40 print them.
    unknown = "use of undeclared identifier 'lszz'; did you mean 'lsz'?"
    assert fix_of(unknown, "          ^~~~", "          lsz") == Fix(4, "lsz")
    assert fix_of("expected ';' at end of declaration", " " * 18 + "^", " " * 18 + ";") == Fix(0, ";")
    # What is no proposal of one change, or not where the caret is, is none.
    assert fix_of(unknown, "          ^~~~", "1:2:43: note: 'lsz' declared here") is None
    assert fix_of(unknown, "          ^~~~", "         lsz") is None
    assert fix_of("passing a value; take the address with &", "          ^~~~", "          &") is None
    assert fix_of("expected ')'", "          ^", "          ;") is None
    assert fix_of(unknown, "", "") is None
    assert error_lines("1:4:11: error: expected ';' after expression")[0].fix is None


#: What IGC 1.0.12504 and 2.40 say of doubles in SPIR-V for a device without them; of each text the first lines are as they
#: are, and the later ones of the same forms.
IGC_1 = """\
Compilation from IR - skipping loading of FCL

error: Double type is not supported on this platform.
in file: dbl.cl:3

in function: 'helper' called by kernels:
  - 'k2'
  - 'k1'

error: backend compiler failed build.

error: Double type is not supported on this platform.
in file: dbl.cl:5

in kernel: 'k1'
error: backend compiler failed build.

error: Double type is not supported on this platform.
in file: dbl.cl:5

in kernel: 'k1'
error: backend compiler failed build.

error: Kernel compiled with required subgroup size 8, which is unsupported on this platform
in kernel: 'sg8'
error: backend compiler failed build.

Build failed with error code: -11
"""
IGC_2 = """\
Compilation from IR - skipping loading of FCL

error: in function 'helper' called by kernels: 'k2', 'k1': Double type is not supported on this platform. (in file: dbl.cl:3)
error: backend compiler failed build.

error: in kernel 'k1': Double type is not supported on this platform. (in file: dbl.cl:5)
error: backend compiler failed build.

error: in kernel 'k1': Double type is not supported on this platform. (in file: dbl.cl:5)
error: backend compiler failed build.

error: in kernel 'sg8': Kernel compiled with required subgroup size 8, which is unsupported on this platform
error: backend compiler failed build.

Build failed with error code: -11
"""
NO_DOUBLE = "Double type is not supported on this platform."
SG8 = "Kernel compiled with required subgroup size 8, which is unsupported on this platform"


@pytest.mark.parametrize("log", [IGC_1, IGC_2])
def test_what_igc_says_has_its_kernels_and_lines_and_counts_once(log: str) -> None:
    assert error_lines(log) == (
        ErrorLine("dbl.cl", 3, 0, "error", NO_DOUBLE, None, ("k2", "k1"), "helper"),
        ErrorLine("dbl.cl", 5, 0, "error", NO_DOUBLE, None, ("k1",)),
        ErrorLine("", 0, 0, "error", SG8, None, ("sg8",)),
    )
    assert [part.times for part in log_parts(log) if part.message] == [1, 2, 1]
    first, second, third = error_lines(log)
    assert (first.place, first.words) == ("dbl.cl:3", f"in function helper of kernel k2, k1: {NO_DOUBLE}")
    assert (third.place, third.words) == ("", f"in kernel sg8: {SG8}")
    assert second.words == f"in kernel k1: {NO_DOUBLE}"


def test_a_message_that_goes_on_in_the_next_line() -> None:
    log = (
        "\nerror: parsing vISA inline assembly failed:\nnear line 42: syntax error\n\nerror: backend compiler failed build.\n"
        "\nwarning: in kernel 'k': Stack call has been detected.\nSee documentation:\nhttps://x\n\nBuild succeeded.\n"
    )
    assert [(each.severity, each.kernels, each.message) for each in error_lines(log)] == [
        ("error", (), "parsing vISA inline assembly failed: near line 42: syntax error"),
        ("warning", ("k",), "Stack call has been detected."),
    ]
    assert log_parts(log)[1].text[1:] == ("See documentation:", "https://x")
    assert error_lines("error: backend compiler failed build.\n")[0].message == "backend compiler failed build."


def test_notes_belong_to_the_error_before_them_and_a_source_line_is_no_message() -> None:
    log = (
        "In file included from 1:1:\nk.cl:9:10: error: no matching function for call to 'sin'\nwarning: sin(1, 2);\n"
        "         ^~~\n" + "".join(f"h:{line}:2: note: candidate\nfloat sin(float);\n      ^\n" for line in range(27))
    )
    (part,) = log_parts(log)
    assert part.message is not None
    assert (part.message.message, len(part.notes)) == ("no matching function for call to 'sin'", 27)
    assert part.text[:3] == ("In file included from 1:1:", *log.splitlines()[1:3])


@given(
    st.lists(
        st.sampled_from([*LOG.splitlines(), *IGC_1.splitlines(), *IGC_2.splitlines(), "  x", "    ^", "n:1:1: note: n"])
    )
)
def test_the_parts_of_a_log_are_all_of_it(lines: list[str]) -> None:
    count: Counter[str] = Counter()
    for part in log_parts("\n".join(lines)):
        count.update({text: part.times * times for text, times in Counter(part.text).items()})
    assert count == Counter(line for line in lines if line.strip())
