"""The pytest plugin: what a mark checks, what it says, and that projects without budgets do not notice it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import kernlens.isa.intel.decode  # Loaded before: a run of pytester forgets what is imported in it.
import kernlens.verbs.check
import kernlens.verbs.compile  # noqa: F401
from tests.tree import ROOT
from tests.writers.programs import SOURCE

pytest_plugins = ["pytester"]
#: Plugins of this environment; those of others take a second to load in each process.
INSTALLED = {point.name for point in entry_points(group="pytest11")}
OTHERS = [word for name in INSTALLED - {"kernlens", "xdist"} for word in ("-p", f"no:{name}")]


@pytest.fixture
def run(pytester: pytest.Pytester, compiler: Path) -> Callable[..., pytest.RunResult]:
    """Runs pytest in this process on a test module, beside a source whose kernels ``scale`` and ``plain`` have 3 instructions
    each of SIMD16."""
    pytester.path.joinpath("scale.cl").write_text(SOURCE)
    plugin = () if "kernlens" in INSTALLED else ("-p", "kernlens.pytest_plugin")

    def run(text: str, *words: str) -> pytest.RunResult:
        pytester.makepyfile(f"import pytest\nbudget = pytest.mark.kernel_budget\n{text}")
        return pytester.runpytest_inprocess(*plugin, *OTHERS, "--strict-markers", *words)

    return run


BODY = """\
def test_scale(kernlens_compile):
    (program,) = kernlens_compile("scale.cl", "skl")
    assert list(program.kernels.keys()) == ["scale", "plain"]
"""


def test_a_mark_that_is_kept(run: Callable[..., pytest.RunResult]) -> None:
    run(f'@budget(max_spill=0, min_simd=16)\n@budget(max_instructions=3, kernel="sca*")\n{BODY}').assert_outcomes(
        passed=1
    )


def test_a_mark_that_is_not_kept_says_what_check_says(run: Callable[..., pytest.RunResult]) -> None:
    result = run(f'@budget(max_instructions=2, kernel="scale")\n{BODY}')
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "scale  scale on skl (9.0.9) by system",
            "  max-instructions: instructions 3, at most 2 (kernel_budget)",
            "    scale.cl:2 | int id = get_global_id(0);",
            "      2 of 3 instructions (perhaps of no line)",
            "*1 kernel, 0 unread, 1 bound checked: 1 not kept",
        ]
    )
    assert "pytest_plugin.py" not in result.stdout.str()


def test_a_test_that_fails_itself_says_why(run: Callable[..., pytest.RunResult]) -> None:
    result = run(f"@budget(max_instructions=2)\n{BODY}    assert program.name == 'other'\n")
    result.assert_outcomes(failed=1)
    assert "at most 2" not in result.stdout.str()


@pytest.mark.parametrize(
    ("mark", "reason", "outcome"),
    [
        ("max_spil=0", "there is no limit 'max_spil'; did you mean max-spill", "errors"),
        ("max_spill='0'", "takes a whole number", "errors"),
        ("", "kernel_budget takes bounds by their names", "errors"),
        ("'scale', max_spill=0", "kernel_budget takes bounds by their names", "errors"),
        ("max_spill=0, device='gd2'", "gd2", "errors"),
        ("max_spill=0, kernel='gem*'", "kernel_budget: there is no kernel 'gem*'", "failed"),
        ("max_spill=0, kernel=['scale', 'x']", "there is no kernel 'x'", "failed"),
        ("max_spill=0, device='dg2'", "there are no limits to check", "failed"),
    ],
)
def test_a_mark_that_checks_nothing_does_not_pass(
    mark: str, reason: str, outcome: str, run: Callable[..., pytest.RunResult]
) -> None:
    result = run(f"@budget({mark})\n{BODY}")
    result.assert_outcomes(**{outcome: 1})
    assert reason in result.stdout.str()
    assert "During handling" not in result.stdout.str()
    assert "KernlensError" not in result.stdout.str()


def test_a_marked_test_without_programs_does_not_pass(run: Callable[..., pytest.RunResult]) -> None:
    result = run("@budget(max_spill=0)\ndef test_nothing():\n    pass\n")
    result.assert_outcomes(failed=1)
    assert "the test has made no program" in result.stdout.str()


def test_a_source_that_does_not_compile_ends_in_the_line_of_the_test(run: Callable[..., pytest.RunResult]) -> None:
    text = """\
from kernlens.errors import ToolError
def test_broken(kernlens_compile):
    with open("broken.cl", "w") as file:
        file.write("broken")
    kernlens_compile("broken.cl", "skl")
def test_the_error_is_the_one_of_python(kernlens_compile):
    with pytest.raises(ToolError):
        kernlens_compile("broken.cl", "skl")
"""
    result = run(text)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([">*kernlens_compile(?broken.cl?, ?skl?)", "E *broken.cl*it is broken*"])
    for within in ("During handling", "direct cause", "pytest_plugin.py", "verbs/compile.py"):
        assert within not in result.stdout.str()


def test_the_nearest_mark_goes_before_the_others(run: Callable[..., pytest.RunResult]) -> None:
    text = f"pytestmark = budget(max_instructions=2)\n@budget(max_instructions=3)\n{BODY}"
    run(f"{text}{BODY.replace('test_scale', 'test_other')}").assert_outcomes(passed=1, failed=1)


def test_what_one_test_made_is_not_the_next_one_s(run: Callable[..., pytest.RunResult]) -> None:
    text = f"@budget(max_instructions=2)\n{BODY}@budget(max_spill=0)\ndef test_nothing():\n    pass\n"
    run(text).assert_outcomes(failed=2)


# As pytest itself finds it


@pytest.fixture
def project(pytester: pytest.Pytester, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project in whose environment kernlens is installed: a distribution with the entry points of pyproject.toml."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    installed = pytester.path / "installed" / "kernlens_points-1.dist-info"
    installed.mkdir(parents=True)
    installed.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: kernlens-points\nVersion: 1\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in of.items()) for group, of in points.items()
    ]
    installed.joinpath("entry_points.txt").write_text("\n".join(lines))
    monkeypatch.setenv("PYTHONPATH", f"{installed.parent}:{ROOT / 'src'}")
    pytester.path.joinpath("scale.cl").write_text(SOURCE)
    return pytester


PLAIN = "def test_plain():\n    pass\n"
LOADED = (
    "import sys\n"
    "def test_nothing_else_was_loaded(request):\n"
    "    assert request.config.pluginmanager.hasplugin('kernlens')\n"
    "    loaded = {name for name in sys.modules if name.split('.')[0] in ('kernlens', 'click', 'rich', 'orjson')}\n"
    "    assert loaded <= {'kernlens', 'kernlens.pytest_plugin'}, loaded\n"
)


@pytest.mark.slow
def test_a_project_without_budgets_does_not_notice_it(project: pytest.Pytester) -> None:
    project.makepyfile(test_plain=PLAIN, test_loaded=LOADED)
    project.runpytest_subprocess(*OTHERS, "-W", "error").assert_outcomes(passed=2)
    result = project.runpytest_subprocess(*OTHERS, "-W", "error", "-p", "no:kernlens", "test_plain.py")
    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_marks_are_checked_by_the_processes_of_xdist(project: pytest.Pytester) -> None:
    project.makepyfile(
        f"import pytest\n@pytest.mark.parametrize('number', range(3))\n@pytest.mark.kernel_budget(max_slm=0)\n"
        f"{BODY.replace('kernlens_compile', 'kernlens_compile, number', 1)}"
        "@pytest.mark.kernel_budget(max_slm=0)\ndef test_nothing():\n    pass\n"
    )
    result = project.runpytest_subprocess(*OTHERS, "-n", "2", "--strict-markers")
    result.assert_outcomes(passed=3, failed=1)
    assert "the test has made no program" in result.stdout.str()


def test_the_mark_explains_itself(run: Callable[..., pytest.RunResult]) -> None:
    run("", "--markers").stdout.fnmatch_lines(["@pytest.mark.kernel_budget(max_FIGURE=N, *"])
