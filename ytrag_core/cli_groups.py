"""Groups of options that belong together: a dataclass whose fields become options of a command."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["with_groups"]


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in a form that typer reads: in place of each group stand its options.

    Parameters
    ----------
    command
        A function of options. A parameter whose type is a dataclass is a group: each field of that, an
        annotated option with a default, is an option of the command, and the command gets them together.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    options: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            options += _options_of(groups[name])
        else:
            options.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def called(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    read_by_typer: Any = called
    read_by_typer.__signature__ = Signature(options)
    read_by_typer.__annotations__ = {option.name: option.annotation for option in options}
    return called


def _options_of(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
        for field in fields(group)
    ]
