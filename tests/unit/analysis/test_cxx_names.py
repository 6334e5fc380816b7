"""C++ names as people read them, and names made to take for ever."""

from __future__ import annotations

import os
import random
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernlens import demangler
from kernlens.analysis.cxx_names import kernel_title, readable
from tests.unit.conftest import Kernlens
from tests.writers.programs import spirv


@pytest.fixture(autouse=True)
def own_demangler(monkeypatch: pytest.MonkeyPatch) -> Iterator[demangler.Demangler]:
    """A demangler for one test: it ends with it, and nothing is known of other tests' names."""
    demangler.demangled.cache_clear()
    own = demangler.Demangler()
    monkeypatch.setattr(demangler, "_demangler", own)
    yield own
    if own.process is not None:
        own.process.end()


#: What c++filt prints; the names are of SYCL kernels, of clang's and of LLVM's.
NAMES = {
    "_Z5scalei": "scale(int)",
    "_ZN3rng5scaleIfEEvPT_": "void rng::scale<float>(float*)",
    "_Z1fPU3AS1Vf": "f(float volatile AS1*)",
    "_Z1fILi1EENSt9enable_ifIXaagtT_Li0EntT_EbE4typeEP1AS3_": (
        "std::enable_if<(((1)>(0)))&&(!(1)), bool>::type f<1>(A*, A)"
    ),
    "_Z1fILi1ELi2EEv1aIXplT_T0_EXT0_EES0_IXT_EXngT0_EE": "void f<1, 2>(a<(1)+(2), 2>, a<1, -(2)>)",
    "_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_iS_S_": (
        "intel_sub_group_i8_i8_matrix_mad_k32(int __vector(8), int __vector(8), int __vector(8))"
    ),
    "_Z1fIJiffEEvDpT_": "void f<int, float, float>(int, float, float)",
    "_Z1fIJEEvDpT_": "void f<>()",
    "_ZZ4mainENKUlT_E_clIiEEDaS_": "auto main::{lambda(auto:1)#1}::operator()<int>(int) const",
    "_ZTSZ4mainEUlvE_": "typeinfo name for main::{lambda()#1}",
    "_ZTSZZ4mainENKUlRN4sycl3_V17handlerEE_clES2_EUlNS0_4itemILi1ELb1EEEE_": (
        "typeinfo name for main::{lambda(sycl::_V1::handler&)#1}::operator()(sycl::_V1::handler&) const::"
        "{lambda(sycl::_V1::item<1, true>)#1}"
    ),
    "_ZN1A1BC2ERKS0_": "A::B::B(A::B const&)",
    "_ZN1AD0Ev": "A::~A()",
    "_ZNK1AcvbEv": "A::operator bool() const",
    "_ZNSt6vectorIiSaIiEE9push_backERKi": "std::vector<int, std::allocator<int> >::push_back(int const&)",
    "_ZNKSt3mapIiS_IiiEE4findERKi": "std::map<int, std::map<int, int> >::find(int const&) const",
    "_Z1fPFivE": "f(int (*)())",
    "_Z1fRA3_KcM1AFvvE": "f(char const (&) [3], void (A::*)())",
    "_ZTV3Foo": "vtable for Foo",
    "_ZN12_GLOBAL__N_14helpEv": "(anonymous namespace)::help()",
    "_Z1fDhDn": "f(half, decltype(nullptr))",
    "_ZlsR1AS0_": "operator<<(A&, A&)",
    "_Z3foov.clone.1": "foo() [clone .clone.1]",
}


@pytest.mark.parametrize("name", NAMES)
def test_mangled_names_read_as_cxx(name: str) -> None:
    assert readable(name) == NAMES[name]


@pytest.mark.parametrize(
    "name",
    [
        "scale",
        "_entry",
        "",
        "_Z",
        "_Zx",
        "_Z5scal",
        "_Z1fIXsr3fooE5valueEvv",
        "_Z1fIXgtLi1EEvv",
        "_ZSx_",
        "_Z1fT_",
    ],
)
def test_other_names_stay_as_they_are(name: str) -> None:
    assert readable(name) == name


def test_a_kernel_of_sycl_has_the_name_of_its_type() -> None:
    assert kernel_title("_ZTSZ4mainEUlvE_") == "main::{lambda()#1}"


def test_names_in_unicode_are_demangled_and_control_characters_are_not() -> None:
    assert readable("_Z5foéov") == "foéo()"
    assert readable("_Z3foév") == "_Z3foév"
    for name in ("_Z3\x1b[0v", "_Z1fi\n", "_Z1f\0i", "_Z1f\ud800v"):
        assert readable(name) == name
    assert readable("_Z1fi") == "f(int)", "the demangler is not one answer behind"


DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def substitution(number: int) -> str:
    return f"S{DIGITS[(number - 1) // 36] if number > 36 else ''}{DIGITS[(number - 1) % 36]}_"


def pairs(count: int, type: str = "i") -> str:
    """Types, each of which has the one before it twice."""
    twice = (substitution(number) * 2 for number in range(1, count + 1))
    return f"1aI{type}{type}E" + "".join(f"S_I{types}E" for types in twice)


#: Short names that stand for gigabytes of text, or that take libstdc++ ages: conversions do without any substitution.
HOSTILE = {
    "text": f"_Z1f{pairs(30)}",
    "conversion": f"_Zcv{'T_I' * 40}i{'E' * 40}",
    "packs": f"_Z1fIiEvDp{pairs(90)}",
    "arguments": f"_Z1fI{pairs(60)}EvT_T_T_",
    "local": f"_ZZ1f{pairs(40)}E1x",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_names_made_to_be_long_or_endless_stay_as_they_are(kind: str) -> None:
    """The demangler is stopped, and answers the next name."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    name = HOSTILE[kind]
    assert readable(name) == name
    assert readable("_Z1fi") == "f(int)"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1
    assert after.ru_maxrss < 200_000 or after.ru_maxrss == before.ru_maxrss, "KiB"


def test_deep_and_long_names_stay_as_they_are() -> None:
    many = ["_ZN" * 300, f"_Z1fI{'J' * 900}", "_ZZ" * 300, f"_Z1f{'P' * 5000}i", f"_Z1f{'i' * 8000}", f"_Z{'1' * 900}a"]
    for name in many:
        assert readable(name) == name
    assert len(readable(f"_Z1fIJ{'i' * 400}EEv{'DpT_' * 100}")) < 1 << 14


def test_a_file_full_of_hostile_names_takes_no_longer_than_a_few(own_demangler: demangler.Demangler) -> None:
    names = [f"_Z1f{pairs(30 + number % 20)}{'i' * (number // 20)}" for number in range(200)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert [readable(name) for name in names] == names
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 4
    assert readable("_Z1fi") == "_Z1fi", "names stay mangled from now on"


def test_names_that_take_long_but_not_too_long_share_their_time(own_demangler: demangler.Demangler) -> None:
    """Each alone would do; a thousand of them would take seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for number in range(1000):
        readable(f"_Zcv{'T_I' * 16}{'P' * (number % 100)}i{'E' * 16}{'i' * (number // 100)}")
    assert own_demangler.process is None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 4


@pytest.mark.slow
def test_damaged_names_raise_nothing() -> None:
    chance = random.Random(4)
    letters = "_ZNSTIEJPRKFvidDpUl0123456789tLXAMOCLw"
    for _ in range(5_000):
        name = list(chance.choice(list(NAMES)))
        for _ in range(chance.randint(1, 6)):
            name[chance.randrange(2, len(name))] = chance.choice(letters)
        assert readable("".join(name))


def test_a_killed_demangler_is_started_again(own_demangler: demangler.Demangler) -> None:
    assert readable("_Z1fi") == "f(int)"
    process = own_demangler.process
    assert process is not None
    os.kill(process.id, signal.SIGKILL)
    os.waitid(os.P_PID, process.id, os.WEXITED | os.WNOWAIT)
    assert readable("_Z1gi") == "_Z1gi"
    assert readable("_Z1hi") == "h(int)"


def test_an_interrupted_question_leaves_no_answer_to_the_next(
    own_demangler: demangler.Demangler, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert readable("_Z1fi") == "f(int)"
    process = own_demangler.process
    assert process is not None
    texts = process._answers

    def interrupted() -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "_answers", SimpleNamespace(readline=interrupted))
    with pytest.raises(KeyboardInterrupt):
        readable("_Z1gi")
    monkeypatch.setattr(process, "_answers", texts)
    assert readable("_Z1hi") == "h(int)"
    process.end()


def test_a_forked_copy_has_a_demangler_of_its_own(own_demangler: demangler.Demangler) -> None:
    assert readable("_Z1fi") == "f(int)"
    copy = os.fork()
    if copy == 0:
        is_apart = own_demangler.process is None
        os._exit(0 if is_apart and readable("_Z1gi") == "g(int)" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 0
    assert readable("_Z1hi") == "h(int)"


def test_without_the_program_names_stay_mangled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demangler, "_PROGRAM", "/nowhere/kernlens_demangler")
    assert readable("_Z1fi") == "_Z1fi"


def test_link_and_symbols_show_them_and_documents_keep_the_mangled_ones(kernlens: Kernlens, tmp_path: Path) -> None:
    user = tmp_path / "user.spv"
    user.write_bytes(spirv(imports="_Z5scalei"))
    assert "scale(int): user.spv needs it" in kernlens("link", user).out
    assert "scale(int)" in kernlens("symbols", user).out
    (reason,) = kernlens("link", user, "--json").document["unresolved"]
    assert reason["symbol"] == "_Z5scalei"
