"""The declarations of Level Zero that the layer is built with are those of Intel's headers: Debian's libze-dev."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.tree import ROOT

OWN = ROOT / "native/level_zero_api"
INTELS = "#include <level_zero/ze_api.h>\n#include <level_zero/ze_ddi.h>\n#include <level_zero/zet_ddi.h>\n"
STRUCT = re.compile(r"typedef struct \{(.*?)\} (\w+);", re.DOTALL)
ENUM = re.compile(r"typedef enum \{(.*?)\} (\w+);", re.DOTALL)
FUNCTION = re.compile(r"typedef ze_result_t\(ZE_APICALL \*(\w+)\)\((.*?)\);", re.DOTALL)


def questions() -> list[str]:
    """Sizes, the offset and size of each member, the values of enumerations and macros, as expressions of C."""
    text = "".join((OWN / name).read_text() for name in ("ze_api.h", "ze_images.h", "ze_ddi.h"))
    asked = [*re.findall(r"#define (ZE_MAX_\w+)", text), "ZE_MAKE_VERSION(3, 7)"]
    for body, name in STRUCT.findall(text):
        members = re.findall(r"(\w+)(?:\[\w+\])?(?=[,;])", body)
        asked += [f"offsetof({name}, {member})" for member in members]
        # Tables of functions are longer in newer headers.
        asked += [] if name.endswith("_dditable_t") else [f"sizeof({name})"]
        asked += [f"sizeof((({name} *)0)->{member})" for member in members]
    for body, name in ENUM.findall(text):
        asked += [f"sizeof({name})", *re.findall(r"\w+(?= =)", body)]
    # A pointer to a function of other parameters is of another type, and this gives -1.
    asked += [
        f"__builtin_types_compatible_p({name}, ze_result_t (*)({parameters}))"
        for name, parameters in FUNCTION.findall(text)
    ]
    return asked


def answers(folder: Path, headers: str, asked: list[str]) -> list[str]:
    source = folder / "print.c"
    lines = "".join(f'    printf("%lld\\n", (long long)({each}));\n' for each in asked)
    source.write_text(
        f"#include <stdio.h>\n#include <stddef.h>\n{headers}int main(void)\n{{\n{lines}    return 0;\n}}\n"
    )
    subprocess.run(["gcc", "-w", "-I", ROOT / "native", "-o", folder / "print", source], check=True)
    printed = subprocess.run([folder / "print"], check=True, capture_output=True, text=True).stdout
    return [f"{each} is {answer}" for each, answer in zip(asked, printed.split(), strict=True)]


def test_they_are_as_in_intels_headers(tmp_path: Path) -> None:
    asked = questions()
    assert len(asked) > 500
    own = answers(tmp_path, '#include "level_zero_api/ze_ddi.h"\n', asked)
    assert own == answers(tmp_path, INTELS, asked)
    assert not any(line.endswith("is 0") for line in own if line.startswith("__builtin_types_compatible_p"))
