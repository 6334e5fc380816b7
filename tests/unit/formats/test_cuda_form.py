"""The form of OpenCL's PTX for CUDA: ``tests/data/nvidia/kinds.ptx`` is what NVIDIA's OpenCL driver 580.159.04 made of
``kinds.cl`` with -cl-std=CL3.0 -nv-line-info on an H100."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.formats.ptx.cuda_form import CudaForm, LaunchValues, cuda_form, required_local_size
from kernlens.formats.ptx.ptx_text import PtxModule, read_ptx
from tests.limits import processor_time
from tests.nvidia_files import FOLDER, opencl

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
#: Sizes, offset, and bytes of every argument, whatever it is.
BYTES = dict.fromkeys(range(9), 1000)
VALUES = LaunchValues((64, 12, 6), (16, 3, 2), (100, 20, 3), BYTES, BYTES)


def module(content: bytes = b"") -> PtxModule:
    return read_ptx(memoryview(content or (FOLDER / "kinds.ptx").read_bytes()))


def body(form: CudaForm, pattern: str) -> list[str]:
    """Return the statements of a form in which a pattern is found."""
    return [line.strip() for line in form.text.split("\n") if re.search(pattern, line)]


def test_environment_registers_become_the_values_of_the_launch() -> None:
    ptx = module()
    entry = next(each for each in ptx.entries if each.name == "where")
    text = "\n".join(ptx.lines[entry.first : entry.last])
    registers = dict(re.findall(r"mov\.b32\s+(%r\d+), (%envreg\d+);", text))
    form = cuda_form(ptx, "where", VALUES)
    told = dict(re.findall(r"mov\.b32\s+(%r\d+), (\d+);", form.text))
    expected = {
        **dict.fromkeys(["%envreg0", "%envreg1", "%envreg2"], "0"),
        **{"%envreg3": "100", "%envreg4": "20", "%envreg5": "3"},
        **{"%envreg6": "4", "%envreg7": "4", "%envreg8": "3", "%envreg9": "3"},
    }
    assert {registers[name]: told.get(name) for name in registers} == {
        name: value for name, value in expected.items() if name in registers.values()
    }
    assert set(registers.values()) == set(expected)
    assert "%envreg" not in form.text
    flat = cuda_form(ptx, "where", LaunchValues((4096,), (256,), (0,), {}, {}))
    assert {int(each) for each in re.findall(r"mov\.b32\s+%r\d+, (\d+);", flat.text)} == {0, 1, 16}


def test_local_memory_of_arguments_is_laid_out_one_after_the_other() -> None:
    form = cuda_form(module(), "with_local", LaunchValues((64,), (64,), (0,), {2: 260, 3: 512, 4: 256}, {}))
    assert body(form, "kernlens_shared")[0].startswith(
        ".extern .shared .align 128 .b8 kernlens_shared[]; .entry with_local("
    )
    assert [line.split()[-1] for line in body(form, "mov.u64.*kernlens_shared")] == [
        "kernlens_shared+0;", "kernlens_shared+272;", "kernlens_shared+784;",
    ]  # fmt: skip
    assert (form.shared, form.parameters, form.constants) == (1040, (8,) * 5, {})
    assert ".ptr" not in form.text[form.text.index(".entry with_local") :].partition("{")[0]


@pytest.mark.parametrize(
    ("kernel", "offset", "is_needed"),
    [("structs", 0, False), ("structs", 8, True), ("where", 0, True), ("with_const", 0, True), ("with_local", 0, True)],
)
def test_machine_code_that_reads_an_offset_of_0_alone_needs_no_form(kernel: str, offset: int, is_needed: bool) -> None:
    values = LaunchValues((64,), (64,), (offset,), BYTES, BYTES)
    assert cuda_form(module(), kernel, values).is_needed is is_needed


def test_constant_buffers_become_variables() -> None:
    form = cuda_form(module(), "with_const", LaunchValues((64,), (64,), (0,), {}, {0: 64, 1: 256, 2: 32}))
    assert form.constants == {0: "kernlens_constant_0", 2: "kernlens_constant_2"}
    assert (
        ".const .align 128 .b8 kernlens_constant_0[64]; .const .align 128 .b8 kernlens_constant_2[32]; .entry"
        in form.text
    )
    assert len(body(form, "mov.u64.*kernlens_constant_[02]")) == 2
    with pytest.raises(UnsupportedError, match="constant buffers of 65,600 bytes: CUDA has room for 65,536"):
        cuda_form(module(), "with_const", LaunchValues((64,), (64,), (0,), {}, {0: 65536, 2: 64}))


def test_lines_stay_where_they_are_and_other_kernels_go() -> None:
    ptx = module()
    entry = next(each for each in ptx.entries if each.name == "calls")
    form = cuda_form(ptx, "calls", VALUES)
    lines = form.text.split("\n")
    assert [lines[number].strip() for number in (entry.last - 1, entry.last - 2)] == ["}", ""]
    assert [each.name for each in module(form.text.encode()).entries] == ["calls"]
    # What a kernel calls stays, and what only images need goes.
    assert "helper" in {each.name for each in module(form.text.encode()).functions}
    references = HEAD + ".global .samplerref s = {\n force_unnormalized_coords = 1 };\n.entry k()\n{\nret;\n}\n"
    assert cuda_form(module(references.encode()), "k", VALUES).text.rstrip("\n").split("\n")[3:] == [
        "", "", ".entry k()", "{", "ret;", "}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "text", "reason"),
    [
        ("image", None, "argument 0 is an image"),
        ("k", ".entry k(\n.param .samplerref k_param_0\n)\n{\nret;\n}\n", "argument 0 is a sampler"),
        ("k", ".entry k()\n{\nmov.b32 %r1, %envreg10;\n}\n", "%envreg10 is not known"),
        ("k", ".entry k()\n{\nmov.b32 %r1, %envreg99999999999999999999;\n}\n", "%envreg999999999 is not known"),
        (
            "k",
            ".entry k(\n.param .u64 .ptr .shared .align 4 k_param_0\n)\n{\nld.param.v2.u32 {%r1, %r2}, [k_param_0];\n}\n",
            "argument 0 is read in a way that is not known",
        ),
    ],
)
def test_what_cuda_cannot_run_is_refused(kernel: str, text: str | None, reason: str) -> None:
    ptx = module() if text is None else module((HEAD + text).encode())
    with pytest.raises(UnsupportedError) as caught:
        cuda_form(ptx, kernel, VALUES)
    assert str(caught.value) == reason


def test_sizes_that_registers_cannot_hold_and_missing_kernels_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"%envreg3 would be 4,294,967,296, which has more than 32 bits"):
        cuda_form(module(), "with_both", LaunchValues((64,), (64,), (1 << 32,), BYTES, {}))
    with pytest.raises(UnsupportedError, match="argument 2 is local memory, and the launch gave it none"):
        cuda_form(module(), "with_both", LaunchValues((64,), (64,), (0,), {}, {}))
    with pytest.raises(UnsupportedError, match="more than any GPU has"):
        cuda_form(module(), "with_both", LaunchValues((64,), (64,), (0,), {2: 1 << 40}, {}))
    with pytest.raises(NotFoundError, match="the PTX has no kernel other; it has: with_const, with_local"):
        cuda_form(module(), "other", VALUES)


def test_a_demanded_local_size_is_read() -> None:
    text = HEAD + ".entry k(\n.param .u32 k_param_0\n)\n.reqntid 16, 4, 1\n{\nret;\n}\n"
    assert required_local_size(module(text.encode()), "k") == (16, 4, 1)
    assert required_local_size(module(), "where") is None


def test_many_parameters_and_registers_take_no_longer_for_each() -> None:
    count = 2000
    text = HEAD + ".entry k(\n" + ",\n".join(f".param .u64 .ptr .shared .align 4 p{number}" for number in range(count))
    text += ")\n{\n" + "mov.b32 %r1, %envreg3;\n" * 50_000 + "}\n"
    with processor_time(20):
        form = cuda_form(module(text.encode()), "k", LaunchValues((8,), (8,), (0,), dict.fromkeys(range(count), 4), {}))
    assert form.shared == 16 * (count - 1) + 4


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas")
@pytest.mark.parametrize("name", ["kinds.ptx", "program.ptx", "program_with_nv_line_info.ptx"])
def test_nvidias_assembler_takes_the_form(name: str, tmp_path: Path) -> None:
    ptx = module((FOLDER / name).read_bytes() if name == "kinds.ptx" else opencl(name))
    assembled = []
    for entry in ptx.entries:
        try:
            form = cuda_form(ptx, entry.name, VALUES)
        except UnsupportedError:
            continue
        # The assembler of CUDA 12 takes PTX up to 8.8.
        (tmp_path / "form.ptx").write_text(re.sub(r"\.version 9\.\d", ".version 8.0", form.text))
        words = ["ptxas", "-arch=sm_90", "-lineinfo", "form.ptx", "-o", "form.cubin"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{entry.name}: {done.stderr}"
        assembled.append(entry.name)
    assert len(assembled) == len(ptx.entries) - (name == "kinds.ptx")
