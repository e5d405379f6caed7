"""Arguments and options of the questions: who, what, on which names, of which state."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from reconciler.app.options import StateRequest
from reconciler.cli import options
from reconciler.cli.console import CommandError, Exit
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

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: Resource types as people type them.
TYPES: Final = ("topic", "group", "cluster", "transactional-id", "delegation-token", "user")


def _wrong(message: str, advice: str = "") -> CommandError:
    return CommandError(message, advice, Exit.USAGE)


class ResourceArgument(click.ParamType[ResourcePattern]):
    """``topic/NAME``; ``topic/payments.*`` is every name that begins so, ``topic/*`` every name, ``cluster`` the one.

    A backslash before the last asterisk makes it a part of the name, which those of groups may have.
    """

    name = "resource"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ResourcePattern:
        """Parse, or end the command with what to write."""
        if isinstance(value, ResourcePattern):
            return value
        typed, slash, name = str(value).partition("/")
        kind = _resource_type(typed, str(value))
        if kind is ResourceType.CLUSTER:
            if slash and name != CLUSTER_NAME:
                raise _wrong("there is only one cluster, and it has no name", "write cluster")
            return ResourcePattern(kind, CLUSTER_NAME)
        word = kind.name.lower().replace("_", "-")
        if not name:
            raise _wrong(f"which {word}?", f"write {word}/NAME, '{word}/PREFIX*' or '{word}/*', with the slash")
        if name == WILDCARD:
            return ResourcePattern(kind, WILDCARD)
        prefix = name.endswith("*") and not name.endswith("\\*")
        name = name[:-1] if prefix else f"{name[:-2]}*" if name.endswith("\\*") else name
        if name == WILDCARD and not prefix:
            raise _wrong("Kafka takes a name that is one asterisk for every name", f"write '{word}/*' for every name")
        if kind is ResourceType.TOPIC:
            _check_topic(name, prefix=prefix)
        return ResourcePattern(kind, name, PatternType.PREFIXED if prefix else PatternType.LITERAL)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """The types; names are on a cluster."""
        from click.shell_completion import CompletionItem

        words = [kind if kind == "cluster" else f"{kind}/" for kind in TYPES]
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def _resource_type(typed: str, value: str) -> ResourceType:
    """A type as people type it; the plural means the same."""
    word = typed.lower()
    word = word[:-1] if word.endswith("s") and word[:-1] in TYPES else word
    if word in TYPES:
        return ResourceType[word.upper().replace("-", "_")]
    if word == value.lower() and value.upper().replace("-", "_") in AclOperation.__members__:
        raise _wrong(f"{value} is an operation, and a resource is expected here", f"write {value} topic/NAME")
    if word == value.lower():
        raise _wrong(f"what is {value!r}?", f"write topic/{value}, or group/{value} and so on: {', '.join(TYPES)}")
    raise _wrong(f"there is no resource type {typed!r}", f"types are: {', '.join(TYPES)}")


principal_argument = click.argument("principal", metavar="PRINCIPAL")
operation_argument = click.argument("operation", metavar="OPERATION")
resource_argument = click.argument("pattern", metavar="RESOURCE", type=ResourceArgument())
host_option = click.option("--host", metavar="ADDRESS", help="Client address.  [default: every host]")


def state_options(*lists: str, past: bool = True) -> options.Decorator:
    """Of which state is asked, handed over as ``request``, with ``connection`` and ``output`` of these ``lists``.

    With ``past``, also of a past time.
    """
    more = options.gathered("request", StateRequest, *options.past_options) if past else ()
    return options.with_options((*_STATE, *more, options.listing_option(*lists)))


_STATE = (
    *options.gathered(
        "request",
        StateRequest,
        options.path_option,
        options.cluster_option(needed=False),
        options.offline_option,
        click.option(
            "--plan",
            metavar="PLAN",
            type=click.Path(exists=True, dir_okay=False),
            help="With --cluster: answer for before and after this saved plan.",
        ),
    ),
    *options.CONNECTION,
    *options.gathered("request", StateRequest, options.as_of_option),
)


def asked_operation(operation: str, pattern: ResourcePattern) -> AclOperation:
    """The operation that a command line is about; ends the command if the resource has none such."""
    name = operation.upper().replace("-", "_")
    supported = SUPPORTED_OPERATIONS[pattern.resource_type]
    if name not in {candidate.name for candidate in supported}:
        kind = pattern.resource_type.name
        if ":" in operation:
            raise _wrong(
                f"{operation} is a principal, and an operation is expected here", "write the principal before it"
            )
        listed = ", ".join(sorted(candidate.name for candidate in supported))
        raise _wrong(f"{kind} has no operation {operation}", f"it has {listed}")
    return AclOperation[name]


def asked_principal(text: str) -> str:
    """The principal that a command line is about; ends the command if it is none."""
    trouble = principal_problem(text)
    if trouble is not None:
        raise _wrong(trouble.message, trouble.advice)
    return text


def one_topic_and_principal(subjects: Sequence[str]) -> tuple[str | None, str | None]:
    """The topic and the principal among words that are ``topic/NAME`` or a principal; ends the command at other words.

    Each at most once: what is asked for has to be about both.
    """
    topics, principals = [word for word in subjects if "/" in word], [word for word in subjects if "/" not in word]
    if len(topics) > 1 or len(principals) > 1:
        raise _wrong("at most one topic and one principal", "ask for each by itself")
    pattern = ResourceArgument().convert(topics[0], None, None) if topics else None
    if pattern and (pattern.resource_type, pattern.pattern_type) != (ResourceType.TOPIC, PatternType.LITERAL):
        raise _wrong(f"{topics[0]}: give one topic by its name", "write topic/NAME")
    if pattern and pattern.name == WILDCARD:
        raise _wrong("topic/*: give one topic by its name", "write topic/NAME, or leave it out")
    return pattern.name if pattern else None, asked_principal(principals[0]) if principals else None


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
        raise _wrong(f"{name!r}: {problem}", "topic/PREFIX* is every name that begins so" if "*" in name else "")
