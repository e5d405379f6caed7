"""The command ``reconciler``: finds the command's module, runs it, and turns its end into an exit status.

Modules are imported when their command is asked for, so that ``--help`` starts fast.
"""

import importlib
import sys
from typing import Any, Final

import click

from reconciler import __version__
from reconciler.cli.console import error
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.reasons import command_error
from reconciler.cli.streams import dull, steady
from reconciler.workflow.reasons import WorkflowError

#: Every command and what it does, in the order in which people meet them.
COMMANDS: Final = {
    "init": "Write a starting directory",
    "validate": "Parse and check manifests; offline",
    "plan": "Compare manifests with a cluster, print the ordered plan, save it",
    "show": "Print a saved plan",
    "apply": "Perform a saved plan, or plan and perform in one go",
    "undo": "Plan to revert what applying a saved plan did",
    "cleanup": "Remove what an apply that was cut off left behind",
    "drift": "Report how a cluster differs from the manifests",
    "report": "Results as a comment, a page, SARIF, JUnit, metrics and more",
    "test": "Decide the AccessTests, on what is declared or on a cluster",
    "policy": "Propose a topic policy",
    "lint": "Find what is redundant, dead, risky or forgotten; propose a smaller set",
    "can-i": "Whether a principal may do something; exit 3 if not",
    "who-can": "Who may do something",
    "explain": "Why one request is allowed or denied",
    "access": "Everything that principals may do",
    "fleet": "The same on many clusters, on Spark",
    "export": "Write manifests, or a snapshot, from a cluster",
    "convert": "Write manifests from what another tool keeps",
    "doctor": "Check connection, rights, authorizer, brokers",
    "sandbox": "A real local Kafka broker, with access control on",
    "demo": "A tour on a sandbox: validate, plan, apply, drift",
    "schema": "Print the JSON Schema of manifests, for editors",
    "completion": "Print the completion script of a shell",
}


class Commands(click.Group):
    """Looks a command's module up by its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that holds the command, or ``None`` if there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        module = cmd_name.replace("-", "_")
        command: click.Command = importlib.import_module(f"reconciler.cli.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands from the table, without importing one of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reconciler")
def program() -> None:
    """Kafka ACLs and topics as code: plan, review, apply, and watch for drift."""


def run(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit status; everything that goes wrong is said on stderr."""
    try:
        return _status(program.main(arguments, prog_name="reconciler", standalone_mode=False))
    except (CommandError, WorkflowError) as reason:
        failure = command_error(reason) if isinstance(reason, WorkflowError) else reason
        error(failure.message, failure.advice)
        return failure.status
    except click.UsageError as usage:
        usage.show(sys.stderr)
        return Exit.USAGE
    except click.ClickException as wrong:
        error(wrong.format_message(), str(getattr(wrong, "advice", "")))
        return Exit.ERROR
    except (click.Abort, KeyboardInterrupt):
        error("interrupted")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        dull(sys.stdout)
        return Exit.ERROR
    except OSError as trouble:
        if trouble.filename is None:
            dull(sys.stdout)
        error(": ".join(str(part) for part in (trouble.filename, trouble.strerror or trouble) if part is not None))
        return Exit.ERROR


def main() -> None:
    """Entry point of the console script."""
    steady()
    sys.exit(int(run()))


def _status(value: Any) -> int:
    """A command returns an exit status, or nothing for success; click returns 0 after ``--help``."""
    return value if isinstance(value, int) else Exit.OK
