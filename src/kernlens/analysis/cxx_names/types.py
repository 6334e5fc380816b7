"""The types and template arguments within C++'s mangled names.

Source: Itanium C++ ABI, sections 5.1.5 "Type encodings" and 5.1.10 "Compression".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from kernlens.analysis.cxx_names.grammar import (
    BINARY,
    BUILT_IN,
    BUILT_IN_D,
    DEEPEST,
    OPERATORS,
    QUALIFIERS,
    STANDARD,
    SUFFIXES,
    UNARY,
    Cursor,
    OtherGrammarError,
    Type,
    pointing,
)

#: A template argument: its text, or those of a pack.
_Argument = Type | list["_Argument"]
_LAMBDA = "the parameters of a lambda, which it calls auto"


class _Substitution(NamedTuple):
    """What ``S_`` and its like stand for. A template ``parameter`` is looked up anew where the substitution stands; any
    other type that holds parameters is right only where they are ``bound`` to the same arguments."""

    type: Type
    parameter: int | None
    bound: object


class TypeReader(Cursor, ABC):
    """Reads types; what reads the names in them is its subclass."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.substitutions: list[_Substitution] = []
        #: The last template arguments that a parameter stood for, or the lambda's mark.
        self.bound: object = None
        self.arguments: list[_Argument] = []
        #: The element of a pack that is being written out, and how many elements that pack has.
        self.element: int | None = None
        self.pack_size: int | None = None
        self.in_lambda = False
        #: Whether the name read last ends with template arguments, and whether it is one without a returned type.
        self.is_template = False
        self.is_special = False

    @abstractmethod
    def name(self, qualifiers: list[str] | None = None) -> Type: ...

    @abstractmethod
    def encoding(self, *, with_return: bool = True) -> str: ...

    @abstractmethod
    def parameters(self) -> str: ...

    @abstractmethod
    def source_name(self) -> str: ...

    def remember(self, type: Type, parameter: int | None = None) -> Type:
        bound = self.bound if self.bound is self.context else None
        self.substitutions.append(_Substitution(type, parameter, bound))
        return type

    @property
    def context(self) -> object:
        """What template parameters stand for here."""
        return _LAMBDA if self.in_lambda else self.arguments

    def template(self, name: Type) -> Type:
        is_special = self.is_special
        said = self.template_arguments()
        self.is_template, self.is_special = True, is_special
        return Type(name.left + (" " if name.left.endswith("<") else "") + said)

    def substitution(self) -> Type:
        self.need("S")
        if self.peek() in STANDARD:
            return Type(STANDARD[self.step()])
        number = self.sequence("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        if number >= len(self.substitutions):
            raise OtherGrammarError
        found = self.substitutions[number]
        if found.parameter is not None:
            return self.parameter(found.parameter)
        if found.bound is not None and found.bound is not self.context:
            # It holds parameters of another template, which stand for something else here.
            raise OtherGrammarError
        return found.type

    # Templates.

    def template_parameter(self) -> Type:
        self.need("T")
        number = self.sequence("0123456789")
        return self.remember(self.parameter(number), number)

    def parameter(self, number: int) -> Type:
        self.bound = self.context
        if self.in_lambda:
            return Type(f"auto:{number + 1}")
        if number >= len(self.arguments):
            raise OtherGrammarError
        found = self.arguments[number]
        if isinstance(found, list):
            if self.element is None:
                return Type(_joined(found))
            self.pack_size = len(found)
            found = found[self.element] if self.element < len(found) else Type("")
            return Type(_joined(found)) if isinstance(found, list) else found
        return found

    def template_arguments(self) -> str:
        self.need("I")
        found: list[_Argument] = []
        outer = self.in_lambda
        while not self.take("E"):
            found.append(self.template_argument())
        self.in_lambda = outer
        self.arguments = found
        said = _joined(found)
        return f"<{said}{' ' if said.endswith('>') else ''}>"

    def template_argument(self) -> _Argument:
        if self.take("L"):
            return self.literal()
        if self.peek() in ("J", "I"):
            self.step()
            self.depth += 1
            if self.depth > DEEPEST:
                raise OtherGrammarError
            pack: list[_Argument] = []
            while not self.take("E"):
                pack.append(self.template_argument())
            self.depth -= 1
            return pack
        if self.take("X"):
            said = self.expression()
            self.need("E")
            return said
        # The arguments of a template within stay its own.
        outer = self.arguments
        found = self.type()
        self.arguments = outer
        return found

    def expression(self) -> Type:
        """An expression of literals, template parameters and operators, as they choose among overloads (enable_if)."""
        return self.nested(self._expression)

    def _expression(self) -> Type:
        if self.take("L"):
            return self.literal()
        if self.take("T"):
            # In an expression it is no type, and so nothing that S_ could stand for.
            return self.parameter(self.sequence("0123456789"))
        code = self.step() + self.step()
        if code in UNARY:
            return Type(f"{OPERATORS[code]}({self.expression()})")
        if code not in BINARY:
            raise OtherGrammarError
        said = f"({self.expression()}){OPERATORS[code]}({self.expression()})"
        return Type(f"({said})" if code == "gt" else said)

    def literal(self) -> Type:
        if self.take("_Z"):
            said = Type(self.encoding(with_return=False))
            self.need("E")
            return said
        code = self.peek()
        type = self.type()
        end = self.text.find("E", self.position)
        value = self.text[self.position : end]
        if end < 0 or len(value) > 64:
            raise OtherGrammarError
        self.position = end + 1
        value = value.replace("n", "-", 1) if value.startswith("n") else value
        if code == "b":
            return Type({"0": "false", "1": "true"}.get(value, value))
        if code in SUFFIXES:
            return Type(value + SUFFIXES[code])
        return Type(f"({type}){value}")

    # Types.

    def type(self) -> Type:
        return self.nested(self._type)

    def _type(self) -> Type:
        code = self.peek()
        if code in BUILT_IN:
            return Type(BUILT_IN[self.step()])
        if code in QUALIFIERS:
            return self.qualified()
        if code.isdecimal() or code in ("N", "Z"):
            return self.remember(self.own_arguments())
        if code == "S":
            return self.substituted()
        if code == "T":
            found = self.template_parameter()
            return self.remember(Type(found.left + self.template_arguments())) if self.peek() == "I" else found
        self.step()
        match code:
            case "P" | "R" | "O":
                return self.remember(pointing(self.type(), {"P": "*", "R": "&", "O": "&&"}[code]))
            case "F":
                self.take("Y")
                returned = self.type()
                parameters = self.parameters()
                self.need("E")
                return self.remember(Type(f"{returned.left} ", f"({parameters}){returned.right}"))
            case "A":
                size = str(self.number()) if self.peek().isdecimal() else ""
                self.need("_")
                element = self.type()
                return self.remember(Type(f"{element.left} ", f"[{size}]{element.right.lstrip()}"))
            case "M":
                owner, member = self.type(), self.type()
                return self.remember(pointing(member, f"{owner}::*"))
            case "U":
                qualifier = self.source_name()
                inner = self.type()
                return self.remember(Type(f"{inner.left} {qualifier}", inner.right))
            case "u":
                return self.remember(Type(self.source_name()))
            case "D":
                return self.type_of_two_letters()
        raise OtherGrammarError

    def own_arguments(self) -> Type:
        """A name whose template arguments are not those that ``T_`` means outside it."""
        outer = self.arguments
        found = self.name()
        self.arguments = outer
        return found

    def qualified(self) -> Type:
        words = ""
        while self.peek() in QUALIFIERS:
            words = QUALIFIERS[self.step()] + words
        inner = self.type()
        if inner.right.startswith("("):
            return self.remember(Type(inner.left, inner.right + words))
        if inner.right.startswith("["):
            return self.remember(Type(f"{inner.left.rstrip()}{words} ", inner.right))
        return self.remember(Type(inner.left + words, inner.right))

    def substituted(self) -> Type:
        following = self.text[self.position + 1 : self.position + 2]
        if following == "t":
            return self.remember(self.own_arguments())
        found = self.substitution()
        if self.peek() != "I":
            return found
        outer = self.arguments
        found = self.template(found)
        self.arguments = outer
        return self.remember(found)

    def type_of_two_letters(self) -> Type:
        code = self.step()
        if code in BUILT_IN_D:
            return Type(BUILT_IN_D[code])
        if code == "F":
            bits = self.number()
            if self.take("b"):
                return Type("std::bfloat16_t")
            self.need("_")
            return Type(f"_Float{bits}")
        if code == "v":
            count = self.number()
            self.need("_")
            element = self.type()
            return self.remember(Type(f"{element} __vector({count})"))
        if code == "p":
            return self.expansion()
        raise OtherGrammarError

    def expansion(self) -> Type:
        """A type that is written out for each element of the pack that it names."""
        start, known = self.position, len(self.substitutions)
        outer = self.element, self.pack_size
        self.element, self.pack_size = 0, None
        texts = [str(self.type())]
        size = self.pack_size
        end, substitutions = self.position, self.substitutions[:]
        if size is None:
            texts = [f"{texts[0]}..."]
        else:
            texts = texts[:size]
            for element in range(1, size):
                self.position, self.element = start, element
                del self.substitutions[known:]
                texts.append(str(self.type()))
        self.position, self.substitutions = end, substitutions
        self.element, self.pack_size = outer
        return self.remember(Type(", ".join(texts)))


def _joined(arguments: list[_Argument]) -> str:
    texts = [_joined(argument) if isinstance(argument, list) else str(argument) for argument in arguments]
    return ", ".join(text for text in texts if text)
