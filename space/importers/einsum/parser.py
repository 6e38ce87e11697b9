"""Parser of a line: ``T[ranks] = expression``.

::

    expression = term {("+" | "-") term}
    term       = factor {("*" | "/") factor}
    factor     = number | tensor "[" indices "]" | function "(" expression {"," rank} ")"
               | "(" expression ")"
    index      = part {("+" | "-") part}      part = number | [number "*"] rank | rank "*" number
"""

import re
from dataclasses import dataclass, field
from typing import Final

from .syntax import (
    Access,
    Call,
    Einsum,
    EinsumError,
    Expression,
    Index,
    Number,
    Product,
    Quotient,
    Sum,
)

#: a line that people write has a tenth
_LONGEST: Final = 4000
_DEEPEST: Final = 40

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\S))",
    re.ASCII,
)
_END: Final = "the end"


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


def parse_einsum(text: str) -> Einsum:
    """Return a line as its parts.

    Raises:
        EinsumError: it is no such line; names the place in it.
    """
    if len(text) > _LONGEST:
        raise EinsumError(f"has {len(text)} characters, must have at most {_LONGEST}")
    return _Parser(_tokens(text)).einsum()


def _tokens(text: str) -> list[_Token]:
    found = []
    for match in _TOKEN.finditer(text.rstrip()):
        kind = match.lastgroup or ""
        found.append(_Token(kind, match.group(kind), match.start(kind) + 1))
    return [*found, _Token("end", _END, len(text.rstrip()) + 1)]


@dataclass
class _Parser:
    tokens: list[_Token]
    position: int = 0
    depth: int = field(default=0)

    @property
    def now(self) -> _Token:
        return self.tokens[self.position]

    def einsum(self) -> Einsum:
        tensor = self.name("a tensor")
        self.need("[")
        ranks = self.names_until("]")
        self.need("=")
        value = self.expression()
        if self.now.kind != "end":
            raise self.expected("an operator or the end")
        repeated = [rank for rank in ranks if ranks.count(rank) > 1]
        if repeated:
            raise EinsumError(f"rank {repeated[0]} occurs twice in {tensor}[{','.join(ranks)}]")
        return Einsum(tensor, ranks, value)

    def expression(self) -> Expression:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise EinsumError(f"is nested more than {_DEEPEST} levels deep")
        terms = [self.term()]
        while self.taken("+") or self.taken("-"):
            terms.append(self.term())
        self.depth -= 1
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))

    def term(self) -> Expression:
        factors = [self.factor()]
        while True:
            if self.taken("*"):
                factors.append(self.factor())
            elif self.taken("/"):
                before = factors[0] if len(factors) == 1 else Product(tuple(factors))
                factors = [Quotient(before, self.factor())]
            else:
                return factors[0] if len(factors) == 1 else Product(tuple(factors))

    def factor(self) -> Expression:
        if self.taken("("):
            inner = self.expression()
            self.need(")")
            return inner
        if self.now.kind == "number":
            return Number(float(self.take().text))
        column = self.now.column
        name = self.name("a tensor, a function, a number or (")
        if self.taken("["):
            indices = self.indices()
            return Access(name, indices)
        if self.taken("("):
            argument = self.expression()
            if self.taken(","):
                return Call(name, argument, self.names_until(")"))
            self.need(")")
            return Call(name, argument)
        raise EinsumError(f"{name} at character {column} has no ranks; write them as {name}[...]")

    def indices(self) -> tuple[Index, ...]:
        """Read what stands up to the closing bracket."""
        found: list[Index] = []
        while not self.taken("]"):
            if found:
                self.need(",", "]")
            found.append(self.index())
        return tuple(found)

    def index(self) -> Index:
        first = self.position
        factors: dict[str, int] = {}
        offset, sign = 0, -1 if self.taken("-") else 1
        while True:
            number, rank = self.part()
            if rank is None:
                offset += sign * number
            elif rank in factors:
                raise EinsumError(f"rank {rank} occurs twice in index {self.text(first)}")
            else:
                factors[rank] = sign * number
            if self.now.text not in ("+", "-"):
                break
            sign = -1 if self.take().text == "-" else 1
        for rank, factor in factors.items():
            if factor < 1:
                raise EinsumError(
                    f"index {self.text(first)} has {factor} times rank {rank}, must be 1 or more"
                )
        if not factors:
            raise EinsumError(f"index {self.text(first)} has no rank; it needs one")
        return Index(tuple((factor, rank) for rank, factor in factors.items()), offset)

    def part(self) -> tuple[int, str | None]:
        if self.now.kind == "number":
            number = self.whole()
            return number, self.name("a rank") if self.taken("*") else None
        rank = self.name("a rank or a number")
        return (self.whole() if self.taken("*") else 1), rank

    def whole(self) -> int:
        token = self.take()
        if not token.text.isdigit() or len(token.text) > 9:
            raise EinsumError(
                f"{token.text!r} at character {token.column} must be a whole number in an index"
            )
        return int(token.text)

    def names_until(self, end: str) -> tuple[str, ...]:
        found: list[str] = []
        while not self.taken(end):
            if found:
                self.need(",", end)
            found.append(self.name("a rank"))
        return tuple(found)

    def name(self, what: str) -> str:
        if self.now.kind != "name":
            raise self.expected(what)
        return self.take().text

    def take(self) -> _Token:
        token = self.now
        if token.kind != "end":
            self.position += 1
        return token

    def taken(self, sign: str) -> bool:
        """Take a sign if it stands next."""
        if self.now.kind != "sign" or self.now.text != sign:
            return False
        self.position += 1
        return True

    def need(self, sign: str, other: str = "") -> None:
        if not self.taken(sign):
            raise self.expected(f"{sign} or {other}" if other else sign)

    def expected(self, what: str) -> EinsumError:
        found = self.now.text if self.now.kind == "end" else repr(self.now.text)
        return EinsumError(f"needs {what} at character {self.now.column}, has {found}")

    def text(self, first: int) -> str:
        return "".join(token.text for token in self.tokens[first : self.position])
