"""The native parts of the package; everything else is in pyproject.toml.

Two kinds are built: Python extensions, and plain shared libraries that the package ships as files (``SharedLibrary``),
because another process loads them: they know nothing of Python.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from copy import copy
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

WINDOWS = sys.platform == "win32"
OPTIMIZE = ["/O2"] if WINDOWS else ["-O3", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra"]
OPTIMIZE_CXX = ["-O2", "-g0", "-std=c++17", "-fvisibility=hidden", "-fno-rtti", "-fno-exceptions", "-Wall", "-Wextra"]
STABLE_ABI = "0x030B0000"  # the limited API of Python 3.11: one build serves every later Python


class SharedLibrary(Extension):
    """A plain shared library, not a Python module; built to ``kernlens/native/lib<name>.so``.

    Give ``name`` as ``kernlens.native.libkernlens_opencl_layer``: the last part is the file's name without its suffix.
    """


class Executable(SharedLibrary):
    """A program that a shared library starts; built beside it, to ``kernlens/native/<name>``."""


class Plugin(SharedLibrary):
    """A library in C++ that another program of C++ loads, which has the C++ library."""


class LevelZeroLayer(SharedLibrary):
    """A library that is loaded in the driver's place, and depends on it. The driver need not be here to build it."""

    DRIVER = "libze_intel_gpu.so.1"


#: The headers that a native part needs, and their Debian package.
NEEDED_HEADERS: dict[type[Extension], tuple[str, str]] = {
    Extension: ("Python's headers", "python3-dev"),
    SharedLibrary: ("the OpenCL headers", "opencl-headers"),
    Executable: ("the OpenCL headers, or the kernel's,", "opencl-headers linux-libc-dev"),
    LevelZeroLayer: ("the headers of the C library", "libc6-dev"),
    Plugin: ("the headers of C++", "g++"),
}


class BuildNative(build_ext):
    """``build_ext`` that names plain shared libraries as the platform does; they have no module initialiser."""

    def get_ext_filename(self, fullname: str) -> str:
        # setuptools asks with the full dotted name or, for an in-place build, with its last part only.
        for extension in self.extensions:
            if isinstance(extension, SharedLibrary) and fullname in (extension.name, extension.name.rpartition(".")[2]):
                suffix = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
                if isinstance(extension, Executable):
                    suffix = ".exe" if WINDOWS else ""
                return str(Path(*fullname.split("."))) + suffix
        return str(super().get_ext_filename(fullname))

    def build_extension(self, ext: Extension) -> None:
        """Build one extension. Raises CompileError with what is to be installed, where that is known."""
        program = (getattr(self.compiler, "compiler", None) or [""])[0]
        if program and shutil.which(program) is None:
            message = (
                f"there is no C compiler ({program}), which kernlens's native part needs; on Debian: apt install gcc"
            )
            if ext.optional:
                raise CompileError(message)
            raise SystemExit(f"error: {message}")
        own = copy(self)
        # Extensions share sources and compile them with different options, maybe at the same time.
        own.build_temp = str(Path(self.build_temp) / ext.name)
        if isinstance(ext, SharedLibrary):
            # It knows nothing of Python. Packages put headers beside Python's: intel-sycl-rt another release of OpenCL's.
            own.compiler = copy(self.compiler)
            own.compiler.set_include_dirs([])
        try:
            own._build(ext)
        except CompileError as error:
            headers = NEEDED_HEADERS[type(ext)]
            raise CompileError(f"{error}; if {headers[0]} are missing, on Debian: apt install {headers[1]}") from error

    def _build(self, ext: Extension) -> None:
        if isinstance(ext, LevelZeroLayer):
            stand_in = Path(self.build_temp, "stand_in.c")
            stand_in.parent.mkdir(parents=True, exist_ok=True)
            stand_in.write_text("typedef int nothing;\n")
            objects = self.compiler.compile([str(stand_in)], output_dir=self.build_temp)
            name = [f"-Wl,-soname,{ext.DRIVER}"]
            self.compiler.link_shared_object(objects, ext.DRIVER, output_dir=self.build_temp, extra_postargs=name)
            ext.extra_link_args = [*ext.extra_link_args, "-Wl,--no-as-needed", str(Path(self.build_temp, ext.DRIVER))]
        if not isinstance(ext, Executable):
            super().build_extension(ext)
            return
        program = Path(self.get_ext_fullpath(ext.name))
        objects = self.compiler.compile(
            ext.sources,
            output_dir=self.build_temp,
            macros=ext.define_macros,
            include_dirs=ext.include_dirs,
            extra_postargs=ext.extra_compile_args,
            depends=ext.depends,
        )
        self.compiler.link_executable(
            objects,
            program.name,
            output_dir=str(program.parent),
            libraries=self.get_libraries(ext),
            extra_postargs=ext.extra_link_args,
        )

    def copy_extensions_to_source(self) -> None:
        for extension in self.extensions:  # a folder that holds nothing but built libraries is not in the tree
            Path(self.get_finalized_command("build_py").get_package_dir(extension.name.rpartition(".")[0])).mkdir(
                parents=True, exist_ok=True
            )
        super().copy_extensions_to_source()

    def get_export_symbols(self, ext: Extension) -> list[str]:
        if isinstance(ext, SharedLibrary):
            return list(ext.export_symbols)
        return list(super().get_export_symbols(ext))

    def get_libraries(self, ext: Extension) -> list[str]:
        # A layer must never pull libpython into the application that loads it.
        return list(ext.libraries) if isinstance(ext, SharedLibrary) else list(super().get_libraries(ext))


def sources(folder: str, ending: str = "c") -> list[str]:
    """Return every C file below a native folder, in a fixed order so that builds are repeatable."""
    return sorted(glob(f"{folder}/**/*.{ending}", recursive=True))


SECOND_BUILD = "native/opencl_layer/second_build"
SECOND_BUILD_PROGRAM = f"{SECOND_BUILD}/program.c"
HEADERS = glob("native/**/*.h", recursive=True)


NATIVE = [
    Extension(
        "kernlens._decoder",
        sources=sources("native/decoder"),
        depends=HEADERS,
        include_dirs=["native"],
        define_macros=[("Py_LIMITED_API", STABLE_ABI)],
        extra_compile_args=OPTIMIZE,
        extra_link_args=[] if WINDOWS else ["-pthread"],
        libraries=[] if WINDOWS else ["dl"],
        py_limited_api=True,
    ),
]

# A thread's variables lie where the thread starts with them: else its first use of one takes a lock of the dynamic loader.
WITHOUT_LOADER = ["-ftls-model=initial-exec"]

# The OpenCL layer needs the OpenCL headers; without them the rest of the package is built, with a warning.
OPENCL_LAYER = {
    "depends": HEADERS,
    "define_macros": [("CL_TARGET_OPENCL_VERSION", "300")],
    "include_dirs": ["native", "src/kernlens/include"],
    "extra_compile_args": OPTIMIZE,
    "libraries": ["dl"],
    "optional": True,
}
if sys.platform == "linux":
    NATIVE += [
        SharedLibrary(
            "kernlens.native.libkernlens_opencl_layer",
            sources=[
                *sources("native/base"),
                *sources("native/recording"),
                *(path for path in sources("native/opencl_layer") if path != SECOND_BUILD_PROGRAM),
            ],
            # nodelete: applications call OpenCL from destructors, after their loader has let the layer go. now: a function that
            # is looked up when it is first called would take a lock of the dynamic loader then (native/base/loader.h).
            extra_link_args=["-pthread", "-Wl,-z,nodelete,-z,now"],
            **OPENCL_LAYER | {"extra_compile_args": [*OPTIMIZE, *WITHOUT_LOADER]},
        ),
        LevelZeroLayer(
            "kernlens.native.libkernlens_level_zero_layer",
            sources=[
                *sources("native/base"),
                *sources("native/recording"),
                *sources("native/level_zero_layer"),
            ],
            depends=HEADERS,
            include_dirs=["native"],
            define_macros=[("LEVEL_ZERO_DRIVER", f'"{LevelZeroLayer.DRIVER}"')],
            extra_compile_args=[*OPTIMIZE, *WITHOUT_LOADER],
            extra_link_args=["-pthread", "-Wl,-z,nodelete,-z,now"],
            libraries=["dl"],
        ),
        # Not optional: where it is missing, nothing is compiled that somebody else may have written.
        Executable(
            "kernlens.native.kernlens_confine",
            sources=sources("native/confine"),
            depends=HEADERS,
            include_dirs=["native"],
            extra_compile_args=OPTIMIZE,
        ),
        Executable(
            "kernlens.native.kernlens_demangler",
            sources=sources("native/demangler"),
            extra_compile_args=OPTIMIZE,
            libraries=["dl"],
            optional=True,
        ),
        Executable(
            "kernlens.native.kernlens_disassembler",
            sources=sources("native/disassembler"),
            depends=HEADERS,
            include_dirs=["native"],
            extra_compile_args=OPTIMIZE,
            libraries=["dl"],
            optional=True,
        ),
        Executable(
            "kernlens.native.kernlens_assembler",
            sources=[*sources("native/assembler"), "native/disassembler/confine.c", "native/disassembler/limits.c"],
            depends=HEADERS,
            include_dirs=["native"],
            extra_compile_args=OPTIMIZE,
            libraries=["dl"],
            optional=True,
        ),
        Plugin(
            "kernlens.native.libkernlens_observer",
            sources=sources("native/observer/plugin", "cc"),
            depends=HEADERS,
            extra_compile_args=OPTIMIZE_CXX,
            libraries=["stdc++", "dl"],
            optional=True,
        ),
        Executable(
            "kernlens.native.kernlens_interpreter",
            sources=sources("native/observer/host"),
            **OPENCL_LAYER,
        ),
        Executable(
            "kernlens.native.kernlens_second_build",
            sources=[*sources("native/base"), SECOND_BUILD_PROGRAM, f"{SECOND_BUILD}/job.c"],
            extra_link_args=["-pthread"],
            **OPENCL_LAYER,
        ),
    ]


def examples() -> list[tuple[str, list[str]]]:
    """Return each folder of the examples with its files: readers of the tutorials need them, and have no checkout."""
    folders = ["examples", *sorted(path for path in glob("examples/*") if os.path.isdir(path))]
    parts = [(folder, sorted(path for path in glob(f"{folder}/*.*") if os.path.isfile(path))) for folder in folders]
    return [(folder, files) for folder, files in parts if os.path.basename(folder) != "__pycache__"]


#: Where the tree of this release can be read, with a slash at the end: there lead the README's links on an index.
TREE = os.environ.get("KERNLENS_TREE", "")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)]*)\)")


def index_page(readme: str, tree: str) -> str:
    """Return the README as a package index shows it: relative links lead below ``tree``, or are plain text without one."""

    def absolute(match: re.Match[str]) -> str:
        mark, text, path = match.groups()
        return f"{mark}[{text}]({tree}{path})" if tree else text

    return _LINK.sub(absolute, readme)


setup(
    long_description=index_page(Path("README.md").read_text("utf-8"), TREE),
    long_description_content_type="text/markdown",
    ext_modules=NATIVE,
    data_files=[
        # scripts/build.sh makes them of the help before it builds; without it there are none.
        ("share/man/man1", sorted(glob("man/*.1"))),
        *((f"share/kernlens/{folder}", files) for folder, files in examples()),
    ],
    cmdclass={"build_ext": BuildNative},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
