"""The empty caches of an application that is captured, so that it builds from source, and what is changed of its builds is not
what its next run finds."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

#: Variables that say where a driver, a compiler or a library keeps what was built, and the folder each gets. What keeps it
#: in the user's cache folder follows the first: NEO, PoCL, OpenCV, darktable, pyopencl, Mesa, hashcat, SYCL.
_CACHES = {
    "XDG_CACHE_HOME": "user",
    "NEO_CACHE_DIR": "neo",
    "POCL_CACHE_DIR": "pocl",
    "OPENCV_OPENCL_CACHE_DIR": "opencv",
    "SYCL_CACHE_DIR": "sycl",
    "ACPP_APPDB_DIR": "acpp",
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "torchinductor",
    "GGML_OPENCL_KERNEL_CACHE_DIR": "ggml",
    "AF_JIT_KERNEL_CACHE_DIRECTORY": "arrayfire",
    "CUDA_CACHE_PATH": "cuda",
    "CUPY_CACHE_DIR": "cupy",
    "AMD_COMGR_CACHE_DIR": "comgr",
    "MIOPEN_CUSTOM_CACHE_DIR": "miopen",
    "MESA_SHADER_CACHE_DIR": "mesa",
}
#: Those whose library keeps nothing, or in the user's cache folder, unless they are set.
_CACHES_IF_SET = {
    "CLFFT_CACHE_PATH": "clfft",
    "VIENNACL_CACHE_PATH": "viennacl/",
    "MAGICK_OPENCL_CACHE_DIR": "magick",
    "JAX_COMPILATION_CACHE_DIR": "jax",
}
#: Those of NEO before 23.x, which keeps nothing unless the folder is there: one of this name, or the one that is set.
_CACHES_IF_THERE = {"cl_cache_dir": "cl_cache", "l0_cache_dir": "l0_cache"}
#: The names of all of them.
CACHE_VARIABLES = (*_CACHES, *_CACHES_IF_SET, *_CACHES_IF_THERE)
#: The name of the folder that they are in, in the capture's.
_FOLDER = "caches"
#: Names of the recorder's files.
_RECORDERS = re.compile(r"[0-9a-f]{16}-\d{10}\.[a-z]+")


def cache_folder(spool: Path) -> str:
    """Return the folder of the empty caches of a capture that writes to the folder ``spool``."""
    return f"{spool}/{_FOLDER}"


def empty_caches(environment: Mapping[str, str], spool: Path) -> dict[str, str]:
    """Return the variables of an application that name its caches in the capture's folder."""
    also = {name: folder for name, folder in _CACHES_IF_SET.items() if name in environment}
    also |= {name: folder for name, folder in _CACHES_IF_THERE.items() if os.path.isdir(environment.get(name, folder))}
    return {name: f"{cache_folder(spool)}/{folder}" for name, folder in (_CACHES | also).items()}


def give_empty_caches(environment: dict[str, str], spool: Path) -> None:
    """Make the caches in the capture's folder, and have the variables name them."""
    environment |= empty_caches(environment, spool)
    for name in CACHE_VARIABLES:
        if environment.get(name, "").startswith(cache_folder(spool)):
            os.makedirs(environment[name], exist_ok=True)


def is_made_again(spool: Path) -> bool:
    """Return whether a program that has a finished capture's variables made its folder again, for an empty cache: it
    holds nothing but that and the recorder's own files."""
    if not (spool / _FOLDER).is_dir():
        return False
    return all(name == _FOLDER or _RECORDERS.fullmatch(name) for name in os.listdir(spool))
