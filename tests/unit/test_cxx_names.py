"""C++ names as people read them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kernlens.analysis.cxx_names import readable, shapes
from kernlens.analysis.cxx_names.grammar import OtherGrammarError
from kernlens.analysis.cxx_names.names import NameReader
from tests.limits import processor_time
from tests.unit.conftest import Kernlens
from tests.writers.programs import spirv

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
    "_Z1fDF16_DhDn": "f(_Float16, half, decltype(nullptr))",
    "_ZlsR1AS0_": "operator<<(A&, A&)",
    "_Z3foov.clone.1": "foo() [clone .clone.1]",
}


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
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
        "_Z1fIXquLi1ELi1ELi1EEEvv",
        "_ZSx_",
        "_Z1fT_",
    ],
)
def test_other_names_stay_as_they_are(name: str) -> None:
    assert readable(name) == name


def test_names_made_to_be_long_or_deep_stay_as_they_are() -> None:
    pairs, last = "St4pairIiiE", ""
    for number in range(40):
        pairs += f"St4pairIS{last}_S{last}_E"
        last = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 36]
    deep = [f"_Z1f{'P' * 5000}i", "_ZN" * 2000, f"_Z1fI{'J' * 3000}", "_ZZ" * 2000, f"_Z1f{pairs}"]
    packs = f"_Z1fIJ{'i' * 3000}EEv{'DpT_' * 300}"
    with processor_time():
        for name in (*deep, packs):
            assert len(readable(name)) < 20 * len(name)
        assert readable(packs) == packs


@pytest.mark.slow
def test_damaged_names_raise_nothing() -> None:
    chance = random.Random(4)
    letters = "_ZNSTIEJPRKFvidDpUl0123456789tLXAMOCLw"
    with processor_time(10):
        for _ in range(20_000):
            name = list(chance.choice(list(NAMES)))
            for _ in range(chance.randint(1, 6)):
                name[chance.randrange(2, len(name))] = chance.choice(letters)
            readable("".join(name))


def test_link_and_symbols_show_them_and_documents_keep_the_mangled_ones(kernlens: Kernlens, tmp_path: Path) -> None:
    user = tmp_path / "user.spv"
    user.write_bytes(spirv(imports="_Z5scalei"))
    assert "scale(int): user.spv needs it" in kernlens("link", user).out
    assert "scale(int)" in kernlens("symbols", user).out
    (reason,) = kernlens("link", user, "--json").document["unresolved"]
    assert reason["symbol"] == "_Z5scalei"


def read_alone(name: str) -> str:
    """What a name is read as without what is known of others of its shape."""
    try:
        return NameReader(name[2:]).whole()
    except OtherGrammarError:
        return name


@pytest.mark.parametrize(
    "name",
    [
        "_Z1fILN1a1bE3abcEEvv",
        "_Z5scal", "_Z1f3abE1_", "_ZN3std1aE1b", "_ZN12_GLOBAL__N_11a1bE3c", "_ZNK3a.b1cE1dE", "_Z1fLi3E1g", "_Z12345abc",
        f"_Z{'1' * 5000}a", f"_Z1f{'1' * 12}a", "_Z1f0E", "_Z003abcv", "_Z2\ue000a2bc", "_Z1f3a{}1b", "_Z2{}v",
    ],
)  # fmt: skip
def test_a_shape_is_told_apart_from_the_identifiers_in_it_as_the_grammar_does(name: str) -> None:
    assert readable(name) == read_alone(name)


def test_damaged_names_are_read_as_they_are_alone() -> None:
    chance = random.Random(9)
    letters = "_ZNSTIEJPRKFvidDpUl0123456789tLXAMOCLw"
    for _ in range(10_000):
        name = list(chance.choice(list(NAMES)))
        for _ in range(chance.randint(1, 3)):
            name[chance.randrange(2, len(name))] = chance.choice(letters)
        assert readable("".join(name)) == read_alone("".join(name))


def test_names_of_one_shape_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    class CountedReader(NameReader):
        def __init__(self, text: str) -> None:
            super().__init__(text)
            read.append(text)

    monkeypatch.setattr(shapes, "NameReader", CountedReader)
    monkeypatch.setattr(shapes, "_texts", {})
    for number in range(8, 120):
        kernel = f"scale_{number}"
        name = f"_ZTSZZN2vm{len(kernel)}{kernel}ILi2ELNS_4modeE1EEEvvENKUlRN4sycl7handlerEE0_clES4_EUlNS2_2idILi1EEEE_"
        assert readable(name) == (
            f"typeinfo name for vm::{kernel}<2, (vm::mode)1>()::{{lambda(sycl::handler&)#2}}"
            "::operator()(sycl::handler&) const::{lambda(sycl::id<1>)#1}"
        )
    assert len(read) == 1


def test_few_names_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "_known", {})
    monkeypatch.setattr(shapes, "_texts", {})
    monkeypatch.setattr(shapes, "_room", 300)
    monkeypatch.setattr(shapes, "_KEPT", 300)
    most = 0
    for number in range(100):
        mangled = f"_Z3f{number:02}{'i' * (number // 10)}v"
        assert shapes.demangled(mangled) == read_alone(mangled)
        kept = [*shapes._known.items(), *shapes._texts.items()]
        assert sum(len(key) + len(said or "") for key, said in kept) <= 300
        most = max(most, len(shapes._known))
    assert most > 1


def test_a_short_shape_with_a_long_identifier_makes_no_long_text() -> None:
    name = f"_Z1f4000{'a' * 4000}{'S_' * 1000}"
    assert readable(name) == name
