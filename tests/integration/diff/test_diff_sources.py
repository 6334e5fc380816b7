"""``diff`` of folders of sources with a real compiler: its own headers, nothing else, and once for equal inputs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.integration.cli.test_cli import kernlens
from tests.writers.repositories import Repository

SOURCE = '#include "scale.h"\nkernel void scaled(global float *a) { int i = get_global_id(0); a[i] = scale(a[i]); }\n'
HEADER = "inline float scale(float x)\n{\n    return x * 2.0f + native_sin(x);\n}\n"
OTHER = HEADER.replace("2.0f", "3.0f * x")


def compared(*words: str | Path, cwd: Path, status: int, **environment: str) -> Any:
    done = kernlens("diff", *words, "--device", "dg2", "--json", cwd=cwd, **environment)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def test_revisions_are_compiled_with_their_own_headers_and_once(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.commit("First", {"k/a.cl": SOURCE, "include/scale.h": HEADER})
    repository.commit("Second", {"include/scale.h": OTHER})
    cache = tmp_path / "cache"
    words = ("--git", "HEAD~1..HEAD", "--build-options", "-I include")
    document = compared(*words, cwd=repository.folder, status=1, KERNLENS_CACHE=str(cache))
    (kernel,) = document["kernels"]
    assert [(line["path"], line["old_line"]) for line in kernel["lines"] if line["edited"]] == [("include/scale.h", 3)]
    assert kernel["new"]["program"] == "k/a"
    # The same inputs from a folder elsewhere: the compiler is not started again.
    entries = sorted(os.listdir(cache))
    for side, text in (("old", HEADER), ("new", OTHER)):
        for name, content in (("k/a.cl", SOURCE), ("include/scale.h", text)):
            path = tmp_path / side / name
            path.parent.mkdir(parents=True)
            path.write_text(content)
    folders = ("old", "new", "--build-options", "-I include")
    again = compared(*folders, cwd=tmp_path, status=1, KERNLENS_CACHE=str(cache))
    assert again["kernels"] == document["kernels"]
    assert sorted(os.listdir(cache)) == entries


def test_a_source_of_a_revision_reads_nothing_else_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "secret.h").write_text("#define SECRET 1\n")
    repository = Repository(tmp_path / "repository")
    repository.commit("First", {"a.cl": SOURCE.replace("scale.h", "b.h"), "b.h": HEADER})
    stolen = f'#include "{tmp_path}/secret.h"\n#include "../secret.h"\n' + HEADER
    repository.commit("Second", {"b.h": stolen})
    (source,) = compared("--git", "HEAD~1..HEAD", cwd=repository.folder, status=3)["sources"]["compiled"]
    assert source["old_failure"] is None
    assert "file not found" in source["new_failure"] or "secret.h" in source["new_failure"]
    assert str(repository.folder) not in source["new_failure"]


PLAIN = """int far(int x) { return x + 1; }

kernel void one(global int *a) { a[get_global_id(0)] = 7; }

kernel void two(global float *a, global const float *b)
{
  const int i = get_global_id(0);
  a[i] = native_exp(b[i]);
}
"""


def test_each_hunk_is_told_by_what_it_does_alone(tmp_path: Path) -> None:
    """The first hunk is a comment, the second a macro that nothing uses, the third costs, and the fourth is a new kernel."""
    repository = Repository(tmp_path / "repository")
    repository.commit("First", {"k.cl": PLAIN})
    edited = PLAIN.replace("int far", "// far\nint far").replace("kernel void one", "#define UNUSED 3\nkernel void one")
    edited = edited.replace("native_exp(b[i])", "exp(b[i])") + "\nkernel void three(global int *a) { a[0] = 3; }\n"
    repository.commit("Second", {"k.cl": edited})
    document = compared("--git", "HEAD~1..HEAD", cwd=repository.folder, status=1)
    hunks = document["sources"]["hunks"]
    assert [(each["path"], each["line"], each["failure"]) for each in hunks] == [
        ("k.cl", 4, None),
        ("k.cl", 10, None),
        ("k.cl", 12, None),
    ]
    assert [[kernel["name"] for kernel in each["kernels"]] for each in hunks] == [[], ["two"], []]
    (whole,) = document["kernels"]
    assert hunks[1]["kernels"][0]["figures"] == whole["figures"]
    assert [each["kernel"] for each in hunks[2]["only_new"]] == ["three"]
    (new,) = document["only_new"]
    assert {"metric": "spill_bytes", "value": 0} in new["figures"]


def test_a_hunk_that_needs_another_is_left_out_of_the_new_side(tmp_path: Path) -> None:
    """The second hunk calls what the first defines, so that it does not compile alone."""
    repository = Repository(tmp_path / "repository")
    repository.commit("First", {"k.cl": PLAIN})
    slow = "float slow(float x) { return exp(x) + sin(x); }\n"
    edited = PLAIN.replace("int far", f"{slow}int far").replace("native_exp(b[i])", "slow(b[i])")
    repository.commit("Second", {"k.cl": edited})
    document = compared("--git", "HEAD~1..HEAD", cwd=repository.folder, status=1)
    first, second = document["sources"]["hunks"]
    assert (first["left_out"], first["kernels"], first["failure"]) == (False, [], None)
    assert second["left_out"]
    assert [kernel["name"] for kernel in second["kernels"]] == ["two"]
    assert second["kernels"][0]["figures"] == document["kernels"][0]["figures"]


def test_the_hunk_that_breaks_a_source_is_named(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.commit("First", {"k.cl": PLAIN})
    edited = PLAIN.replace("= 7", "= 8").replace("native_exp(b[i])", "undeclared(b[i])")
    repository.commit("Second", {"k.cl": edited})
    document = compared("--git", "HEAD~1..HEAD", cwd=repository.folder, status=3)
    good, broken = document["sources"]["hunks"]
    assert (good["line"], good["failure"]) == (3, None)
    assert (broken["line"], broken["left_out"]) == (8, True)
    assert "undeclared" in broken["failure"]
