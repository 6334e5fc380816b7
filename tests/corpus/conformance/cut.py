"""Programs of OpenCL-CTS with fewer cases: for drivers on which the whole tests take an hour.

Copies of sources are compiled where three types (char, int, float) stand for eleven, three image formats for all, and small
images, buffers and grids for large ones; what is not copied is linked as it is. Each test builds and launches the same kinds of
programs, fewer of them.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_THREE = (r"kChar,\s+kUChar,[\s\w,]+kDouble", "kChar, kInt, kFloat")
_FORMATS = (r"for \(const auto &format : formats\)", r"formats.resize(std::min<size_t>(formats.size(), 3));\n    \g<0>")
_GROUPS = (r"(numberOfLocalWorkgroups\s*=) (1111|579);", r"\1 11;")
_ROWS = (r'(?m)^ *\{ +"(uchar|unsigned \w+|u?short|uint|u?long)", .*\n', "")
_ONLY = r"\g<0> if (type != kChar && type != kInt && type != kFloat) return true;"
#: Suite -> source -> what is replaced in it by what.
CUTS: Mapping[str, Mapping[str, Sequence[tuple[str, str]]]] = {
    "basic": {
        "test_arrayimagecopy.cpp": (_FORMATS,),
        "test_astype.cpp": (_THREE,),
        "test_async_copy.cpp": (_THREE, _GROUPS),
        "test_async_strided_copy.cpp": (_THREE, _GROUPS),
        "test_bufferreadwriterect.cpp": ((r"(?m)^size_t alloc_scale = 2;", "size_t alloc_scale = 32;"),),
        "test_explicit_s2v.cpp": ((r"bool skip_type\(ExplicitType type\)\s*\{", _ONLY),),
        "test_hiloeo.cpp": (
            (r"(?s)(test_str_names\[\] = ).*?;", r'\1{ "char", "int", "float" };'),
            (r"(kSizes\[\] = ).*?;", r"\1{ 1, 4, 4 };"),
        ),
        "test_imagearraycopy.cpp": (_FORMATS,),
        "test_imagedim.cpp": ((r"max_mem_size /= 4; // use 1/4", "max_mem_size = 16384;"),),
        "test_sizeof.cpp": (_ROWS,),
        "test_vector_creation.cpp": (_THREE,),
        "test_vector_swizzle.cpp": ((r"result \|= test_type<cl_(u\w+|short|long|half|double)>.*", ""),),
        "test_vloadstore.cpp": (_THREE,),
    },
    "vectors": {
        "globals.cpp": (
            (r"(?s)( types\[\] = ).*?;", r"\1{ kChar, kInt, kFloat, kNumExplicitTypes };"),
            (r"(?s)(g_arrTypeNames\[\] = ).*?;", r'\1{ "char", "int", "float" };'),
            (r"(g_arrTypeSizes\[\] = ).*?;", r"\1{ 1, 4, 4 };"),
        ),
        "test_vec_align.cpp": ((r"(test_vec_thread,) ARR_SIZE \* ARR_SIZE", r"\1 3"),),
    },
}


def cut_text(text: str, replaced: Sequence[tuple[str, str]]) -> str:
    """Return a source with fewer cases. Raises SystemExit if it is another source than the one that is known."""
    for pattern, words in replaced:
        text, count = re.subn(pattern, words, text)
        if not count:
            raise SystemExit(f"nothing to cut: {pattern}")
    return text


def cut_program(suite: str, program: Path, build: Path) -> Path:
    """Return the suite's program with fewer cases, built beside the whole one, by the commands that built that one."""
    folder = program.with_name("cut")
    folder.mkdir(exist_ok=True)
    stated = json.loads(_run(["ninja", "-t", "compdb"], build))
    commands = {each["output"]: each for each in stated}
    link: str = commands[str(program.relative_to(build))]["command"]
    for name, replaced in CUTS[suite].items():
        whole = next(each for each in stated if each["file"].endswith(f"/{suite}/{name}"))
        source, output = folder / name, folder / f"{name}.o"
        text = cut_text(Path(whole["file"]).read_text(), replaced)
        link = link.replace(whole["output"], str(output))
        if output.exists() and source.read_text() == text:
            continue
        source.write_text(text)
        command = whole["command"].replace(whole["file"], str(source)).replace(whole["output"], str(output))
        _run(["sh", "-c", f"{command} -I{Path(whole['file']).parent} -w"], build)
    built = folder / program.name
    _run(["sh", "-c", link.replace(f"-o {program.relative_to(build)}", f"-o {built}")], build)
    return built


def _run(words: Sequence[str], where: Path) -> str:
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)[:300]} failed:\n{done.stderr[-3000:]}")
    return done.stdout
