"""YAML that people write: values that are none are errors with a line, never a traceback."""

from typing import Any

import yaml


class PlainLoader(yaml.SafeLoader):
    """YAML for values that are made, printed and stored: a tree of numbers and text.

    Raises:
        yaml.MarkedYAMLError: also for a date or a number that is none, half of a character, or an
            alias of what it stands in.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._around: list[str] = []

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose the next node; see ``yaml.composer.Composer``."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in self._around:
                raise _wrong(event, f"*{event.anchor} stands inside &{event.anchor}")
            return super().compose_node(parent, index)
        self._around.append(event.anchor)
        node = super().compose_node(parent, index)
        self._around.pop()
        if isinstance(node, yaml.ScalarNode) and any("\ud800" <= c <= "\udfff" for c in node.value):
            raise _wrong(node, f"{node.value!a} has half of a surrogate pair, no character")
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Construct the value of a node; see ``yaml.constructor.BaseConstructor``."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, AttributeError):
            kind = node.tag.rpartition(":")[2]
            text = node.value if len(node.value) <= 40 else f"{node.value[:40]}..."
            message = f"{text!r} is no {kind}; put it in quotes if it is a text"
            raise _wrong(node, message) from None


def _wrong(what: Any, message: str) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, message, what.start_mark)


def unreadable(error: Exception) -> str:
    """Return what to say after the file's name of an error that reading or parsing raised.

    Args:
        error: OSError, ValueError, yaml.YAMLError or RecursionError.
    """
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    if isinstance(error, UnicodeDecodeError):
        return f"is no text in UTF-8: {error}"
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        what = ", ".join(part for part in (error.context, error.problem) if part)
        return f"line {error.problem_mark.line + 1} is no YAML: {what}"
    return "is no YAML: " + " ".join(str(error).split())
