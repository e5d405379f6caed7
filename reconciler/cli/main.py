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
    "init": "Write a starter directory of manifests",
    "validate": "Check manifests offline",
    "plan": "Compare manifests with a cluster; print and save the plan",
    "show": "Print a saved plan",
    "apply": "Apply a saved plan, or plan and apply in one step",
    "undo": "Plan the reversal of an applied plan",
    "cleanup": "Remove what an interrupted apply left on the cluster",
    "drift": "Detect drift between manifests and a cluster",
    "report": "Write results as a comment, HTML, SARIF, JUnit, metrics …",
    "test": "Run access tests against manifests or a live cluster",
    "policy": "Propose a topic policy from a cluster",
    "lint": "Find redundant, ineffective and risky ACLs",
    "can-i": "Check whether a principal may do something",
    "who-can": "List who may do something",
    "explain": "Explain why a request is allowed or denied",
    "quota": "Explain which quotas limit a client",
    "access": "List everything that principals may do",
    "fleet": "Snapshot, compare, plan and apply many clusters on Spark",
    "export": "Export a cluster as manifests or as a snapshot",
    "convert": "Convert another tool's files to manifests",
    "doctor": "Check connection, rights, authorizer and brokers",
    "sandbox": "Run a local Kafka cluster with access control",
    "demo": "Tour on a sandbox: validate, plan, apply, drift",
    "schema": "Print JSON Schemas for editors",
    "completion": "Print a shell completion script",
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
    """Kafka ACLs, topics and quotas as code: plan, review, apply, detect drift."""


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
