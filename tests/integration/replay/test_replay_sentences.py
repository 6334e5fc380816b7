"""What ``replay`` says where there is no launch, or where a source includes files, and ``recording redact`` of launches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.dataclass import replace
from kernlens.verbs.replay.replay import replay
from tests.integration.replay.test_replay import kernlens
from tests.writers.kept_launches import WRITE_ONLY, Keeper, record_launches

pytestmark = pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="no PoCL")


def test_a_recording_without_launches_is_a_sentence(tmp_path: Path) -> None:
    path = record_launches(tmp_path / "none.klens", Keeper("kernel void k() { }").build)
    assert kernlens(path, "--list") == f"{path} keeps no launches; kernlens capture --launch KERNEL -- APP keeps them\n"
    assert kernlens(path, "--list", "--json")["kept"] == []


def test_what_a_source_includes_on_another_device(tmp_path: Path) -> None:
    """The recording lacks the file; the sentence names a cure, and it is one."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/by.h").write_text("#define BY 3\n")
    source = '#include "by.h"\nkernel void k(global int *out) { out[get_global_id(0)] = BY; }\n'
    keeper = Keeper(source, f"-I {tmp_path}/own")
    launch = keeper.launch("k", [[bytes(64), WRITE_ONLY]], [16])
    path = record_launches(tmp_path / "a.klens", replace(keeper.build, device="another"), launch)
    text = kernlens(path, status=3)
    assert "the source includes files that the recording does not hold: on the machine that has them," in text
    assert replay(path, runs=0, unconfined=True)[0].is_equal


def test_redaction_says_that_launches_go(tmp_path: Path) -> None:
    keeper = Keeper("kernel void k(global int *out) { out[get_global_id(0)] = 1; }")
    path = record_launches(tmp_path / "a.klens", keeper.build, keeper.launch("k", [[bytes(64), WRITE_ONLY]], [16]))
    command = [sys.executable, "-m", "kernlens", "recording", "redact", "--source", str(path)]
    first = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "left out too: 1 kept launch with 64 bytes of memory\n" in first
    assert "left out too" not in subprocess.run(command, capture_output=True, text=True, check=True).stdout
