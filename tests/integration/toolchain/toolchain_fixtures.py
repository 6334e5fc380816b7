"""Toolchains and small sources for tests that run real compilers and drivers."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.errors import NotFoundError
from kernlens.toolchain.toolchains import NEWEST, Toolchain, toolchain

SCALE = """\
#include "scale.h"
kernel void scale(global float *values, float factor)
{
    size_t i = get_global_id(0);
    values[i] = scaled(values[i], factor);
}
"""
SCALE_HEADER = """\
float scaled(float value, float factor)
{
    for (int i = 0; i < (int)factor; ++i)
        value = native_sin(value) * factor + 1.0f;
    return value;
}
"""


@pytest.fixture(scope="session")
def system() -> Toolchain:
    """Return Debian 12's own compiler and driver; these tests need its packages."""
    return toolchain("system")


@pytest.fixture(scope="session")
def newest() -> Toolchain:
    """Return the newest stack in a root of its own; named in the summary where it cannot be had."""
    try:
        return toolchain(NEWEST)
    except NotFoundError as error:
        pytest.skip(f"no newest toolchain: {error}")


@pytest.fixture(params=["system", NEWEST])
def each(request: pytest.FixtureRequest) -> Toolchain:
    """Return each toolchain in turn."""
    compiler = request.getfixturevalue(request.param)
    assert isinstance(compiler, Toolchain)
    return compiler


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    """Return a source that includes a header from its own folder, whose name has a blank in it."""
    folder = tmp_path / "my kernels"
    folder.mkdir()
    (folder / "scale.h").write_text(SCALE_HEADER)
    source = folder / "scale.cl"
    source.write_text(SCALE)
    return source
