"""Sections of a study file that choose a registered part and set its options.

Which options there are, of which type and with which default, is what the part's factory says:
an optimizer of another package is checked like a built-in one.
"""

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ..space.suggest import did_you_mean


class Choice(BaseModel):
    """The name of a registered part, and its options beside it."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    name: str

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of the part's factory."""
        return dict(self.model_extra or {})


def complete(choice: Choice, factory: Callable[..., Any]) -> Choice:
    """Return the choice with every default written out, so that it keeps its meaning."""
    from ..search.registry import option_names

    parameters = inspect.signature(factory).parameters
    defaults = {
        name: parameters[name].default
        for name in option_names(factory)
        if parameters[name].default is not inspect.Parameter.empty
    }
    return Choice(name=choice.name, **(defaults | choice.options))


def option_problems(choice: Choice, factory: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """Yield (option, what is wrong with it) for every option that the factory would refuse."""
    from ..search.registry import option_names

    valid = option_names(factory)
    hints = _hints(factory)
    for option, value in choice.options.items():
        if option not in valid:
            hint = did_you_mean(option, valid) if valid else "it has no options"
            yield option, f"is no option of {choice.name!r}; {hint}"
        elif option in hints:
            try:
                TypeAdapter(hints[option]).validate_python(value, strict=True)
            except ValidationError as error:
                rule = error.errors()[0]["msg"].replace("Input should be", "must be")
                yield option, f"{value!r} {rule}"


def _hints(factory: Callable[..., Any]) -> dict[str, Any]:
    target = factory.func if isinstance(factory, partial) else factory
    return get_type_hints(target.__init__ if inspect.isclass(target) else target)
