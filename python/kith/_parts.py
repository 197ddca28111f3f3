"""Losses, miners and samplers as C++ describes them: names, options, defaults
and help are written there and nowhere else."""

import difflib
import inspect
import json
import keyword
import textwrap
from typing import Any, Dict, Literal, NoReturn, Sequence

import torch

from . import _library  # noqa: F401  (loads the operators)

DESCRIPTION: Dict[str, Any] = json.loads(torch.ops.kith._describe())

_TYPES = {"float": float, "int": int, "true or false": bool, "text": str}


def draw_seed() -> int:
    """Of torch's own generator: torch.manual_seed() repeats it."""
    return int(torch.randint(2**62, (), device="cpu"))


def keyword_only(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY,
                             default=default, annotation=kind)


class OptionInfo:
    """An option of a part. `lambda` is called lambda_ in Python."""

    def __init__(self, fields: Dict[str, Any]):
        self.key: str = fields["name"]
        self.name = self.key + "_" * keyword.iskeyword(self.key)
        self.default = fields["default"]
        self.help: str = fields["help"]
        self.allowed: str = fields["allowed"]
        self.type = self._type_of(fields["type"])

    def _type_of(self, text: str) -> Any:
        if text.startswith("list of "):
            return Sequence[_TYPES[text[len("list of "):]]]
        if self.allowed.startswith("one of "):
            return Literal[tuple(self.allowed[len("one of "):].split(", "))]
        return _TYPES[text]

    def describe(self) -> str:
        allowed = f" ({self.allowed})" if self.allowed else ""
        return textwrap.fill(f"{self.name}: {self.help}{allowed}", 78,
                             initial_indent="    ",
                             subsequent_indent=" " * 8)


def _plain(value: Any) -> Any:
    """What json does not know: ranges, numbers and arrays of NumPy and torch."""
    if isinstance(value, range):
        return list(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"an option is a number, a text or a list, not {value!r}")


class Part:
    """A loss, miner or sampler: `fields` are those of its description, `before`
    and `after` the arguments beside its options."""

    def __init__(self, fields: Dict[str, Any],
                 before: Sequence[inspect.Parameter] = (),
                 after: Sequence[inspect.Parameter] = ()):
        self.fields = fields
        self.name: str = fields["name"]
        self.options = [OptionInfo(option) for option in fields["options"]]
        self.signature = inspect.Signature(
            [*before, *(keyword_only(option.name, option.type, option.default)
                        for option in self.options), *after])

    def bind(self, args: Sequence[Any], kwargs: Dict[str, Any]
             ) -> Dict[str, Any]:
        """The arguments by name, those left out with their defaults."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.fields['class']}(): {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def changed(self, given: Dict[str, Any]) -> Dict[str, Any]:
        """The options that are not at their defaults, as JSON knows them, by
        the names that C++ has for them."""
        options = {option.key: given[option.name] for option in self.options}
        plain = json.loads(json.dumps(options, default=_plain))
        return {option.key: plain[option.key] for option in self.options
                if plain[option.key] != option.default}

    def documentation(self, before: str, after: str) -> str:
        """A docstring; `before` and `after` are the arguments beside options."""
        fields = self.fields
        pieces = [textwrap.fill(_sentence(fields["summary"]), 78)]
        if fields["formula"]:
            pieces.append(textwrap.indent(fields["formula"], "    "))
        facts = [f"Source: {fields['source']}." if fields["source"] else "",
                 f"Cost: {fields['cost']}." if fields["cost"] else ""]
        pieces.append("\n".join(textwrap.fill(fact, 78)
                                for fact in facts if fact))
        lines = [before, *(option.describe() for option in self.options), after]
        pieces.append("\n".join(["Arguments:", *filter(None, lines)]))
        return "\n\n".join(piece for piece in pieces if piece)

    def make_class(self, base: type, before: str = "", after: str = "") -> type:
        """A class with this part's name, signature and documentation."""
        return type(self.fields["class"], (base,), {
            "__doc__": self.documentation(before, after),
            "__module__": base.__module__,
            "__signature__": self.signature,
            "part": self})


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def refuse_name(module: str, kind: str, name: str,
                by_name: Dict[str, type]) -> NoReturn:
    """AttributeError with what kith calls it, for a name that others use or
    that is misspelt."""
    there = {part: cls.__name__ for part, cls in by_name.items()}
    others: Dict[str, str] = DESCRIPTION["other_names"].get(kind, {})
    parts = [part for part in others.get(name, "").split(", ") if part in there]
    likely = [there[part] for part in parts] or difflib.get_close_matches(
        name, there.values(), 1)
    hint = "; kith calls it " if parts else "; did you mean "
    raise AttributeError(f"{module} has no {name!r}"
                         + (hint + " or ".join(likely) if likely else ""))
