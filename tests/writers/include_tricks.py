"""Texts and options that try to have a compiler open a file of the machine, in spellings that a generator makes up."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from kernlens.model.build import Source

#: What the file holds that nobody may see, and how a text shows that the file is there.
NUMBER = 1844677301
CANARY = f"#define KANARIE {NUMBER}\n"
THERE = 1922334455
_KERNEL = """
#ifndef KANARIE
#define KANARIE 5
#endif
kernel void f(global int *out) { out[0] = KANARIE; }
"""


@dataclass(frozen=True)
class Trick:
    """A recording's sources, the first of which is compiled, and its build options."""

    name: str
    sources: tuple[Source, ...]
    options: str


#: What clang takes for white space within a directive, or warns of and passes over.
_BLANKS = (
    " ", "\t", "\v", "\f", "\u00a0", "\u1680", "\u2003", "\u2009", "\u202f", "\u205f", "\u3000", "\0", "/* a */",
    "/**/", "/* \n */", "\\\n", "\\ \n", "\\\r\n", "\\\r", "/*\\\n*/", "\u00a0 ", " \0 ", "\t\u3000",
)  # fmt: skip
_MARKS = ("#", "%:", "%\\\n:", "??=")
_WORDS = ("include", "inc\\\nlude", "import", "include_next", "__include_macros", "includ\\\r\ne", "embed")
_LINE_ENDS = ("\n", "\r", "\r\n", "\n\r", "\f\n", "\u0085\n", "\n\0")
_NAMES = ("F", "$", "F$", "$F_1", "\u00e9", "\u00c4pfel", "\u03a9", "\\u00e9", "F\\\nG", "__F", "\u540d")


def tricks(path: str, count: int, seed: int) -> Iterator[Trick]:
    """Yield ``count`` tricks to open the file ``path``, of all families in turn."""
    chance = random.Random(seed)
    families = (
        _directive,
        _directive,
        _macro,
        _macro,
        _macro_of_header,
        _line_end,
        _option,
        _question,
        _made_of_tokens,
    )
    for number in range(count):
        family = families[number % len(families)]
        yield family(f"{family.__name__.strip('_')}-{number}", _spelled(path, chance), chance)


def _spelled(path: str, chance: random.Random) -> str:
    folder, _, name = path.rpartition("/")
    return chance.choice(
        (
            path,
            path,
            path,
            f"{folder}//{name}",
            f"{folder}/./{name}",
            f"/{path}",
            f"{'../' * 40}{path[1:]}",
            f"/proc/self/root{path}",
        )
    )


def _quoted(path: str, chance: random.Random) -> str:
    return chance.choice((f'"{path}"', f"<{path}>"))


def trick_of(name: str, text: str, options: str = "", header: str | None = None) -> Trick:
    """Return a kernel that a text stands before, in the file ``/src/a.cl``, and ``/src/b.h`` with what it includes."""
    own = (Source("/src/a.cl", text + _KERNEL),)
    return Trick(name, own if header is None else (*own, Source("/src/b.h", header)), options)


def _blank(chance: random.Random) -> str:
    return "".join(chance.choice(_BLANKS) for _ in range(chance.randrange(3)))


def _include(what: str, chance: random.Random) -> str:
    mark, word = chance.choice((*_MARKS, "#", "#")), chance.choice((*_WORDS, "include", "include"))
    return f"{_blank(chance)}{mark}{_blank(chance)}{word}{_blank(chance)}{what}\n"


def _directive(name: str, path: str, chance: random.Random) -> Trick:
    return trick_of(name, _include(_quoted(path, chance), chance))


def _macro(name: str, path: str, chance: random.Random) -> Trick:
    macro = chance.choice(_NAMES)
    blank = chance.choice(_BLANKS[:12])
    define = chance.choice(("#define", "#\tdefine", "%:define", "#def\\\nine", "#/**/define"))
    return trick_of(name, f"{define}{blank}{macro} {_quoted(path, chance)}\n{_include(macro, chance)}")


def _macro_of_header(name: str, path: str, chance: random.Random) -> Trick:
    macro = chance.choice(_NAMES)
    header = f"#define {macro} {_quoted(path, chance)}\n"
    if chance.random() < 0.5:
        header = _include(_quoted(path, chance), chance)
        return trick_of(name, '#include "b.h"\n', header=header)
    return trick_of(name, f'#include "b.h"\n{_include(macro, chance)}', header=header)


def _line_end(name: str, path: str, chance: random.Random) -> Trick:
    before = chance.choice(("int x;", "// a comment", "/* one */", "#pragma a", "", "constant char c = '\"';", "#if 1"))
    after = "\n#endif\n" if before == "#if 1" else "\n"
    end = chance.choice(_LINE_ENDS)
    return trick_of(
        name, f"{before}{end}#{chance.choice(_BLANKS[:12])}include{_blank(chance)}{_quoted(path, chance)}{after}"
    )


def _option(name: str, path: str, chance: random.Random) -> Trick:
    folder, _, file = path.rpartition("/")
    end = chance.choice(("\n", "\r", "\r\n", "\v", "\f", "\0", "\u2028", "\u0085", "\\\n"))
    options, text = chance.choice(
        (
            (f'-DA="1{end}#include <{path}>"', ""),
            (f'-DF="<{path}>"', "#include F\n"),
            (f"-DF=<{path}>", f"#{chance.choice(_BLANKS[:12])}include F\n"),
            (f"-D F$=<{path}>", "#include F$\n"),
            (f"-D\u00e9=<{path}>", "#include \u00e9\n"),
            (f"-I {folder}", f'#include "{file}"\n'),
            (f"-I{folder}", f"#{chance.choice(_BLANKS[:12])}include <{file}>\n"),
            (f'-I"{folder}"', f"#include <{file}>\n"),
            (f'-D"A{end}#include <{path}>{end}"', ""),
            (f"-include {path}", ""),
            (f"-imacros {path}", ""),
            (f"-Wp,-include,{path}", ""),
            (f"-Xclang -include -Xclang {path}", ""),
            (f"-isystem {folder}", f"#include <{file}>\n"),
            (f"@{path}", ""),
            (f"-cl-std=CL2.0{end}-include{end}{path}", ""),
            (f"-g -s {path}", ""),
            (f"-x c -include{path}", ""),
        )
    )
    return trick_of(name, text, options)


def _question(name: str, path: str, chance: random.Random) -> Trick:
    """Return a trick that asks whether the file, or the folder that it lies in, is there."""
    folder = path.rpartition("/")[0]
    asked = chance.choice((path, f"{folder}/../../../../../../../../../../../../src/b.h", f"{folder}/."))
    operator = chance.choice(("__has_include", "__has_include_next", "__has_include", "HAS"))
    define = "#define HAS __has_include\n" if operator == "HAS" else ""
    text = f"{define}#if {operator}({_quoted(asked, chance)})\n#define KANARIE {THERE - 1}+1\n#endif\n"
    return trick_of(name, text, header="\n")


def _made_of_tokens(name: str, path: str, chance: random.Random) -> Trick:
    text = chance.choice(
        (
            f"#define S(x) #x\n#define T(x) S(x)\n#include T({path})\n",
            f"#define L <\n#include L{path}>\n",
            f"#define P {path}\n#{chance.choice(_BLANKS[:12])}include <P>\n#define E() <{path}>\n#include E()\n",
            f"#define E$(x) <x>\n#include E$({path})\n",
            f"#define C(a, b) a##b\n#define F <{path}>\n#include C(,F)\n",
            f'_Pragma("push_macro(\\"F\\")")\n#define F "{path}"\n#include F\n',
            f'#pragma GCC dependency "{path}"\n',
            f'#pragma clang include "{path}"\n#include\u00a0"{path}"\n',
            f'#line 1 "{path}"\n#include __FILE__\n',
            f'#line 1 "{path}"\n#{chance.choice(_BLANKS[:12])}include\u2003__FILE__\n',
            f"#include __BASE_FILE__\n#include_next <{path}>\n",
            f'__asm__(".incbin \\"{path}\\"");\n__asm__(".include \\"{path}\\"");\n',
        )
    )
    return trick_of(name, text)
