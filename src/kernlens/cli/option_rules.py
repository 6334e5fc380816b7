"""Options that exclude or need one another: each verb has a table of rules, which are checked here before it does anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from kernlens.dataclass import dataclass

#: The options on a command line that follow from others there, such as a format from the name of a file.
Implied = Callable[[Mapping[str, Any]], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of one ``option``: it needs one of ``needs``, or ``excludes`` others; ``why`` is a clause about the option.
    Without an ``option`` it is one of the whole command line, and ``why`` says it all.

    An option is written as users write it, in any of its spellings, with its value where the rule is about that
    (``--format csv``). The rule counts ``when`` one of these is there too (none: always), and not where ``unless`` is.
    """

    option: str
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    why: str = ""
    when: tuple[str, ...] = ()
    unless: str = ""

    def broken(self, words: frozenset[str]) -> str | None:
        """Return the sentence on how these options break the rule, None if they do not."""
        if not self.option:
            return self.why if words.isdisjoint(self.needs) else None
        if self.option not in words or self.unless in words or (self.when and words.isdisjoint(self.when)):
            return None
        if self.needs and words.isdisjoint(self.needs):
            return f"{self.option} needs {' or '.join(self.needs)}" + (f": {self.why}" if self.why else "")
        there = [each for each in self.excludes if each in words]
        return f"{self.option} {self.why}; remove {', '.join(there)}" if there else None


def one_of(*options: str) -> tuple[Rule, ...]:
    """Return the rules of options that exclude each other."""
    return tuple(
        Rule(each, excludes=(other,), why=f"and {other} exclude each other")
        for number, each in enumerate(options)
        for other in options[number + 1 :]
    )


def check(rules: Sequence[Rule], context: click.Context, implied: Implied | None = None) -> None:
    """Raise UsageError if the options of a command line break one of these rules."""
    if not rules:
        return
    words = frozenset([*_words(context), *(implied(context.params) if implied is not None else ())])
    broken = {rule: sentence for rule in rules if (sentence := rule.broken(words)) is not None}
    if broken:
        (rule, sentence), *_ = broken.items()
        *others, last = [
            each.option for each in broken if each == rule or (each.needs, each.why) == (rule.needs, rule.why)
        ]
        alike = f"{', '.join(others)} and {last} need" if others and rule.needs else f"{rule.option} needs"
        raise click.UsageError(sentence.replace(f"{rule.option} needs", alike, 1))


def _words(context: click.Context) -> Iterator[str]:
    """Yield what the usage calls each argument, and the spellings of each option that is there, those of one text with that
    too."""
    for option in context.command.params:
        name = option.name or ""
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params.get(name)
        if not isinstance(option, click.Option):
            yield from [option.metavar or name.upper()] if value else []
            continue
        yield from option.opts
        if isinstance(value, str):
            yield from (f"{spelling} {value}" for spelling in option.opts)
