"""Modules that give to and take from each other, as SPIR-V and as zebins of the newest compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.toolchain.clang import compile_library, device_options
from kernlens.toolchain.ocloc import compile_source
from kernlens.toolchain.toolchains import NEWEST, toolchain

DEVICES = ("bmg", "pvc")

SOURCES = {
    "kernels": """\
float helper(float x);
extern global int counter;
int middle(int x);
kernel void use(global float *out) { out[get_global_id(0)] = helper(out[1]) + counter; }
kernel void use_too(global float *out) { out[0] = helper(out[1]) * helper(out[3]) + middle(out[4]); }
""",
    "library": """\
global int counter = 7;
constant int table[4] = {1, 2, 3, 4};
static global int private_state = 3;
float helper(float x) { return x * 2.0f + (float)get_local_id(0) + private_state++; }
int other(int a, int b) { return a % b + table[a & 3]; }
kernel void own(global float *out) { out[get_global_id(0)] = helper(out[0]); counter += 1; printf("one %d\\n", counter); }
""",
    "between": """\
int other(int a, int b);
global int zeros[100];
global char odd[3] = {1, 2, 3};
static global int private_state = 4;
constant char *text = "hello";
global int *global pointers[2] = {zeros, zeros + 5};
int middle(int x) { zeros[x & 7]++; return other(x, 3) + odd[x & 1] + *pointers[x & 1] + text[0] + private_state++; }
kernel void print(global int *out) { out[0] = middle(out[1]); printf("two %d\\n", out[0]); }
""",
    "taken": """\
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
global long large[3];
float twice(float x) { return 2 * x; }
float thrice(float x) { large[1]++; return 3 * x; }
kernel void choose(global float *out, int which) { float (*f)(float) = which ? twice : thrice; out[0] = f(out[1]); }
""",
}


@pytest.fixture(scope="session")
def spirv_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("library")
    files = {}
    for name, text in SOURCES.items():
        source = folder / f"{name}.cl"
        source.write_text(text)
        files[name] = folder / f"{name}.spv"
        files[name].write_bytes(compile_library(source).spirv)
    return files


@pytest.fixture(scope="session")
def zebins(
    spirv_files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, newest_root: Path
) -> dict[str, dict[str, Path]]:
    """Return by device and module its zebin, made by the newest compiler."""
    folder = tmp_path_factory.mktemp("zebins")
    by_device: dict[str, dict[str, Path]] = {}
    for device in DEVICES:
        for name, path in spirv_files.items():
            result = compile_source(path, device, device_options(""), toolchain(NEWEST))
            assert result.ok, result.log
            output = folder / f"{name}.{device}.bin"
            output.write_bytes(result.binary)
            by_device.setdefault(device, {})[name] = output
    return by_device
