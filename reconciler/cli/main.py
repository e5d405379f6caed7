"""The command ``reconciler``: finds the command's module, runs it, and turns its end into an exit status."""

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import click

from reconciler import __version__
from reconciler.app.reasons import WorkflowError
from reconciler.cli import console
from reconciler.cli.commands import CommandTable, prepared
from reconciler.cli.console import CommandError, Exit
from reconciler.cli.parts import missing, other_commands, own_commands, part_that_needs
from reconciler.cli.recipes import examples_of
from reconciler.model.characters import safe
from reconciler.model.frozen import collect_rarely
from reconciler.system.process import broken_link, forbid_core_dumps

#: Every command of the core and what it does, by heading, in the order in which people meet them. Parts add theirs.
COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "Start": {
        "init": "Write a directory to start from",
        "doctor": "Check connection, rights, authorizer and brokers",
    },
    "Plan and apply": {
        "validate": "Check manifests offline",
        "plan": "Compare manifests with a cluster; print and save the plan",
        "show": "Print a saved plan, and verify it",
        "approve": "Sign a saved plan as its approver",
        "apply": "Apply a saved plan, or plan and apply in one step",
        "drift": "Detect drift between manifests and a cluster",
        "report": "Write results as a comment, HTML, SARIF, JUnit, metrics …",
        "audit": "Check an audit log, and ask it",
        "undo": "Plan the reversal of an applied plan",
        "cleanup": "Remove what an interrupted apply left on the cluster",
        "lock": "Deny a principal everything, until unlock",
        "unlock": "End a lock",
        "locks": "List locked principals",
        "reassignments": "List and cancel moves of replicas that are unfinished",
    },
    "Ask": {
        "can-i": "Check whether a principal may do something",
        "who-can": "List who may do something",
        "explain": "Explain why a request is allowed or denied",
        "access": "List everything that principals may do",
        "reach": "List as whom a principal could act, and what it gets so",
        "quota": "Explain which quotas limit a client",
    },
    "Check": {
        "test": "Run access tests against manifests or a live cluster",
        "lint": "Find redundant, ineffective and risky ACLs",
        "policy": "Propose a topic policy from a cluster",
    },
    "Edit manifests": {},
    "Evidence": {},
    "Many clusters": {},
    "Moving in": {
        "export": "Export a cluster as manifests or as a snapshot",
    },
    "On this machine": {},
    "This program": {
        "schema": "Print JSON Schemas for editors",
        "completion": "Print a shell completion script",
        "help": "Explain a command, connection options, a lint rule",
        "version": "Print the version",
    },
}
#: Commands of one subject, and their module.
SHARED: Final = {
    **dict.fromkeys(("can-i", "who-can", "explain", "access", "reach", "quota"), "ask"),
    **dict.fromkeys(("unlock", "locks"), "lock"),
    "approve": "show",
    "drift": "plan",
    "policy": "export",
    "test": "validate",
    "undo": "cleanup",
    **dict.fromkeys(("completion", "version"), "help"),
}

#: What people type who come from terraform, kubectl, git and Kafka's own scripts.
ELSEWHERE: Final = {
    "cancel": "reassignments",
    "check": "validate",
    "clean": "cleanup",
    "create": "grant",
    "delete": "plan",
    "describe": "access",
    "destroy": "plan",
    "fmt": "lint",
    "get": "access",
    "import": "adopt",
    "list": "access",
    "login": "doctor",
    "ping": "doctor",
    "refresh": "drift",
    "revert": "undo",
    "rollback": "undo",
    "why": "explain",
}
#: Options of terraform, kubectl and Kafka's own scripts, and what to write instead.
OPTIONS_ELSEWHERE: Final = {
    "--approve": "apply: --yes, or --require-id with the id that was reviewed",
    "--auto-approve": "apply: --yes, or --require-id with the id that was reviewed",
    "--bootstrap-server": "spec.bootstrapServers of the Cluster document, or of the file of --connections",
    "--command-config": "spec.client of the Cluster document, or of the file of --connections",
    "--context": "--cluster NAME",
    "--destroy": "plan --allow-deletes deletes what no manifest declares",
    "--diff": "plan",
    "--dir": "-f PATH",
    "--dry-run": "plan, which writes nothing to a cluster",
    "--expires": "--until",
    "--force": "--accept GUARD=OBJECT for each safety check that refuses",
    "--format": "--output",
    "--json": "--output json",
    "--manifests": "-f PATH",
    "--namespace": "--cluster NAME",
    "--prefix": "the resource as 'topic/PREFIX*'",
    "--refresh-only": "drift",
    "--target": "--only FIELD=NAME, as in topics=payments.*",
    "--topic": "the resource as topic/NAME, or --only topics=NAME",
    "--var": "vars of the Cluster document",
    "--yaml": "--output yaml",
    "-n": "--cluster NAME",
}
#: Commands whose text is read, and who do nothing meanwhile that somebody watches.
_READ: Final = frozenset(
    {"help", "validate", "plan", "show", "drift", "test", "lint", "can-i", "who-can", "explain", "access", "reach"}
)


class Commands(CommandTable):
    """All commands: those of the core, then of our parts, then of other packages. An earlier one keeps its name."""

    table = {name: words for group in COMMANDS.values() for name, words in group.items()}  # noqa: RUF012
    shared = SHARED
    aliases = {"diff": "plan", "status": "drift"}  # noqa: RUF012 - a ClassVar of the base
    elsewhere = ELSEWHERE

    def home(self, name: str) -> str | None:
        """The module of a command; metadata of other packages is read for a name that neither core nor parts have."""
        if name in self.table:
            return super().home(name)
        row = own_commands().get(name) or other_commands()[0].get(name)
        return None if row is None else row.module

    def listed(self) -> dict[str, dict[str, str]]:
        """The core's headings with what parts and other packages add to them, then other headings."""
        tables = {heading: dict(table) for heading, table in COMMANDS.items()}
        taken = {*self.table, *self.aliases}
        for rows in (own_commands(), other_commands()[0]):
            for name, row in rows.items():
                if name not in taken:
                    tables.setdefault(row.heading, {})[name] = row.help
            taken |= rows.keys()
        return {heading: table for heading, table in tables.items() if table}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Also the parts that are not installed, with the line that installs each."""
        super().format_commands(ctx, formatter)
        rows = [(name, f"{part.adds[0].upper()}{part.adds[1:]}: {part.pip}") for name, part in missing()]
        if rows:
            with formatter.section("Not installed"):
                formatter.write_dl(rows)
        if wrong := other_commands()[1]:
            with formatter.section("Cannot be used"):
                formatter.write_dl([("", safe(words)) for words in wrong])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As any table; what a command prints that is only read is held back, perhaps for a pager.

        Up to here the program has read nothing, so that its own help needs no protection and starts faster.
        """
        forbid_core_dumps()
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            words, similar = _with_parts(error.message), error.possibilities
            raise click.NoSuchCommand(error.command_name, words, possibilities=similar, ctx=ctx) from None
        if self.aliases.get(name or "", name) in _READ and console.watched(sys.stdout):
            console.settings.held = []
        return name, command, rest


def _with_parts(message: str) -> str:
    """What to say of a command that does not exist, where it may be one of a part that is not installed."""
    absent = "; ".join(f"{name}: {part.pip}" for name, part in missing())
    return f"{message} Parts that are not installed: {absent}." if absent else message


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reconciler")
def program() -> None:
    """Kafka ACLs, topics and quotas as code: plan, review, apply, detect drift."""


prepared(program, ())


def run(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit status; everything that goes wrong is said on stderr."""
    with console.private_files(), console.own_settings():
        return _run(arguments)


@contextmanager
def _paged() -> Iterator[None]:
    """Show in a pager what the command printed for a person, before anything is said about its end."""
    try:
        yield
    finally:
        if console.settings.held is not None:
            text, console.settings.held = "".join(console.settings.held), None
            console.show(text)


def _run(arguments: list[str] | None) -> int:
    try:
        with _paged():
            return _status(program.main(arguments, prog_name="reconciler", standalone_mode=False))
    except (CommandError, WorkflowError) as reason:
        failure = console.command_error(reason) if isinstance(reason, WorkflowError) else reason
        console.error(failure.message, failure.advice)
        return failure.status
    except click.UsageError as usage:
        _with_words(usage).show(sys.stderr)
        return Exit.USAGE
    except click.ClickException as wrong:
        console.error(wrong.format_message(), str(getattr(wrong, "advice", "")))
        return Exit.ERROR
    except (click.Abort, KeyboardInterrupt):
        console.error("interrupted")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        console.dull(sys.stdout)
        return Exit.ERROR
    except ModuleNotFoundError as absent:
        package = (absent.name or "").partition(".")[0]
        part = part_that_needs(package)
        if part is None:
            raise
        console.error(f"this needs the package {package}, which is not installed", part.pip)
        return Exit.ERROR
    except OSError as trouble:
        if trouble.filename is None:
            console.dull(sys.stdout)
        why = (trouble.filename and broken_link(trouble.filename)) or trouble.strerror or trouble
        console.error(": ".join(str(part) for part in (trouble.filename, why) if part is not None))
        return Exit.ERROR


#: How click begins to say that there are more words than a command takes.
_TOO_MANY: Final = "Got unexpected extra argument"


#: How click ends to say that a path is not there.
_ABSENT: Final = re.compile(r"'([^']+)' does not exist$")


def _extra_word(context: click.Context, message: str) -> str | None:
    """How to write the one word too many: manifests where a command takes them by an option, or a lint rule."""
    if not message.startswith(_TOO_MANY):
        return None
    word = message.removeprefix(f"{_TOO_MANY} (").removesuffix(")")
    options = {name for parameter in context.command.params for name in parameter.opts}
    if "--also" in options and word.startswith("KA") and word[2:].isdigit():
        return f"--also {word}"
    return f"-f {shlex.quote(word)} for the manifests" if "--path" in options and os.path.exists(word) else None


def _with_words(usage: click.UsageError) -> click.UsageError:
    """What click says of a mistake, with what to write instead."""
    if isinstance(usage, click.NoSuchOption) and (meant := OPTIONS_ELSEWHERE.get(usage.option_name)):
        return click.UsageError(f"No such option {usage.option_name!r}. Write {meant}.", usage.ctx)
    message = usage.format_message().removesuffix(".")
    if usage.ctx is not None and (meant := _extra_word(usage.ctx, message)) is not None:
        return click.UsageError(f"{message}. Write {meant}", usage.ctx)
    absent = _ABSENT.search(message)
    if absent is not None and (link := broken_link(absent[1])) is not None:
        return click.UsageError(f"{message}: {link}", usage.ctx)
    miscounted = isinstance(usage, click.MissingParameter) or message.startswith(_TOO_MANY)
    if miscounted and usage.ctx is not None:
        for line in examples_of(tuple(usage.ctx.command_path.split()[1:])):
            return click.UsageError(f"{message}. For example: reconciler {line}", usage.ctx)
    return usage


def main() -> None:
    """Entry point of the console script."""
    collect_rarely()
    # pydantic would read the metadata of all that is installed, and run plugins that it finds there on what it checks.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    console.steady()
    console.leave(int(run()))


def _status(value: Any) -> int:
    """A command returns an exit status, or nothing for success; click returns 0 after ``--help``."""
    return value if isinstance(value, int) else Exit.OK
