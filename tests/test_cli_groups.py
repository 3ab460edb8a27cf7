"""A dataclass of options in a command's signature is read by typer as its fields, in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from ytrag_core.cli_groups import with_groups


@dataclass(frozen=True, slots=True)
class Size:
    """A group of two options."""

    width: Annotated[int, typer.Option("--width", min=1, help="How wide.")] = 3
    names: Annotated[list[str] | None, typer.Option("--name", help="Repeatable.")] = None


@with_groups
def draw(
    what: Annotated[str, typer.Argument(metavar="WHAT")],
    *,
    loud: Annotated[bool, typer.Option("--loud")] = False,
    size: Size,
    last: Annotated[bool, typer.Option("--last")] = False,
) -> None:
    """Draw something."""
    typer.echo(f"{what} {loud} {size} {last}")


app = typer.Typer()
app.command()(draw)


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def test_a_command_gets_its_group_with_defaults_and_with_what_was_given() -> None:
    assert said("line") == "line False Size(width=3, names=None) False"
    assert said("line", "--name", "a", "--last", "--width", "5", "--name", "b") == (
        "line False Size(width=5, names=['a', 'b']) True"
    )


def test_the_options_of_a_group_stand_in_its_place_and_are_checked() -> None:
    shown = said("--help")
    places = [shown.index(option) for option in ("Draw something", "--loud", "--width", "--name", "--last")]
    assert places == sorted(places)
    refused = CliRunner().invoke(app, ["line", "--width", "0"])
    assert refused.exit_code == 2
    assert "--width" in refused.output
