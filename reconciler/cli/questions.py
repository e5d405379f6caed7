"""Arguments and options of the questions: who, what, on which names, of which state."""

from typing import Final

import click

from reconciler.app.options import StateRequest
from reconciler.cli.console import CommandError, Exit
from reconciler.cli.options import (
    CONNECTION,
    Decorator,
    as_of_option,
    cluster_option,
    gathered,
    listing_option,
    past_options,
    path_option,
    with_options,
)
from reconciler.manifest.parts.resources import host_problem, principal_problem
from reconciler.model.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.topic import topic_name_problem

#: Resource types as people type them.
TYPES: Final = ("topic", "group", "cluster", "transactional-id", "delegation-token", "user")

principal_argument = click.argument("principal", metavar="PRINCIPAL")
operation_argument = click.argument("operation", metavar="OPERATION")
type_argument = click.argument("resource_type", metavar="TYPE", type=click.Choice(TYPES, case_sensitive=False))
name_argument = click.argument("name", metavar="[NAME]", required=False)
host_option = click.option("--host", metavar="ADDRESS", help="Client address.  [default: every host]")

_NAMES = (
    click.option("--prefix", is_flag=True, help="NAME is a prefix: ask about every name that begins with it."),
    click.option("--any", "any_name", is_flag=True, help="Ask about every possible name instead of NAME."),
)


def state_options(*lists: str, past: bool = True) -> Decorator:
    """Of which state is asked, handed over as ``request``, with ``connection`` and ``output`` of these ``lists``.

    With ``past``, also of a past time.
    """
    more = gathered("request", StateRequest, *past_options) if past else ()
    return with_options((*_STATE, *more, listing_option(*lists)))


_STATE = (
    *gathered(
        "request",
        StateRequest,
        path_option,
        cluster_option(needed=False),
        click.option(
            "--offline", is_flag=True, help="With --cluster: use only what is declared for it; do not connect."
        ),
        click.option(
            "--plan",
            metavar="PLAN",
            type=click.Path(exists=True, dir_okay=False),
            help="With --cluster: answer for before and after this saved plan.",
        ),
    ),
    *CONNECTION,
    *gathered("request", StateRequest, as_of_option),
)


#: ``--prefix`` and ``--any``.
name_options = with_options(_NAMES)


def asked_pattern(
    resource_type: str, name: str | None, *, prefix: bool = False, any_name: bool = False
) -> ResourcePattern:
    """The names that a command line is about; ends the command where it is wrong."""
    kind = ResourceType[resource_type.upper().replace("-", "_")]
    if kind is ResourceType.CLUSTER:
        if (name is not None and name != CLUSTER_NAME) or prefix or any_name:
            raise _wrong("there is only one cluster, so it takes no NAME")
        return ResourcePattern(kind, CLUSTER_NAME)
    if any_name:
        if name is not None or prefix:
            raise _wrong("--any and NAME exclude each other")
        return ResourcePattern(kind, WILDCARD)
    if not name or name == WILDCARD:
        raise _wrong(f"which {resource_type}?", "give NAME, NAME with --prefix, or --any")
    if kind is ResourceType.TOPIC:
        _check_topic(name, prefix=prefix)
    return ResourcePattern(kind, name, PatternType.PREFIXED if prefix else PatternType.LITERAL)


def asked_operation(operation: str, pattern: ResourcePattern) -> AclOperation:
    """The operation that a command line is about; ends the command if the resource has none such."""
    name = operation.upper().replace("-", "_")
    supported = SUPPORTED_OPERATIONS[pattern.resource_type]
    if name not in {known.name for known in supported}:
        kind = pattern.resource_type.name
        listed = ", ".join(sorted(known.name for known in supported))
        raise _wrong(f"{kind} has no operation {operation}", f"it has {listed}")
    return AclOperation[name]


def asked_principal(text: str) -> str:
    """The principal that a command line is about; ends the command if it is none."""
    trouble = principal_problem(text)
    if trouble is not None:
        raise _wrong(trouble.message, trouble.advice)
    return text


def asked_host(text: str | None) -> str | None:
    """The address that a command line is about, as brokers write it; ends the command where no connection has it.

    Brokers compare texts: any other spelling would pass by every DENY on that very address.
    """
    if text is None:
        return None
    if text == WILDCARD or "/" in text:
        raise _wrong("a connection comes from one address", "give one address, or omit --host to ask for every host")
    trouble = host_problem(text)
    if trouble is not None:
        raise _wrong(trouble.message, trouble.advice)
    return text


def _check_topic(name: str, *, prefix: bool) -> None:
    problem = topic_name_problem(name)
    if problem is not None and not (prefix and name in (".", "..")):
        advice = f"every name that begins so: {name.rstrip('*')} --prefix" if name.endswith("*") else ""
        raise _wrong(f"{name!r}: {problem}", advice)


def _wrong(message: str, advice: str = "") -> CommandError:
    return CommandError(message, advice, Exit.USAGE)
