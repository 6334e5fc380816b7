"""``dataclasses.dataclass``, for classes that cost a fifth as much to define.

The standard library compiles six methods for each class, one by one, which takes 0.8 ms; a short command defines sixty
classes, a third of its time, and calls few of these methods. Here a method is compiled when it is called first. All else is
the standard library's: ``fields``, ``asdict``, signatures, pickles and type checkers see no difference; ``field`` and
``replace`` are given here too. Only a ``repr`` that would fill the screen is shortened.

``NamedTuple`` is that of ``typing`` without its checks of each field's type, which take two thirds of its time.
"""

from __future__ import annotations

import dataclasses
import typing
from collections import namedtuple
from dataclasses import field as field
from dataclasses import replace as replace
from reprlib import Repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn

#: The most characters of what a prompt shows of an object.
LONGEST_REPR = 200

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass as dataclass
    from inspect import Signature
    from typing import NamedTuple as NamedTuple

    #: Writes a class's method of this name, frozen or not: its text, and what that names besides the built-ins.
    Write = Callable[[Any, str, bool], tuple[str, dict[str, Any]]]
else:

    def dataclass(*, frozen=False, slots=False, eq=True, order=False):
        """Return a decorator that makes a class a dataclass with these options of the standard library's."""

        def decorate(cls):
            methods = {"__init__": _init, "__repr__": _repr}
            if eq:
                methods |= {"__eq__": _comparison, "__hash__": _hash if frozen else None}
            if order:
                methods |= dict.fromkeys(_COMPARISONS, _comparison)
            own = vars(cls)
            fields = _fields(cls)
            classes = []
            added = {
                name: write and _compiled_when_called(classes, name, write, frozen)
                for name, write in methods.items()
                if own.get(name) is None
            }
            added |= {"__dataclass_fields__": fields, "__dataclass_params__": _PARAMETERS, "__signature__": _SIGNATURE}
            if "__match_args__" not in own:
                added["__match_args__"] = tuple(entry.name for entry in fields.values() if entry.init)
            if frozen:
                added |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            if frozen and slots:
                added["__setstate__"] = _restore
            cls = _with_slots(cls, fields, added) if slots else _with(cls, fields, added)
            classes.append(cls)
            return cls

        return decorate

    class _TupleOfFields(type):
        """The class of what ``NamedTuple`` stands for among the bases of a class."""

        def __new__(cls, name, bases, space):
            kinds = space.pop("__annotations__", {})
            defaults = [space.pop(field) for field in kinds if field in space]
            tuples = namedtuple(name, kinds, defaults=defaults, module=space["__module__"])
            for attribute, value in (space | {"__orig_bases__": (typing.NamedTuple,)}).items():
                setattr(tuples, attribute, value)
            tuples.__annotations__ = tuples.__new__.__annotations__ = kinds
            return tuples

    class NamedTuple:
        """The base of a class whose objects are tuples with names: ``class Place(NamedTuple)``."""

        def __mro_entries__(self, bases):
            return (_BASE,)

    NamedTuple, _BASE = NamedTuple(), type.__new__(_TupleOfFields, "NamedTuple", (), {})


def _fields(cls: Any) -> dict[str, Any]:
    """Return the fields of a class by name, those of its bases first, as the standard library's decorator does: that one
    takes three times as long, half of it to make a class twice and to add to it one by one."""
    fields: dict[str, Any] = {}
    for base in cls.__mro__[-1:0:-1]:
        fields |= getattr(base, "__dataclass_fields__", {})
    for name, kind in cls.__annotations__.items():
        if str(kind).startswith(("ClassVar", "typing.ClassVar")):
            continue
        default = getattr(cls, name, dataclasses.MISSING)
        if isinstance(default, MemberDescriptorType):  # a slot of a base
            default = dataclasses.MISSING
        entry: Any = default if isinstance(default, dataclasses.Field) else field(default=default)
        if entry.kw_only is True or entry.hash is not None:
            raise TypeError(f"{cls.__name__}: fields with kw_only or hash are not supported here")
        if entry.default.__class__.__hash__ is None:
            raise ValueError(
                f"mutable default {type(entry.default)} for field {name} is not allowed: use default_factory"
            )
        entry.name, entry.type, entry.kw_only, entry._field_type = name, kind, False, _A_FIELD
        fields[name] = entry
    return fields


def _with(cls: Any, fields: Mapping[str, Any], added: Mapping[str, Any]) -> Any:
    """Return the class with what was added, and the defaults of its own fields alone."""
    for name, entry in fields.items():
        if vars(cls).get(name) is entry:
            if entry.default is dataclasses.MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, entry.default)
    for name, value in added.items():
        setattr(cls, name, value)
    return cls


def _with_slots(cls: Any, fields: Mapping[str, Any], added: Mapping[str, Any]) -> Any:
    """Return the class made once more, with what was added and a slot for each field that no base has a slot for."""
    inherited = {name for base in cls.__mro__[1:-1] for name in vars(base).get("__slots__", ())}
    left_out = {"__dict__", "__weakref__", *fields}
    space = {name: value for name, value in vars(cls).items() if name not in left_out}
    space |= added
    space["__slots__"] = tuple(name for name in fields if name not in inherited)
    space["__qualname__"] = cls.__qualname__
    return type(cls)(cls.__name__, cls.__bases__, space)


_COMPARISONS = {"__eq__": "==", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


def _compiled_when_called(classes: list[Any], name: str, write: Write, frozen: bool) -> Callable[..., Any]:
    """Return a method of the class, which is made later, that gives its place to the one that it compiles."""

    def method(*arguments: Any, **named: Any) -> Any:
        (cls,) = classes
        text, names = write(cls, name, frozen)
        exec(text, names)
        written = names[name]
        written.__module__, written.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
        if name == "__init__":
            written.__annotations__ = {field.name: field.type for field in dataclasses.fields(cls)} | {"return": None}
        setattr(cls, name, written)
        return written(*arguments, **named)

    return method


def _init(cls: Any, name: str, frozen: bool) -> tuple[str, dict[str, Any]]:
    names: dict[str, Any] = {"_set": object.__setattr__, "_made": dataclasses.MISSING}
    parameters, lines = ["self"], []
    for entry in dataclasses.fields(cls):
        parameter = value = entry.name
        if entry.default is not dataclasses.MISSING:
            if not entry.init and "__slots__" not in vars(cls):
                continue  # The class holds it.
            names[f"_default_{value}"] = entry.default
            parameter, value = f"{value}=_default_{value}", value if entry.init else f"_default_{value}"
        elif entry.default_factory is not dataclasses.MISSING:
            names[f"_make_{value}"] = entry.default_factory
            call = f"_make_{value}()"
            parameter, value = f"{value}=_made", f"{call} if {value} is _made else {value}" if entry.init else call
        elif not entry.init:
            continue  # ``__post_init__`` sets it.
        if entry.init:
            parameters.append(parameter)
        lines.append(f"  _set(self, {entry.name!r}, {value})" if frozen else f"  self.{entry.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("  self.__post_init__()")
    return "\n".join([f"def {name}({', '.join(parameters)}):", *lines]), names


def _repr(cls: Any, name: str, frozen: bool) -> tuple[str, dict[str, Any]]:
    shown = ", ".join(f"{field.name}={{self.{field.name}!r}}" for field in dataclasses.fields(cls) if field.repr)
    return f"def {name}(self): return _shortened(self, f'{{self.__class__.__qualname__}}({shown})')", {
        "_shortened": _shortened
    }


def in_short(text: str) -> str:
    """Return what an object shows of itself; of one too long for a prompt the middle is left out."""
    half = LONGEST_REPR // 2 - 2
    return text if len(text) <= LONGEST_REPR else f"{text[:half]}...{text[-half:]}"


def _shortened(value: Any, text: str) -> str:
    """Return the text of a dataclass; one too long for a prompt without fields at their defaults, and with the others cut."""
    if len(text) <= LONGEST_REPR:
        return text
    short = Repr()
    short.maxother = short.maxstring = 50
    short.maxtuple = short.maxlist = short.maxdict = short.maxarray = 2
    fields = [field for field in dataclasses.fields(value) if field.repr]
    pairs = [
        (field.name, getattr(value, field.name)) for field in fields if getattr(value, field.name) != field.default
    ]
    shown = ", ".join(f"{name}={short.repr(part)}" for name, part in pairs)
    return in_short(f"{type(value).__qualname__}({shown})")


def _hash(cls: Any, name: str, frozen: bool) -> tuple[str, dict[str, Any]]:
    return f"def {name}(self): return hash({_compared(cls, 'self')})", {}


def _comparison(cls: Any, name: str, frozen: bool) -> tuple[str, dict[str, Any]]:
    answer = f"{_compared(cls, 'self')} {_COMPARISONS[name]} {_compared(cls, 'other')}"
    same = "other.__class__ is self.__class__"
    return f"def {name}(self, other): return {answer} if {same} else NotImplemented", {}


def _compared(cls: Any, of: str) -> str:
    return f"({''.join(f'{of}.{field.name}, ' for field in dataclasses.fields(cls) if field.compare)})"


class _LazySignature:
    """The answer of ``inspect.signature`` for a class."""

    def __get__(self, instance: object, cls: Any) -> Signature:
        from inspect import signature

        fields = [(field.name, field.type, field) for field in dataclasses.fields(cls)]
        return signature(dataclasses.make_dataclass(cls.__name__, fields))


_SIGNATURE = _LazySignature()


@dataclasses.dataclass(init=False, repr=False, eq=False)
class _Sample:
    """A class of the standard library's, for what it marks its classes and fields with."""

    name: str


_PARAMETERS: Any = vars(_Sample)["__dataclass_params__"]
_A_FIELD: Any = vars(_Sample)["__dataclass_fields__"]["name"]._field_type


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _restore(self: object, state: tuple[None, Mapping[str, object]]) -> None:
    """Set the fields of an object that was pickled or copied."""
    for name, value in state[1].items():
        object.__setattr__(self, name, value)
