"""Recorded sources and options that lead a real compiler to a private file, or out of its folder.

The scan of the text, which knows the usual spellings, is taken out in both cases: what the compiler is confined by has to be
enough. It is taken out with ``--unconfined``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from kernlens.errors import KernlensError
from kernlens.model.build import Build, HeldParts, Source
from kernlens.pipeline.second_build_of_recording import second_build_of_recording
from tests.attacks.attack import COMPILER, MARK, Attack
from tests.writers.recordings import record

_KERNEL = "kernel void f(global int *out) { out[0] = 1; }\n"
_THERE = f"#error {MARK} is there"
#: Texts that ask for the file ``@``.
_TEXTS = {
    "quotes": '#include "@"',
    "brackets": "#include <@>",
    "digraph": '%:include "@"',
    "trigraph": '??=include "@"',
    "split word": '#inc\\\nlude "@"',
    "split with blank": '#inc\\ \nlude "@"',
    "no-break space": '#include\u00a0"@"',
    "ideographic space": '#\u3000include\u3000"@"',
    "carriage return": 'int a;\r#include "@"',
    "form feed": '\f#include\v"@"',
    "comment": '/* a\n*/ # /**/ include /* b */ "@"',
    "import": '#import "@"',
    "next": '#include_next "@"',
    "macro": '#define F "@"\n#include F',
    "macro with dollar": "#define $F <@>\n#include $F",
    "macro of letters": "#define é <@>\n#include é",
    "macro of tokens": "#define S(x) #x\n#define T(x) S(x)\n#include T(@)",
    "bracket in a macro": "#define L <\n#include L@>",
    "pushed macro": '#define F "@"\n#pragma push_macro("F")\n#undef F\n#pragma pop_macro("F")\n#include F',
    "line": '#line 1 "@"\n#include __FILE__',
    "through proc": '#include "/proc/self/root/@"',
    "upwards": '#include "../../../../../../../../../../../../../..@"',
    "twice slashed": '#include "/@"',
    "embed": 'constant char a[] = {\n#embed "@"\n};\n#ifndef __has_embed\n#include "@"\n#endif',
    "has include": f'#if __has_include("@")\n{_THERE}\n#endif',
    "has include next": f'#if __has_include_next("@")\n{_THERE}\n#endif',
    "has include in a macro": f'#define HAS __has_include\n#if HAS("@")\n{_THERE}\n#endif',
}
#: Texts that ask the assembler behind a compiler for the file, which is in the machine code then. The scan of texts knows none.
_ASSEMBLED = {
    "include": '.include "@"',
    "macro": '.macro m\n.include "@"\n.endm\nm',
    "data": '.incbin "@"',
    "part of data": '.incbin "@", 8, 16',
    "through proc": '.incbin "/proc/self/root@"',
    "upwards": '.incbin "../../../../../../../../../../../../../..@"',
}
#: What is assembled, or is data of a size that AMD's instructions are aligned to: else LLVM 15's assembler does not end.
_ASSEMBLY = f'.ascii "{MARK} pwd"  \n'
#: Where it stands: PoCL makes no machine code of what is outside of kernels.
_PLACES = {"file": "__asm__({});", "kernel": "kernel void g(global int *out) {{ __asm__ volatile({}); out[0] = 1; }}"}
#: The compilers with such an assembler, and the stage that holds what it made.
_MACHINE_CODE = {"amd": "program", "pocl": "shared-object", "cpu": "object"}
#: Options that do, with the text that belongs to them; ``~`` is the file's folder.
_OPTIONS = {
    "-include": ("-include @", ""),
    "-imacros": ("-imacros @", ""),
    "-I": ("-I ~", '#include "private.h"'),
    "-I joined": ("-I~", "#include <private.h>"),
    "-I root": ("-I /", '#include ".@"'),
    "-isystem": ("-isystem ~", "#include <private.h>"),
    "-iquote": ("-iquote ~", '#include "private.h"'),
    "-idirafter": ("-idirafter ~", '#include "private.h"'),
    "-D": ('-DF="<@>"', "#include F"),
    "-D unquoted": ("-DF=<@>", "#include F"),
    "-D of a question": ("-DHAS=__has_include", f'#if HAS("@")\n{_THERE}\n#endif'),
    "-Wp": ("-Wp,-include,@", ""),
    "-Xclang": ("-Xclang -include -Xclang @", ""),
    "-x": ("-x cl -include @", ""),
    "-MF": ("-MD -MF ~/../escaped", ""),
    "-dependency-file": ("-Xclang -dependency-file -Xclang ~/../escaped -Xclang -MT -Xclang a", ""),
    "-serialize-diagnostics": ("--serialize-diagnostics ~/../escaped", ""),
    "-save-temps": ("-save-temps=~/..", ""),
    "-ftime-trace": ("-ftime-trace=~/../escaped", ""),
    "-dump-opt-llvm": ("-dump-opt-llvm=~/../escaped", ""),
}
#: The compilers, by a device and a toolchain, with those of the options that they take.
_COMPILERS = {
    "debian": (
        "dg2",
        "system",
        ("-I", "-I joined", "-I root", "-D", "-D unquoted", "-D of a question", "-dump-opt-llvm"),
    ),
    "newest": (
        "dg2",
        "newest",
        ("-I", "-I joined", "-I root", "-D", "-D unquoted", "-D of a question", "-dump-opt-llvm"),
    ),
    "clang": ("spirv", "system", tuple(_OPTIONS.keys() - {"-dump-opt-llvm"})),
    "amd": ("gfx1030", "system", tuple(_OPTIONS.keys() - {"-dump-opt-llvm"})),
    "pocl": ("pocl", "system", ("-I", "-I joined", "-I root", "-D", "-D unquoted", "-D of a question")),
    "cpu": ("intel-cpu", "system", ("-I", "-I joined", "-I root", "-D", "-D unquoted", "-D of a question")),
}
#: Texts that a compiler does not understand, confined or not.
_UNKNOWN = {"pocl": {"no-break space", "ideographic space", "embed"}, "cpu": {"embed"}}


def attacks(folder: Path, private: Mapping[str, Path]) -> Iterator[Attack]:
    """Write the attacks below a folder, and yield them; compilers that are not installed are left out."""
    for compiler, (device, toolchain, options) in _COMPILERS.items():
        if why := _why_absent(device, toolchain):
            print(f"the compiler {compiler} is left out: {why}")
            continue
        asked = {name: ("", text) for name, text in _TEXTS.items() if name not in _UNKNOWN.get(compiler, ())}
        for name, (words, text) in (asked | {name: _OPTIONS[name] for name in sorted(options)}).items():
            own = folder / f"{compiler}_{name}".replace(" ", "_")
            (own / "private").mkdir(parents=True)
            path = own / "private" / "private.h"
            path.write_text(f"#error {MARK} a password\n")
            words, text = (each.replace("~", str(path.parent)).replace("@", str(path)) for each in (words, text))
            source = Source("/attack/a.cl", f"{text}\n{_KERNEL}")
            record(own / "a.klens", Build("a", device, options=words, parts=HeldParts(sources=(source,))))
            yield Attack(f"compiler {own.name}", own, ("stages", "a.klens", "--toolchain", toolchain), COMPILER)
        for stage in filter(None, [_MACHINE_CODE.get(compiler)]):
            for place, name in product(_PLACES if compiler != "pocl" else ("kernel",), _ASSEMBLED):
                own = folder / f"{compiler}_assembler_{place}_{name}".replace(" ", "_")
                text = _PLACES[place].format(
                    json.dumps(_ASSEMBLED[name].replace("@", str(own / "private" / "private.h")))
                )
                yield _assembled(own, text, device, ("--toolchain", toolchain, "--stage", stage, "--form", "binary"))


def _assembled(own: Path, text: str, device: str, words: tuple[str, ...]) -> Attack:
    (own / "private").mkdir(parents=True)
    (own / "private" / "private.h").write_text(_ASSEMBLY)
    source = Source("/attack/a.cl", f"{text}\n{_KERNEL}")
    record(own / "a.klens", Build("a", device, parts=HeldParts(sources=(source,))))
    return Attack(f"compiler {own.name}", own, ("stages", "a.klens", *words), COMPILER)


def _why_absent(device: str, toolchain: str) -> str:
    build = Build("a", device, parts=HeldParts(sources=(Source("/attack/a.cl", _KERNEL),)))
    try:
        return second_build_of_recording(build, toolchain=toolchain).build.reason or ""
    except KernlensError as error:
        return str(error)
