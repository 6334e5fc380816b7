"""stages of a recording that holds no stages: its source is compiled again, and no other file of this machine."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernlens.errors import UnsupportedError
from kernlens.model.build import Build, BuildToolchain, HeldParts, Source
from kernlens.pipeline.second_build_of_recording import toolchain_of
from kernlens.recording.writer import RecordingWriter
from kernlens.toolchain import shown_files
from kernlens.toolchain.sources.recorded_sources import written_sources
from kernlens.toolchain.toolchains import Toolchain
from tests.unit.conftest import Kernlens
from tests.writers.programs import SOURCE


@pytest.fixture
def recording(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> Path:
    """A recording that compile made of a source with an include; the source is gone."""
    folder = tmp_path / "src" / "kernels"
    folder.mkdir(parents=True)
    (folder / "scale.cl").write_text('#include "../common.h"\n' + SOURCE)
    (tmp_path / "src" / "common.h").write_text("// common\n")
    path = tmp_path / "x.klens"
    options = f"-gline-tables-only -DN=3 -I {tmp_path}/src"
    words = ("--device", "skl,icllp", "--build-options", options, "-o", path)
    assert kernlens("compile", folder / "scale.cl", *words).status == 0
    shutil.rmtree(tmp_path / "src")
    compiler.with_name("calls").unlink()
    return path


def test_a_recording_without_stages_is_compiled_again(kernlens: Kernlens, compiler: Path, recording: Path) -> None:
    source = recording.parent / "src/kernels/scale.cl"
    done = kernlens("stages", recording, "--device", "icllp", "--json")
    assert done.status == 0
    assert f"holds no stages: {source} was compiled again for icllp from the recorded source" in done.err
    (pipeline,) = done.document["pipelines"]
    assert (pipeline["source"], pipeline["device"]) == (str(source), "icllp")
    assert pipeline["options"] == f"-gline-tables-only -DN=3 -I {recording.parent}/src"
    assert f"-file {source} " in pipeline["command"]
    assert " -device icllp " in pipeline["command"]
    assert "-gline-tables-only -DN=3" in pipeline["command"]
    assert not compiler.with_name("calls").exists()  # as the compiler cannot write there


def test_where_files_cannot_be_hidden_the_compiler_is_not_asked_for_them(
    kernlens: Kernlens, compiler: Path, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under Landlock ``__has_include`` would tell which files this machine has."""
    answers = {}
    for mechanism in (shown_files.LANDLOCK, shown_files.NAMESPACES):
        with monkeypatch.context() as patch:
            patch.setattr(shown_files, "mechanism", lambda chosen=mechanism: chosen)
            answers[mechanism] = shown_files.questions_answered()
    questions = ("__has_include", "__has_include_next", "__has_embed")
    assert answers[shown_files.LANDLOCK] == tuple(f"-D{question}(x)=0" for question in questions)
    assert answers[shown_files.NAMESPACES] == ()
    # Whichever this machine has.
    monkeypatch.setattr("kernlens.pipeline.second_build_of_recording.questions_answered", lambda: ("-DANSWERED",))
    (pipeline,) = kernlens("stages", recording, "--device", "skl", "--json").document["pipelines"]
    assert "-DANSWERED" in pipeline["command"]


def test_what_the_user_says_counts(kernlens: Kernlens, compiler: Path, recording: Path) -> None:
    done = kernlens("stages", recording, "--build-options", "-DN=4", "--json")
    commands = [pipeline["command"] for pipeline in done.document["pipelines"]]
    assert ["-device skl" in command or "-device icllp" in command for command in commands] == [True, True]
    assert all("-DN=4" in command and "-DN=3" not in command for command in commands)
    assert "there is no toolchain 'old'" in kernlens("stages", recording, "--toolchain", "old").err


def test_without_source_text(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> None:
    source, path = tmp_path / "scale.cl", tmp_path / "x.klens"
    source.write_text(SOURCE)
    kernlens("compile", source, "--device", "skl", "--redact", "source", "-o", path)
    done = kernlens("stages", path)
    assert done.status == 2
    assert "was made without source text" in done.err


def test_a_source_that_was_not_read_is_missed(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> None:
    """Its text is not recorded as empty: the compiler would then see another program."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "scale.cl").write_text('#include "../common.h"\n' + SOURCE)
    (tmp_path / "common.h").write_text("// common\n")
    kernlens("compile", folder / "scale.cl", "--device", "skl", "-o", tmp_path / "x.klens")
    done = kernlens("stages", tmp_path / "x.klens")
    assert done.status == 2
    assert f"does not hold {tmp_path}/common.h, which {folder}/scale.cl includes" in done.err


def test_sources_keep_their_places_and_the_options_follow(tmp_path: Path) -> None:
    sources = (
        Source("/src/kernels/a.cl", '#include "../common.h"\n#include "inc.h"\n#include "/src/absent.h"\n'),
        Source("/src/common.h", "// common\r\n"),
        Source("/opt/include/inc.h", "// inc\n"),
        Source("C:\\windows\\b.h", ""),
    )
    path, options = written_sources(sources, '-g -I "/opt/include" -DA=/etc/passwd -I/with -cl-std=CL2.0', tmp_path)
    assert path == tmp_path / "src/kernels/a.cl"
    assert (path.parent / "../common.h").resolve().read_bytes() == b"// common\r\n"
    assert options == f"-g -I {tmp_path}/opt/include -DA=/etc/passwd -I {tmp_path}/with -cl-std=CL2.0"
    assert (tmp_path / "opt/include/inc.h").read_text() == "// inc\n"


def test_recorded_paths_stay_within_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    for path in ("../../outside.cl", "/../../outside.cl", "..\\..\\outside.cl", "a/../../../outside.cl"):
        written, _ = written_sources((Source(path, "x"),), "", folder)
        assert written == folder / "outside.cl"
    for path in ("", "/", ".."):  # a program that an application built has no path
        written, _ = written_sources((Source(path, "x"),), "", folder)
        assert (written, written.read_text()) == (folder / "program.cl", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


@pytest.mark.parametrize(
    "line",
    [
        '#include "SECRET"',
        "#include <SECRET>",
        "# /* a */ include /* b */ <SECRET>",
        '%:include "SECRET"',
        '#inc\\\nlude "SECRET"',
        '#if 0\n#import "SECRET"\n#endif',
        'char c = \'"\'; // " /*\n#include "SECRET"',
        '#include "beside.h"',
        '#include "../../../../../../../../../../../../../../../../../../../../etc/passwd"',
        "#define F </etc/passwd>\n#include F",
    ],
)
def test_no_other_file_of_the_machine_is_included(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (tmp_path / "beside.h").write_text("secret")
    monkeypatch.chdir(tmp_path)
    source = Source("/src/a.cl", line.replace("SECRET", str(secret)))
    with pytest.raises(UnsupportedError, match=r"not in the recording|that the macro F names"):
        written_sources((source,), "", tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    "options",
    ["-include /etc/passwd", "-imacros x", "@words", "/etc/passwd", "-Xclang -load", "-ftime-trace=/x", "-Wp,-MD,/x"],
)
def test_options_that_name_files_are_refused(options: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="may name a file of this machine"):
        written_sources((Source("/src/a.cl", ""),), options, tmp_path)


def test_the_recorded_toolchain_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    here = [
        Toolchain("system", None, Path("/usr/bin/ocloc"), "22.43", "1.0"),
        Toolchain("newest", Path("/n"), Path("/n/ocloc"), "26.27", "2.40"),
        Toolchain("other", Path("/o"), None, "1.2", "3.4"),
        Toolchain("driver", Path("/d"), Path("/d/ocloc"), "26.27.39122", "2.40.14"),
    ]
    monkeypatch.setattr("kernlens.pipeline.second_build_of_recording.find_toolchains", lambda: tuple(here))
    build = Build("a", parts=HeldParts())
    for recorded, chosen in (
        (BuildToolchain("newest", "26.27", "2.40"), "newest"),
        (BuildToolchain("mine", "26.27", "2.40"), "newest"),
        (BuildToolchain("newest", "25.1", "2.1"), "newest"),
        (BuildToolchain("other", "1.2", "3.4"), "system"),
        (BuildToolchain("opencl driver 26.27.039122"), "driver"),
        (BuildToolchain("level-zero driver 1.3.39122"), "driver"),
        (BuildToolchain("opencl driver 26.27.039123"), "system"),
        (BuildToolchain("opencl driver 1.3.0"), "system"),
        (None, "system"),
    ):
        assert toolchain_of(replace(build, toolchain=recorded)) == chosen


def test_stages_that_are_there_are_not_made_again(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> None:
    from tests.writers.recordings import FULL

    path = tmp_path / "both.klens"
    with RecordingWriter(path) as writer:
        writer.add(FULL)
        writer.add(replace(FULL, name="plain", device="skl", parts=HeldParts(sources=FULL.sources)))
    assert "compiled again" not in kernlens("stages", path).err
    assert not compiler.with_name("calls").exists()
    assert "compiled again for skl" in kernlens("stages", path, "--device", "skl").err
