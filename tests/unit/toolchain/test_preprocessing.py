"""Which files a source includes: conditions decide where they can be worked out."""

from __future__ import annotations

import pytest

from kernlens.toolchain.sources.preprocessing import Macros, included_names
from tests.limits import processor_time


def included(text: str, *options: str) -> list[str]:
    return list(included_names(text, Macros(options)))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("#if 0", False),
        ("#if 1", True),
        ("#if WIDTH == 4 && !defined(OFF)", True),
        ("#if WIDTH > 0x10 || (WIDTH & 3)", False),
        ("#if TWICE == 8", True),
        ("#ifdef WIDTH", True),
        ("#ifndef WIDTH", False),
        ("#ifdef NOBODY_DEFINES_IT", False),
        ("#if NOBODY_DEFINES_IT", False),
        ("#if defined NOBODY_DEFINES_IT", False),
        # What only the compiler knows may be true.
        ("#ifdef cl_khr_fp64", True),
        ("#if __OPENCL_VERSION__ >= 200", True),
        ("#if FUNCTION(3) == 1", True),
        ("#if ((((", True),
        ("#if 1/0", True),
        ("#if " + "(" * 400 + "0" + ")" * 400, True),
    ],
)
def test_conditions_decide_what_is_included(condition: str, expected: bool) -> None:
    text = f'#define TWICE (2 * WIDTH)\n#define FUNCTION(x) x\n{condition}\n#include "a.h"\n#endif\n#include <b.h>\n'
    assert included(text, "-DWIDTH=4", "-D", "UNUSED") == (["a.h", "b.h"] if expected else ["b.h"])


def test_branches_that_are_never_taken_include_nothing() -> None:
    text = """
#if 0
#include "no.h"
# if 1
#  include "no.h"
# else
#  include "no.h"
# endif
#elif defined(A)
#include "a.h"
#elif 1
#include "no.h"
#else
#include "no.h"
#endif
#if UNKNOWN_TO_ALL(1)
#include "perhaps.h"
#define B
#else
#include "or.h"
#endif
#ifdef B
#include "b.h"
#endif
// #include "comment.h"
/* #include "comment.h"
#include "comment.h" */
  #  include \\
  "continued.h"
"""
    assert included(text, "-D", "A") == ["a.h", "perhaps.h", "or.h", "b.h", "continued.h"]


def test_a_file_that_was_not_read_may_define_anything() -> None:
    macros = Macros()
    names = included_names(
        '#ifdef X\n#include "x.h"\n#endif\n#include "gone.h"\n#ifdef X\n#include "x.h"\n#endif\n', macros
    )
    assert next(names) == "gone.h"
    macros.are_open = True
    assert list(names) == ["x.h"]


def test_what_begins_a_comment() -> None:
    """A comment mark in a text is none; a text that is not closed ends with its line."""
    for before in ('x = "/*";', "x = '\"'; y = '/*';", "#error don't /*", 'no "end /*', r'"\"/*"'):
        assert included(f'{before}\n#include "a.h"\n') == ["a.h"], before
    for before in ('x = "";', "x = '\"';", '"\\\\"', "/"):
        assert included(f'{before} /*\n#include "no.h"\n*/\n#include "a.h"\n') == ["a.h"], before


@pytest.mark.slow
def test_hostile_texts_take_no_time() -> None:
    """Each is worked out in steps that grow with the text: a few thousand lines must not take millions."""
    doubling = (
        "".join(f"#define A{n} A{n + 1} + A{n + 1}\n" for n in range(60)) + "#if A0\n#include <x>\n#endif\n" * 200
    )
    assert included(doubling) == ["x"] * 200
    nested = "#if 1\n" * 50_000 + "#define X\n" * 50_000 + "#endif\n" * 50_000
    assert included(nested + "#ifdef X\n#include <x>\n#endif\n") == ["x"]
    assert included("/*" * 200_000) == []
    assert included('#if "' + "\\" * 200_000 + "\n") == []
    with processor_time():
        assert included('"' + '\\"' * 200_000 + "\n#include <x>\n") == ["x"]


def test_no_condition_is_worked_out_without_bounds() -> None:
    """Beyond them it is unknown, and all its branches count."""
    every = Macros(["-DY=1"])
    assert every.is_true("+".join(["Y"] * 199)) is True
    assert every.is_true("+".join(["Y"] * 201)) is None, "more macros than are expanded"
    assert Macros(["-DX=" + "+".join("1" * 500)]).is_true("X") is True
    assert Macros(["-DX=" + "+".join("1" * 501)]).is_true("X") is None, "a longer replacement"
    assert every.is_true("+".join("1" * 501)) is None, "a longer condition"


def test_a_header_that_a_macro_names() -> None:
    assert included('#define A B\n#define B "b.h"\n#include A\n') == ["b.h"]
    assert included("#include CONFIG\n", '-DCONFIG="c.h"') == ["c.h"]
    assert included("#include UNKNOWN\n#define F(x) x\n#include F\n#define C C\n#include C\n") == []
