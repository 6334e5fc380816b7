"""ar archives: names of all kinds, ocloc's padding, damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.errors import FormatError
from kernlens.formats.ar import read_ar
from kernlens.loading.identify import identify
from kernlens.model.device import IpVersion
from tests.unit.conftest import Kernlens
from tests.writers.ar import archive, member


def test_members_are_views_at_their_offsets() -> None:
    data = archive([member("a.bin/", b"abc"), member("b.bin/", b"defg")])
    first, second = read_ar(data)
    assert (first.name, bytes(first.data), first.offset) == ("a.bin", b"abc", 68)
    assert (second.name, bytes(second.data), second.offset) == ("b.bin", b"defg", 68 + 4 + 60)
    assert bytes(data[second.offset : second.offset + 4]) == b"defg"
    assert first.data.obj is data.obj


def test_ocloc_names() -> None:
    names = ["pad_0/", "64.12.55.8/", "64.bmg/", "32.9.0.9/", "generic_ir/"]
    padding, versioned, named, narrow, generic = read_ar(archive([member(name, b"") for name in names]))
    assert padding.is_padding
    assert not versioned.is_padding
    assert (versioned.device_name, versioned.ip) == ("12.55.8", IpVersion(12, 55, 8))
    assert (named.device_name, named.ip) == ("bmg", None)
    assert narrow.ip == IpVersion(9, 0, 9)
    assert (generic.device_name, generic.ip) == (None, None)


def test_gnu_long_names_and_symbol_indexes() -> None:
    names = b"a_very_long_member_name.bin/\nanother_long_one.bin/\n"
    members = [
        member("/", b"idx"),
        member("/SYM64/", b"idx8"),
        member("//", names),
        member("/0", b"1"),
        member("/29", b"2"),
    ]
    assert [(member.name, bytes(member.data)) for member in read_ar(archive(members))] == [
        ("a_very_long_member_name.bin", b"1"),
        ("another_long_one.bin", b"2"),
    ]


def test_bsd_long_name() -> None:
    name = b"a name with blanks\0\0"
    (entry,) = read_ar(archive([member(f"#1/{len(name)}", name + b"data")]))
    assert (entry.name, bytes(entry.data), entry.offset) == ("a name with blanks", b"data", 8 + 60 + len(name))


def test_empty_archive_and_magic() -> None:
    assert read_ar(archive([])) == ()
    assert identify(archive([])) == "ar"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an ar archive"),
        (b"!<thin>\n", "thin archive"),
        (b"!<arch>\n" + member("a/", b"abcd")[:-1], "does not fit"),
        (b"!<arch>\n" + member("a/", b"abcd", size="9999999999"), "does not fit"),
        (b"!<arch>\n" + member("a/", b"abcd", size="-4"), "not a number"),
        (b"!<arch>\n" + member("a/", b"abcd")[:30], "too few for a member header"),
        (b"!<arch>\n" + member("a/", b"").replace(b"`\n", b"XX"), "does not end with 60 0a"),
        (b"!<arch>\n" + member("/7", b"abcd"), "long names"),
        (b"!<arch>\n" + member("//", b"x" * 8) + member("/7", b"abcd"), "does not end within"),
        (b"!<arch>\n" + member("#1/9", b"abcd"), "asks for more bytes"),
    ],
)
def test_damage_is_a_format_error(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_ar(memoryview(data))


def test_a_recording_within_an_archive_is_named_and_not_opened(kernlens: Kernlens, tmp_path: Path) -> None:
    path = tmp_path / "lib.ar"
    path.write_bytes(archive([member("k.klens/", b"SQLite format 3\0" + bytes(84))]))
    done = kernlens("inspect", path)
    assert done.status == 0
    assert "recording k.klens" in done.out
    assert kernlens("extract", path, "-o", tmp_path / "parts").status == 0
    assert (tmp_path / "parts/containers/lib.parts/k.klens").exists()
