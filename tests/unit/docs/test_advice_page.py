"""docs/advice.md has a section for each rule, to which the rule's advice links."""

from __future__ import annotations

import re

from kernlens.analysis.advice.rules import RULES
from kernlens.model.advice import PAGE
from tests.tree import ROOT


def test_each_rule_has_its_section() -> None:
    titles = re.findall(r"^## (.*)$", (ROOT / PAGE).read_text("utf-8"), re.MULTILINE)
    assert [rule.title for rule in RULES] == [title for title in titles if title != "How often the rules speak"]
    assert [rule.key for rule in RULES] == [re.sub(r"[^\w]+", "-", rule.title.lower()) for rule in RULES]


def test_each_section_says_what_to_do_and_when_the_rule_is_silent() -> None:
    sections = re.split(r"^## ", (ROOT / PAGE).read_text("utf-8"), flags=re.MULTILINE)[1:]
    for section in sections:
        if not section.startswith("How often"):
            assert "* **What to do.**" in section, section[:40]
            assert "* **Silent**" in section, section[:40]
