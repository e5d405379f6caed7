"""Commands beside the core's: those of our own parts and those of other packages, by tables of one shape.

A module that adds commands has a table ``COMMANDS``: for each name the short help, the module with its ``command``, and
the heading of ``reconciler --help`` under which it is listed. Our own parts are imported by their names, because
reading the metadata of what is installed would cost more than all of them. Metadata is read for help, for completion,
and for a name that neither the core nor a part has.
"""

import importlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from reconciler.cli.console import CommandError, Exit
from reconciler.system import plugins

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

GROUP: Final = "reconciler.commands"


class CommandRow(NamedTuple):
    """A command of a table. Its module calls it ``command``, or as the name after a colon says."""

    help: str
    module: str
    heading: str


class InstallablePart(NamedTuple):
    """A part: what it adds in a few words, and the extra with what it needs, empty if it needs nothing more."""

    adds: str
    extra: str = ""

    @property
    def pip(self) -> str:
        """The line that installs it."""
        line = f"'./reconciler[{self.extra}]'" if self.extra else "./reconciler"
        return f"pip install {line} beside your clone"


#: The parts, in the order of their headings. The entry points of ``pyproject.toml`` name the same ones.
PARTS: Final = {
    "serve": InstallablePart("a server that watches clusters"),
    "edit": InstallablePart("edits of manifests: grant, revoke, adopt, lint --fix"),
    "evidence": InstallablePart("unused ACLs, least privilege"),
    "fleet": InstallablePart("many clusters on Spark", "fleet"),
    "history": InstallablePart("access in the past", "history"),
    "certify": InstallablePart("access that its owners confirm, or that ends"),
    "convert": InstallablePart("other tools' files as manifests"),
    "local": InstallablePart("a local Kafka: sandbox, demo", "sandbox"),
}


@cache
def _module(part: str) -> Any:
    """The part's package, which is cheap to import; ``None`` where it is not installed."""
    name = f"reconciler.parts.{part}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # it is there, and fails
        return None


@cache
def own_commands() -> dict[str, CommandRow]:
    """The commands of the parts that are installed."""
    tables = (_module(part).COMMANDS for part in PARTS if _module(part) is not None)
    return {name: CommandRow(*row) for table in tables for name, row in table.items()}


@cache
def other_commands() -> tuple[dict[str, CommandRow], tuple[str, ...]]:
    """The commands of other packages, and what is wrong with tables that cannot be used."""
    rows: dict[str, CommandRow] = {}
    wrong: list[str] = []
    for plugin in plugins.names(GROUP):
        try:
            for name, row in plugins.load(GROUP, plugin).COMMANDS.items():
                if name in rows:
                    wrong.append(f"{GROUP}: {plugin!r} has the command {name!r}, as another package")
                else:
                    rows[name] = CommandRow(*row)
        except plugins.PluginError as error:
            wrong.append(str(error))
        except (AttributeError, TypeError) as error:
            wrong.append(f"{GROUP}: {plugin!r} has no table of commands: {error}")
    return rows, tuple(wrong)


def missing() -> Iterator[tuple[str, InstallablePart]]:
    """The parts that are not installed, or that lack a package of their extra."""
    for name, part in PARTS.items():
        module = _module(name)
        if module is None or any(find_spec(package) is None for package in getattr(module, "NEEDS", ())):
            yield name, part


def part_that_needs(package: str) -> InstallablePart | None:
    """The part with the smallest extra that has the package."""
    needs = {name: getattr(_module(name), "NEEDS", ()) for name in PARTS}
    names = [name for name, packages in needs.items() if package in packages]
    return PARTS[min(names, key=lambda name: len(needs[name]))] if names else None


def part_module(part: str, option: str) -> Any:
    """The module with what a part does for an option of a core command, such as ``lint --fix``.

    Raises a :class:`CommandError` where the part is not installed.
    """
    package = _module(part)
    if package is None:
        raise CommandError(f"{option} needs the part {part}, which is not installed", PARTS[part].pip, Exit.USAGE)
    return importlib.import_module(package.OPTIONS[option])


class Named(click.Choice[str]):
    """One of our names, or one that another package has in a group of entry points; help lists ours."""

    def __init__(self, ours: tuple[str, ...], group: str) -> None:
        """Metadata is read only for a name that is not ours."""
        super().__init__(ours)
        self.group = group

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, or a failure that lists ours."""
        if value not in self.choices and value in plugins.names(self.group):
            return str(value)
        return super().convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Ours, then those of other packages."""
        from click.shell_completion import CompletionItem

        names = (*self.choices, *(name for name in plugins.names(self.group) if name not in self.choices))
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]
