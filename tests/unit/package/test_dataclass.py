"""``kernlens.dataclass``: classes like those of the standard library, whose methods are compiled when they are called."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from kernlens.dataclass import LONGEST_REPR, NamedTuple, dataclass
from tests.tree import PACKAGE, nodes_of, package_files
from tests.unit.package.test_package import FOR_ANNOTATE

OPTIONS: list[dict[str, bool]] = [
    {},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "eq": False},
    {"frozen": True, "slots": True, "order": True},
    {"slots": True},
]


def defined(decorator: Callable[..., Any], options: dict[str, bool]) -> Any:
    class Place:
        """A place."""

        path: str
        line: int = 1
        calls: list[int] = dataclasses.field(default_factory=list, compare=False)
        text: str | None = dataclasses.field(default=None, repr=False)
        uses: list[int] = dataclasses.field(default_factory=list, init=False)
        limit: int = dataclasses.field(default=7, init=False)
        length: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            if self.line < 0:
                raise ValueError
            object.__setattr__(self, "length", len(self.path))

    return decorator(**options)(Place)


def outcome(action: Callable[[], Any]) -> Any:
    """What an action returns, or what it raises."""
    try:
        return action()
    except Exception as error:
        return type(error), "" if isinstance(error, TypeError) else str(error)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(
    "action",
    [
        lambda cls: repr(cls("a.cl", 3, [1], "text")),
        lambda cls: repr(cls(path="a.cl")),
        lambda cls: cls("a.cl").calls is cls("a.cl").calls,
        lambda cls: cls(),
        lambda cls: cls("a.cl", wrong=1),
        lambda cls: cls("a.cl", -1),
        lambda cls: cls("a.cl") == cls("a.cl", 1, [5]),
        lambda cls: cls("a.cl") != cls("a.cl", text="other"),
        lambda cls: cls("a.cl") == ("a.cl", 1, None),
        lambda cls: cls("a.cl") < cls("b.cl"),
        lambda cls: cls("a.cl", 2) >= cls("a.cl", 2),
        lambda cls: cls("a.cl") < 5,
        lambda cls: len({cls("a.cl"), cls("a.cl", 1, [7])}),
        lambda cls: setattr(cls("a.cl"), "line", 5),
        lambda cls: delattr(cls("a.cl"), "line"),
        lambda cls: repr(dataclasses.replace(cls("a.cl", 3), path="b.cl")),
        lambda cls: dataclasses.asdict(cls("a.cl", 3)),
        lambda cls: [(field.name, field.type, field.repr) for field in dataclasses.fields(cls)],
        lambda cls: str(inspect.signature(cls)),
        lambda cls: cls("a.cl", 1, [], None, [5]),
        lambda cls: (cls("a.cl").uses is cls("a.cl").uses, cls("a.cl").limit, cls("a.cl").length),
        lambda cls: repr(copy.copy(cls("a.cl", 3, [1]))),
        lambda cls: repr(copy.deepcopy(cls("a.cl", 3, [1]))),
        lambda cls: vars(cls("a.cl", 3)),
        lambda cls: cls.__match_args__,
        lambda cls: cls.__doc__,
    ],
)
def test_a_class_is_like_one_of_the_standard_library(action: Callable[[Any], Any], options: dict[str, bool]) -> None:
    theirs, ours = defined(dataclasses.dataclass, options), defined(dataclass, options)
    expected = outcome(lambda: action(theirs))
    assert outcome(lambda: action(ours)) == expected
    assert outcome(lambda: action(ours)) == expected, "the second time, when the methods are compiled"


@dataclass(frozen=True, slots=True)
class Sent:
    """An object that goes to another process."""

    name: str
    size: int = 0


def test_frozen_objects_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Sent("a", 5))) == Sent("a", 5)


def test_nothing_is_compiled_before_it_is_called() -> None:
    cls = defined(dataclass, {"frozen": True})
    stub = cls.__init__
    cls("a.cl")
    assert cls.__init__.__code__.co_varnames == ("self", "path", "line", "calls", "text")
    assert vars(cls)["__hash__"].__code__ is stub.__code__, "as nobody has hashed one"


@pytest.mark.parametrize("options", [{"kw_only": True}, {"hash": False}], ids=str)
def test_what_it_does_not_know_is_refused(options: dict[str, Any]) -> None:
    class Place:
        line: int = dataclasses.field(**options)

    with pytest.raises(TypeError, match="Place: fields with kw_only or hash"):
        dataclass()(Place)


class Theirs(typing.NamedTuple):
    """A place."""

    path: str
    line: int = 1
    calls: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return f"{self.path}:{self.line}"

    def __bool__(self) -> bool:
        return self.line > 0


class Ours(NamedTuple):
    """A place."""

    path: str
    line: int = 1
    calls: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return f"{self.path}:{self.line}"

    def __bool__(self) -> bool:
        return self.line > 0


@pytest.mark.parametrize(
    "action",
    [
        lambda cls: repr(cls("a.cl", 3)).partition("(")[2],
        lambda cls: cls("a.cl") == ("a.cl", 1, ()),
        lambda cls: (cls("a.cl").words, bool(cls("a.cl", 0))),
        lambda cls: cls(),
        lambda cls: cls("a.cl", wrong=1),
        lambda cls: setattr(cls("a.cl"), "line", 2),
        lambda cls: cls("a.cl")._replace(line=2)._asdict(),
        lambda cls: pickle.loads(pickle.dumps(cls("a.cl"))) == cls("a.cl"),
        lambda cls: (cls._fields, cls._field_defaults, cls.__match_args__, cls.__bases__, cls.__orig_bases__),
        lambda cls: typing.get_type_hints(cls),
        lambda cls: [str(kind).replace("ForwardRef('", "").replace("')", "") for kind in cls.__annotations__.values()],
        lambda cls: [parameter.name for parameter in inspect.signature(cls).parameters.values()],
        lambda cls: (cls.__doc__, cls.__module__),
        lambda cls: (cls.__name__.lower(), cls.__qualname__.lower()) == (cls.__name__.lower(),) * 2,
    ],
)
def test_a_tuple_with_names_is_like_one_of_the_standard_library(action: Callable[[Any], Any]) -> None:
    assert outcome(lambda: action(Ours)) == outcome(lambda: action(Theirs))


def test_what_a_short_command_loads_makes_its_tuples_cheaply() -> None:
    slow = [
        f"{name}: {alias.name}"
        for name in FOR_ANNOTATE - {".dataclass"}
        for path in (PACKAGE.joinpath(*name.split(".")).with_suffix(".py"),)
        if path.is_file()
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom) and node.module == "typing"
        for alias in node.names
        if alias.name == "NamedTuple"
    ]
    assert slow == []


@pytest.mark.slow
def test_no_class_of_the_package_is_made_the_slow_way() -> None:
    slow = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in package_files()
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if path.name != "dataclass.py" and any(alias.name == "dataclass" for alias in node.names)
    ]
    assert slow == []


def test_a_short_text_has_all_fields() -> None:
    """Those at their defaults are left out of a text that is too long for a prompt, and of no other."""

    @dataclass(frozen=True)
    class Sized:
        name: str
        count: int = 3

    assert repr(Sized("a")).endswith("Sized(name='a', count=3)")
    assert "count" not in repr(Sized("a" * 2 * LONGEST_REPR))
