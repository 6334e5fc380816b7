"""Names of bounds and tolerances, and ``kernlens.toml``: every figure can be bounded, and no misspelt word passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernlens.errors import FormatError, KernlensError, NotFoundError
from kernlens.formats.budget_file import LIMIT, read_budget_file
from kernlens.model.bounds import bound, bound_names, tolerance
from kernlens.model.figures import EVERY_FIGURE
from tests.limits import address_space, processor_time


def test_every_figure_can_be_bounded_by_every_name_and_no_name_is_of_two() -> None:
    names = [name for figure in EVERY_FIGURE for name in figure.all_names]
    assert len(names) == len(set(names))
    assert set(bound_names()) == {f"{word}-{name}" for word in ("max", "min") for name in names}
    assert {"max-spill", "max-code-size", "min-simd", "max-registers", "max-global-loads"} <= set(bound_names())
    for name, (figure, is_least) in bound_names().items():
        result = bound(name.replace("-", "_"), 7)
        assert (result.figure, result.is_least, result.value) == (figure, is_least, 7)
        assert bound(result.name, 7) == result


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("max-spil", 0, "did you mean max-spill"),
        ("spill", 0, "max-spill"),
        ("simd_min", 0, "min-simd"),
        ("max-spill", -1, "a whole number from 0 on, not -1"),
        ("max-spill", 1.5, "not 1.5"),
        ("max-spill", True, "not True"),
        ("max-spill", "0", "not '0'"),
        pytest.param("max-spill", 1 << 99_999, "not a number of more than 18 digits", id="long"),
        ("max-spill", [1 << 99_999], "not an array"),
        ("max-spill", "0" * 999, f"not '{'0' * 79}[.][.][.]$"),
    ],
)
def test_a_bound_that_there_is_not(name: str, value: object, reason: str) -> None:
    with pytest.raises(KernlensError, match=reason):
        bound(name, value)


@pytest.mark.parametrize(
    ("name", "value", "before", "limit", "text"),
    [
        ("spill", 0, 64, 64, "0"),
        ("code-size", "5%", 1001, 1051, "5%"),
        ("code_bytes", "2.5%", 1000, 1025, "2.5%"),
        ("instructions", "10", 3, 13, "10"),
        ("simd", "8", 16, 8, "8"),
        ("simd", "50%", 32, 16, "50%"),
        ("spill", "any", 64, None, "any"),
    ],
)
def test_a_tolerance(name: str, value: object, before: int, limit: int | None, text: str) -> None:
    result = tolerance(name, value)
    bound_before = result.bound(before)
    assert (bound_before.value if bound_before else None, str(result)) == (limit, text)
    if bound_before:
        worse = bound_before.value - 1 if result.figure.more_is_better else bound_before.value + 1
        assert bound_before.allows(bound_before.value)
        assert not bound_before.allows(worse)


@pytest.mark.parametrize(
    ("name", "value"),
    [("spil", 0), ("spill", "-1"), ("spill", "much"), ("spill", "%"), ("spill", True), ("spill", "9" * 400)],
)
def test_a_tolerance_that_is_none(name: str, value: object) -> None:
    with pytest.raises(KernlensError, match=r"did you mean spill|is a number"):
        tolerance(name, value)


GOOD = b"""
[kernel."*"]
max-spill = 0
allow_unknown = true
[kernel."gemm*"]
min_simd = 16
[kernel."gemm*".device.dg2]
max-registers = 256
[tolerance]
code-size = "5%"
spill = 0
"""


def test_a_file() -> None:
    budgets = read_budget_file(GOOD, "here.toml")
    patterns = [
        (rule.pattern, rule.device, [each.name for each in rule.bounds], rule.allows_unknown) for rule in budgets.rules
    ]
    assert patterns == [
        ("*", None, ["max-spill-bytes"], True),
        ("gemm*", None, ["min-simd"], None),
        ("gemm*", "dg2", ["max-grf-count"], None),
    ]
    assert budgets.rules[2].bounds[0].origin == 'here.toml, kernel."gemm*".device.dg2'
    assert [(each.figure.key, str(each)) for each in budgets.tolerances] == [("code_size", "5%"), ("spill_bytes", "0")]


#: Made to cost much, in so many bytes; the last ones are for whoever does not read strings as TOML does.
DEEP: dict[str, Callable[[int], str]] = {
    "a dotted key": lambda size: "kernel" + ".a" * (size // 2) + " = 1",
    "a quoted key": lambda size: "kernel" + '."a"' * (size // 4) + " = 1",
    "a key with spaces": lambda size: "kernel" + " \t. a" * (size // 5) + " = 1",
    "a header": lambda size: "[kernel" + ".a" * (size // 2) + "]",
    "arrays": lambda size: "a = " + "[" * size,
    "tables": lambda size: "a = " + "{a = " * (size // 5),
    "a key of tables": lambda size: "a = {a = {" + "a." * (size // 2) + "a = 1}}",
    "behind a string": lambda size: 'a = [""""x"""", {' + "a." * (size // 2) + "a = 1}]",
    "behind an escape": lambda size: r'a = ["\\", "\"", {' + "a." * (size // 2) + "a = 1}]",
    "behind letters": lambda size: r"a = ['\', '''x''''', {" + "a." * (size // 2) + "a = 1}]",
}


@pytest.mark.parametrize("make", DEEP.values(), ids=DEEP)
def test_a_deep_file_is_refused_before_it_costs_anything(make: Callable[[int], str]) -> None:
    content = make(100_000).encode()
    with processor_time(2), address_space(50 << 20), pytest.raises(FormatError, match="more than 8"):
        read_budget_file(content, "here.toml")


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "[{}.a.b.c.d.e.f.g]\n",
        "{}.a.b.c.d.e.f.g=1\n",
        "[{}]\n",
        "[[{}]]\n",
        '"{}\\u0041"=1\n',
        '"""{}""',
        "'''{}''",
        '"',
    ],
)
def test_no_file_costs_much(piece: str) -> None:
    content = "".join(map(piece.format, range(LIMIT // len(piece)))).encode()[:LIMIT]
    with processor_time(10), address_space(200 << 20), pytest.raises(KernlensError):
        read_budget_file(content, "here.toml")


def test_what_looks_deep_in_strings_and_comments_is_not() -> None:
    deep = ".".join("abcdefghijkl") + "[" * 20
    tables = [f'[kernel."{deep}"]', f"[kernel.'x{deep}'] # {deep}", f'[kernel."\\"{deep}"]']
    budgets = read_budget_file("\n".join(f"{table}\nmax-spill = 0" for table in tables).encode(), "here.toml")
    assert [rule.pattern for rule in budgets.rules] == [deep, f"x{deep}", f'"{deep}']


@pytest.mark.parametrize(
    ("content", "error", "reason"),
    [
        ("[kernels]\n", NotFoundError, "no key 'kernels'; did you mean kernel"),
        (
            '[kernel."*"]\nmax-spil = 0\n',
            NotFoundError,
            r'kernel."\*": there is no key \'max-spil\'; did you mean max-spill',
        ),
        ('[kernel."*"]\ndevices.dg2.max-spill = 0\n', NotFoundError, "did you mean device"),
        ('[kernel."*".device.dg2]\nmax-spil = 0\n', NotFoundError, r"device.dg2: there is no key"),
        ('[kernel."*".device.dg2.device.skl]\nmax-spill = 0\n', NotFoundError, "no key 'device'"),
        ('[kernel."*"]\nmax-spill = "0"\n', KernlensError, "whole number"),
        ('[kernel."*"]\nallow-unknown = 1\n', KernlensError, "true or false"),
        ("[kernel]\nmax-spill = 0\n", KernlensError, "this is a table"),
        ("kernel = 3\n", KernlensError, "this is a table"),
        ("[tolerance]\nspil = 0\n", NotFoundError, "did you mean spill"),
        ("[tolerance]\nspill = [1]\n", KernlensError, "is a number"),
        ("[kernel\n", FormatError, "here.toml: invalid TOML: "),
        ("\xff", FormatError, "here.toml: invalid TOML: "),
        ("a = " + "[" * 5000, FormatError, "line 1: more than 8 arrays and tables are in one another"),
        ("\n\nkernel = " + "{a = " * 9, FormatError, "line 3: more than 8 arrays"),
        ("\n" + ".".join("abcdefghi") + " = 1", FormatError, "line 2: a key has more than 8 parts"),
        ("#" * (256 << 10) + "\n", FormatError, "larger than 256 KB"),
        ("a = " + "9" * 5000, FormatError, "here.toml: invalid TOML: "),
        ('[kernel."*"]\nmax-spill = 0x1' + "0" * 5000, KernlensError, "whole number"),
        ("[tolerance]\nspill = 0x1" + "0" * 5000, KernlensError, "is a number"),
        ("a" * 99_999 + " = 1", NotFoundError, r"no key 'a{79}[.][.][.]; there are"),
    ],
)
def test_a_file_that_is_wrong(content: str, error: type[KernlensError], reason: str) -> None:
    with pytest.raises(error, match=reason) as raised:
        read_budget_file(content.encode("latin-1"), "here.toml")
    assert str(raised.value).startswith("here.toml")


def test_tables_of_sources() -> None:
    content = """
    [source."*.cl"]
    options = "-w -cl-std=CL2.0"
    include = "inc"
    define = { A = 1, B = [0x10, "x y", 1.5, 16], C = true, D = false }
    [source."b*"]
    options = ["-w", "-D NAME=a b"]
    include = ["a", "b"]
    """
    first, second = read_budget_file(content.encode(), "here.toml").sources
    assert (first.pattern, first.options, first.include, first.origin) == (
        "*.cl",
        "-w -cl-std=CL2.0",
        ("inc",),
        'here.toml, source."*.cl"',
    )
    assert first.macros == {"A": ("1",), "B": ("16", "x y", "1.5"), "C": ("",), "D": ()}
    assert (second.options, second.include, second.macros) == (("-w", "-D NAME=a b"), ("a", "b"), {})


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("option = 1", r'here.toml, source."\*": there is no key .option.; did you mean options'),
        ("options = 1", "options is a text or an array of texts, not 1"),
        ("options = [1]", "options is a text or an array of texts, not an array"),
        ('options = "-w \\n -w"', "options is a text as for --build-options"),
        ("options = '-I \"a'", "options is a text as for --build-options"),
        ("options = ['-D\"a\"']", "an array of words without quotes"),
        ("include = {}", "include is a text or an array of texts, not a table"),
        ("include = ['']", "include holds folders, and '' is none"),
        ("include = ['a\"b']", "include holds folders"),
        ("define = ['A']", "this is a table, not an array"),
        ("define = { 'A B' = 1 }", "'A B' is no name of a macro"),
        ("define = { A = [] }", "define.A: the array is empty"),
        ("define = { A = [true] }", "a value is a number or a text without quotes, and not True"),
        ("define = { A = nan }", "not nan"),
        ("define = { A = '' }", "not ''"),
        ('define = { A = "1\\u0007" }', "a value is a number or a text"),
        ("define = { A = 1979-05-27 }", "a value is a number or a text"),
        (f"define = {{ A = 0x{'f' * 5000} }}", "not a number of more than 18 digits"),
    ],
)
def test_tables_of_sources_that_are_none(table: str, reason: str) -> None:
    with pytest.raises(KernlensError, match=reason):
        read_budget_file(f'[source."*"]\n{table}'.encode(), "here.toml")
