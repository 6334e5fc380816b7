"""The names of functions and variables in C++'s mangled names."""

from __future__ import annotations

from kernlens.analysis.cxx_names.grammar import OPERATORS, QUALIFIERS, SPECIAL, OtherGrammarError, Type
from kernlens.analysis.cxx_names.types import TypeReader


class NameReader(TypeReader):
    """Reads one name from its beginning to its end; its text is what stands behind ``_Z``. ``identifiers`` are those read."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.identifiers: set[str] = set()

    def whole(self) -> str:
        said = self.encoding()
        rest = self.text[self.position :]
        if rest.startswith("."):
            return f"{said} [clone {rest}]"
        if rest:
            raise OtherGrammarError
        return said

    def encoding(self, *, with_return: bool = True) -> str:
        for code, words in SPECIAL.items():
            if self.take(code):
                return words + str(self.type() if code != "GV" else self.name())
        outer = self.arguments
        qualifiers: list[str] = []
        name = self.name(qualifiers)
        is_template, is_special = self.is_template, self.is_special
        if self.peek() in ("", "E", "."):
            self.arguments = outer
            return str(name)
        returned = self.type() if is_template and not is_special else None
        said = f"{name}({self.parameters()}){''.join(qualifiers)}"
        self.arguments = outer
        if returned is None or not with_return:
            return said
        return f"{returned.left} {said}{returned.right}"

    def parameters(self) -> str:
        types: list[str] = []
        while self.peek() not in ("", "E", "."):
            types += [text for text in [str(self.type())] if text]
        return "" if types == ["void"] else ", ".join(types)

    def name(self, qualifiers: list[str] | None = None) -> Type:
        return self.nested(lambda: self._name(qualifiers if qualifiers is not None else []))

    def _name(self, qualifiers: list[str]) -> Type:
        self.is_template = self.is_special = False
        if self.take("N"):
            return self.prefix(qualifiers)
        if self.take("Z"):
            return self.local(qualifiers)
        if self.peek() == "S" and self.peek(2) != "St":
            found = self.substitution()
        else:
            found = Type("std::" if self.take("St") else "")
            found = Type(found.left + self.unqualified(""))
            if self.peek() == "I":
                self.remember(found)
        return self.template(found) if self.peek() == "I" else found

    def prefix(self, qualifiers: list[str]) -> Type:
        while self.peek() in QUALIFIERS:
            qualifiers.append(QUALIFIERS[self.step()])
        for reference in ("R", "O"):
            if self.take(reference):
                qualifiers.append({"R": " &", "O": " &&"}[reference])
        found, last = Type(""), ""
        while not self.take("E"):
            if self.take("M"):
                continue
            is_new = True
            if self.peek() == "S" and self.peek(2) != "St":
                found, is_new = self.substitution(), False
                last = found.left.rpartition("::")[2]
            elif self.peek() == "T":
                found, is_new = self.template_parameter(), False
            elif self.peek() == "I":
                found = self.template(found)
            else:
                self.is_template = False
                piece = "std" if self.take("St") else self.unqualified(last)
                last = piece
                found = Type(f"{found.left}::{piece}" if found.left else piece)
                is_new = found.left != "std"
            if is_new and self.peek() != "E":
                self.remember(found)
        return found

    def local(self, qualifiers: list[str]) -> Type:
        outside = self.encoding(with_return=False)
        self.need("E")
        if self.take("s"):
            self.discriminator()
            return Type(f"{outside}::string literal")
        if self.take("d"):
            raise OtherGrammarError
        inside = self.name(qualifiers)
        self.discriminator()
        return Type(f"{outside}::{inside}")

    def discriminator(self) -> None:
        if self.peek(2) == "__":
            self.position += 2
            self.number()
            self.need("_")
        elif self.peek() == "_" and self.text[self.position + 1 : self.position + 2].isdecimal():
            self.position += 2

    def unqualified(self, last: str) -> str:
        """One part of a name; ``last`` is the part before it, whose name constructors have."""
        self.take("L")
        if self.peek().isdecimal():
            said = self.source_name()
        elif self.take("Ul"):
            said = self.lambda_name()
        elif self.take("Ut"):
            said = f"{{unnamed type#{self.sequence('0123456789') + 1}}}"
        elif self.peek() in ("C", "D") and self.text[self.position + 1 : self.position + 2] in tuple("012345"):
            is_destructor = self.step() == "D"
            self.step()
            self.is_special = True
            said = ("~" if is_destructor else "") + last.partition("<")[0]
        else:
            said = self.operator()
        while self.take("B"):
            said += f"[abi:{self.source_name()}]"
        return said

    def source_name(self) -> str:
        length = self.number()
        said = self.peek(length)
        if len(said) != length:
            raise OtherGrammarError
        self.position += length
        self.identifiers.add(said)
        return "(anonymous namespace)" if said.startswith("_GLOBAL__N") else said

    def lambda_name(self) -> str:
        outer, self.in_lambda = self.in_lambda, True
        said = self.parameters()
        self.in_lambda = outer
        self.need("E")
        return f"{{lambda({said})#{self.sequence('0123456789') + 1}}}"

    def operator(self) -> str:
        code = self.step() + self.step()
        if code == "cv":
            said = f"operator {self.type()}"
            self.is_special = True
            return said
        if code == "li":
            return f'operator"" {self.source_name()}'
        if code not in OPERATORS:
            raise OtherGrammarError
        return f"operator{OPERATORS[code]}"
