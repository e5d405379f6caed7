"""The product's own option parser, for command lines that stand in examples."""

from typing import Any
from unittest.mock import patch

import click

from reconciler.cli.main import program


def parsed(words: list[str]) -> tuple[str, dict[str, Any]]:
    """The command and its parameters; fails as the product does where it would refuse the line. Nothing runs.

    Paths are those of another machine, so nobody looks whether they exist.
    """
    command: click.Command = program
    # As the program begins: a command keeps the names of its help option from the first context that it sees.
    context = click.Context(program, info_name="reconciler", **program.context_settings)
    names, rest = [], list(words)
    while isinstance(command, click.Group):
        name = rest.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name}"
        command, context = found, click.Context(found, parent=context, info_name=name)
        names.append(name)
    with patch.object(click.Path, "convert", lambda _self, value, _param, _context: value):
        return " ".join(names), command.make_context(names[-1], rest, parent=context.parent).params
