"""What ``check --baseline`` names of an edit: regressions that ``tests.corpus.regressions`` put into real kernels, in small."""

from __future__ import annotations

from pathlib import Path

from tests.warm_commands import kernlens

COPY = """kernel void copy(global float4 *a, const global float4 *b, float c) {
    int i = get_global_id(0);
    a[i] = b[i] * c;
}
"""
OTHER = """kernel void other(global float *a) {
    a[get_global_id(0)] = pow(a[get_global_id(0)], 0.3f);
}
"""


def checked(folder: Path, old: str, new: str, status: int, *words: str) -> str:
    source, baseline = folder / "edited.cl", folder / "base.klens"
    source.write_text(old)
    assert kernlens("compile", source, "--device", "dg2", "-o", baseline).returncode == 0
    source.write_text(new)
    done = kernlens("check", source, "--device", "dg2", "--baseline", baseline, *words)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_a_line_of_a_new_kernel_is_no_cause_in_another(tmp_path: Path) -> None:
    """The built-in function of ``other`` has the compiler lay out the arguments of both: ``copy`` grows by 16 bytes."""
    words = checked(tmp_path, COPY, COPY + OTHER, 1, "--fail-on-new")
    assert (
        "no line has more instructions than in the baseline, and edited.cl:5, which was edited, is of other\n" in words
    )
    assert "new, not in the baseline: other" in words
