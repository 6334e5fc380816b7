"""The drivers' link and inspection logs as data. The logs are as 22.43 and 26.27 print them, addresses apart."""

from __future__ import annotations

from kernlens.runtime.level_zero.module_links import parse_dynamic_link, parse_inspection
from kernlens.runtime.level_zero.result_codes import LINK_FAILURE, SUCCESS

#: Handles by name; 26.27's log says the handle minus 8, 22.43's the handle itself.
NAMES = {0x1008: "importer", 0x2008: "exporter"}
RESOLVED = "Module <{}>:  Unresolved Symbol <helper> Successfully Resolved Thru Dynamic Link to Module <{}>"


def test_link_that_succeeds() -> None:
    # One line per relocation: the same symbol twice.
    log = "\n".join([RESOLVED.format("0x1000", "0x2000")] * 2)
    link = parse_dynamic_link(SUCCESS, log, NAMES)
    assert link.linked
    assert link.result_name == "ZE_RESULT_SUCCESS"
    assert [(resolution.symbol, resolution.user, resolution.provider) for resolution in link.resolutions] == [
        ("helper", "importer", "exporter")
    ]
    assert link.missing == ()


def test_addresses_that_are_handles() -> None:
    link = parse_dynamic_link(SUCCESS, RESOLVED.format("0x1008", "0x2008"), NAMES)
    assert [(resolution.user, resolution.provider) for resolution in link.resolutions] == [("importer", "exporter")]


def test_link_that_fails() -> None:
    log = "Module <0x1000>:  Unresolved Symbol <helper>\nModule <0x1000>:  Unresolved Symbol <helper>\n"
    link = parse_dynamic_link(LINK_FAILURE, log, NAMES)
    assert not link.linked
    assert link.result_name == "ZE_RESULT_ERROR_MODULE_LINK_FAILURE"
    assert [(symbol.symbol, symbol.user, symbol.provider) for symbol in link.missing] == [("helper", "importer", None)]
    assert link.resolutions == ()
    assert link.log == log.replace("0x1000", "importer")


def test_modules_that_are_not_known() -> None:
    link = parse_dynamic_link(SUCCESS, RESOLVED.format("0x9999", "nonsense"), NAMES)
    assert [(resolution.user, resolution.provider) for resolution in link.resolutions] == [(None, None)]


def test_inspection_with_repeated_lines() -> None:
    log = (
        "Module <0x1000>:  Imported Symbol <helper>\n"
        "Module <0x1000>:  Imported Symbol <helper>\n"
        "Module <0x1000>:  Unresolved Imported Symbol <helper>\n"
        "Module <0x2000>:  Exported Symbol <counter>\n"
    )
    importer, exporter = parse_inspection(log, NAMES)
    assert (importer.module, importer.imports, importer.unresolved, importer.exports) == (
        "importer",
        ("helper",),
        ("helper",),
        (),
    )
    assert (exporter.module, exporter.exports, exporter.imports) == ("exporter", ("counter",), ())
    assert importer.origin == "zeModuleInspectLinkageExt"


def test_modules_of_one_name_stay_apart() -> None:
    log = "Module <0x1000>:  Imported Symbol <a>\nModule <0x2000>:  Imported Symbol <b>\n"
    first, second = parse_inspection(log, {0x1008: "module", 0x2008: "module"})
    assert (first.imports, second.imports) == (("a",), ("b",))
