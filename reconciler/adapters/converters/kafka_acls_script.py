"""Scripts that call ``kafka-acls --add`` (and ``kafka-topics --create``), read without running them.

Source: ``AclCommand`` of Kafka 4: the operations of ``--producer`` and ``--consumer``, the defaults of hosts,
operations and pattern type. What only a shell knows, such as the value of a variable, is named.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from reconciler.adapters.converters.conversion import Conversion, Resource
from reconciler.adapters.converters.files import SourceFiles
from reconciler.adapters.converters.shell import Command, Word, commands
from reconciler.adapters.converters.tree import SourceError
from reconciler.model import CLUSTER_NAME

_TOOLS: Final = ("kafka-acls", "kafka-topics", "kafka-configs")
_CONNECTION: Final = frozenset(
    ("bootstrap-server", "bootstrap-controller", "command-config", "authorizer", "authorizer-properties", "zookeeper")
) | {"zk-tls-config-file"}
_FLAGS: Final = frozenset(
    ("add", "remove", "list", "force", "cluster", "idempotent", "producer", "consumer", "help", "create", "alter")
) | {"delete", "describe", "if-not-exists", "if-exists"}
_VALUES: Final = frozenset(
    ("allow-principal", "deny-principal", "allow-host", "deny-host", "operation", "topic", "group", "transactional-id")
) | {"delegation-token", "user-principal", "resource-pattern-type", "partitions", "replication-factor", "config"}
_KINDS: Final = {
    "topic": "topic",
    "group": "group",
    "transactional-id": "transactional id",
    "delegation-token": "delegation token",
    "user-principal": "user",
}
_INSIDE: Final = "inside a loop, a condition or a function: whether and how often it runs, only the shell knows"
_REMOVES: Final = "it takes ACLs away: convert what `kafka-acls --list` prints after the script"
_CONFIGS: Final = "it changes configs of topics: convert what `kafka-topics --describe` says, or use reconciler export"
_HIDDEN: Final = "it seems to call kafka-acls in a way that only the shell can follow"
_CLUSTER: Final = Resource("cluster", CLUSTER_NAME)
_Options = Mapping[str, Sequence[str]]


class _UnreadableError(Exception):
    """Why a command is not converted."""


def read_kafka_acls_script(files: SourceFiles, conversion: Conversion) -> None:
    """Every call of the tools, wherever it stands in its command: after sudo, docker exec or kubectl exec."""
    for name in files.ending(".sh", ".bash", ".ksh", ".cmd", ".txt"):
        try:
            found = list(commands(files.text(name)))
        except ValueError as error:
            if len(files.names) == 1:
                raise SourceError(f"{name}: {error}") from error
            conversion.skip(name, "a file", str(error))
            continue
        for command in found:
            _command(command, f"{name}:{command.line}", conversion)


def _command(command: Command, where: str, conversion: Conversion) -> None:
    for start, word in enumerate(command.words):
        tool = word.text.rpartition("/")[2].removesuffix(".sh").removesuffix(".bat")
        if tool in _TOOLS:
            _call(tool, command, command.words[start + 1 :], where, conversion)
            return
    text = " ".join(word.text for word in command.words)
    # The tool in a variable, in quotes or glued to a bracket: what it adds must not pass unread.
    if "-principal" in text or ("kafka-acls" in text and "--add" in text):
        conversion.skip(where, "a command", _HIDDEN)


def _call(tool: str, command: Command, words: Sequence[Word], where: str, conversion: Conversion) -> None:
    # Only what names resources and principals is shown: other options can hold passwords.
    shown = [part for one, two in pairwise(words) if one.text[2:] in _VALUES for part in (one.text, two.text)]
    subject = " ".join((tool, *shown))[:100]
    try:
        if tool == "kafka-configs":
            if any(word.text == "topics" for word in words) and any(word.text == "--alter" for word in words):
                raise _UnreadableError(_CONFIGS)
            conversion.add_unmanaged(where, subject, "neither an ACL nor a topic")
            return
        options = _options(words)
        # What a script removes depends on what was there before, which no file says.
        if tool == "kafka-acls" and "remove" in options:
            raise _UnreadableError(_REMOVES)
        if ("add" if tool == "kafka-acls" else "create") not in options:
            if not options.keys() & {"alter", "delete"}:
                return
            raise _UnreadableError("it changes or deletes a topic: use reconciler export")
        # Inside a loop, a function or a condition, whether and how often it runs is the shell's to say.
        if command.depth:
            raise _UnreadableError(_INSIDE)
        add = _acls if tool == "kafka-acls" else _topic
        add(options, where, conversion)
    except _UnreadableError as error:
        conversion.skip(where, subject, str(error))


def _options(words: Sequence[Word]) -> _Options:
    """The values of each option; raises :class:`_UnreadableError` for what only the tool or a shell understands."""
    found: dict[str, list[str]] = defaultdict(list)
    rest = iter(words)
    for word in rest:
        # The shell's part of the line begins: the tool never sees it.
        if word.text.startswith((">", "<", "2>", "1>")):
            break
        if not word.text.startswith("--"):
            raise _UnreadableError("a word in it belongs to no option")
        name, equals, value = word.text[2:].partition("=")
        given = Word(value, word.open) if equals else None
        if name in _FLAGS:
            found[name].append("")
            continue
        if name not in _VALUES and name not in _CONNECTION:
            raise _UnreadableError(f"--{name} is no option that is known here")
        given = given or next(rest, None)
        if given is None:
            raise _UnreadableError(f"--{name} has no value")
        if name in _CONNECTION:
            continue
        if given.open is not None:
            raise _UnreadableError(f"--{name} {given.text} holds {given.open}")
        found[name].append(given.text)
    return found


def _acls(options: _Options, where: str, conversion: Conversion) -> None:
    form = (options.get("resource-pattern-type") or ["literal"])[-1]
    named = [Resource(_KINDS[name], text, form) for name in _KINDS for text in options.get(name, ())]
    grants = list(_grants(options, named))
    if not grants:
        raise _UnreadableError("it names no resource")
    sides = [
        (effect, principal, host)
        for effect in ("allow", "deny")
        for principal in options.get(f"{effect}-principal", ())
        for host in options.get(f"{effect}-host") or ["*"]
    ]
    if not sides:
        raise _UnreadableError("it names no principal")
    for effect, principal, host in sides:
        for resource, operations in grants:
            conversion.add_binding(principal, resource, operations, where, permission=effect, host=host)


def _grants(options: _Options, named: Sequence[Resource]) -> Iterator[tuple[Resource, tuple[str, ...]]]:
    """Resources with their operations; ``--producer`` and ``--consumer`` bring their own."""
    of = {kind: [resource for resource in named if resource.kind == kind] for kind in _KINDS.values()}
    if "producer" in options:
        yield from ((resource, ("WRITE", "DESCRIBE", "CREATE")) for resource in of["topic"])
        yield from ((resource, ("WRITE", "DESCRIBE")) for resource in of["transactional id"])
        if "idempotent" in options:
            yield _CLUSTER, ("IDEMPOTENT_WRITE",)
    if "consumer" in options:
        yield from ((resource, ("READ", "DESCRIBE")) for resource in of["topic"])
        yield from ((resource, ("READ",)) for resource in of["group"])
    if not options.keys() & {"producer", "consumer"}:
        operations = tuple(options.get("operation") or ("ALL",))
        yield from ((resource, operations) for resource in named)
        if "cluster" in options:
            yield _CLUSTER, operations


def _topic(options: _Options, where: str, conversion: Conversion) -> None:
    names = options.get("topic", ())
    if len(names) != 1:
        raise _UnreadableError("it names no topic, or several")
    pairs = [text.partition("=") for text in options.get("config", ())]
    partitions, replicas = (next(iter(options.get(name, ())), None) for name in ("partitions", "replication-factor"))
    conversion.add_topic(names[0], partitions, replicas, {key: value for key, _, value in pairs}, where)
