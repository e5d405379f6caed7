"""Scripts that call ``kafka-acls --add``, ``kafka-topics --create`` and the like, read without running them.

Source: ``AclCommand`` of Kafka 4: the operations of ``--producer`` and ``--consumer``, the defaults of hosts,
operations and pattern type; ``ConfigCommand``: entities and the form of ``--add-config``; ``ClientMetricsCommand``: an
empty value deletes a config. A command that does not
certainly run, and what only a shell knows, such as the value of a variable, is named and not converted.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from reconciler.model.config_resource import ConfigResource
from reconciler.model.kinds.client_metrics import INTERVAL, MATCH, METRICS, ClientMetrics
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import DEFAULT_NAME, QUOTA_KEYS, QuotaEntity
from reconciler.model.kinds.scram_user import SCRAM_CODES
from reconciler.parts.convert import shell
from reconciler.parts.convert.conversion import CLUSTER, Conversion, Resource, add_foreign
from reconciler.parts.convert.files import YAML, SourceError, SourceFiles, Tree
from reconciler.parts.convert.shell import Command, Word

_TOOLS: Final = ("kafka-acls", "kafka-topics", "kafka-configs", "kafka-client-metrics")
_CONNECTION: Final = frozenset(
    ("bootstrap-server", "bootstrap-controller", "command-config", "authorizer", "authorizer-properties", "zookeeper")
) | {"zk-tls-config-file"}
_FLAGS: Final = frozenset(
    ("add", "remove", "list", "force", "cluster", "idempotent", "producer", "consumer", "help", "create", "alter")
) | {"delete", "describe", "if-not-exists", "if-exists", "all"}
_VALUES: Final = frozenset(
    ("allow-principal", "deny-principal", "allow-host", "deny-host", "operation", "topic", "group", "transactional-id")
) | {"delegation-token", "user-principal", "resource-pattern-type", "partitions", "replication-factor", "config"}
#: Options of kafka-configs, and what each short form stands for.
_OF_CONFIGS: Final = frozenset(("entity-type", "entity-name", "add-config", "add-config-file", "delete-config"))
#: Options of kafka-client-metrics, and the config that each sets.
_OF_METRICS: Final = {"name": "", "interval": INTERVAL, "metrics": METRICS, "match": MATCH}
_SHORT: Final = {
    "user": "users",
    "client": "clients",
    "ip": "ips",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "group": "groups",
    "client-metrics": "client-metrics",
    "topic": "topics",
}
#: Types of entities that this converter reads, with their word in a quota.
_QUOTA_PARTS: Final = {"users": "user", "clients": "client_id", "ips": "ip"}
#: Types of entities of kafka-configs that this tool does not manage.
_NOT_MANAGED: Final = frozenset(("brokers", "broker-loggers"))
#: Types of entities that are nothing but configs.
_RESOURCES: Final[Mapping[str, type[ConfigResource]]] = {"groups": GroupConfig, "client-metrics": ClientMetrics}
#: ``ConfigCommandOptions``: commas inside of brackets separate the values of one config.
_BETWEEN_CONFIGS: Final = re.compile(r",(?=[^\]]*(?:\[|$))")
#: ``ConfigCommand.DEFAULT_ITERATIONS``
_ITERATIONS: Final = "4096"
_PASSWORD: Final = re.compile(r"password=[^,\]]*")
_KINDS: Final = {
    "topic": "topic",
    "group": "group",
    "transactional-id": "transactional id",
    "delegation-token": "delegation token",
    "user-principal": "user",
}
#: Programs that run the command that stands behind them; what any other does with it, only that program knows.
_RUNNERS: Final = frozenset(
    (
        "sudo",
        "doas",
        "env",
        "command",
        "nohup",
        "nice",
        "timeout",
        "stdbuf",
        "setsid",
        "gosu",
        "runuser",
        "winpty",
        "ssh",
    )
) | {"docker", "docker-compose", "podman", "nerdctl", "kubectl", "oc", "bash", "sh"}
#: Programs behind those that print, look for or change a file of that name.
_NO_RUNNERS: Final = frozenset(("echo", "printf", "cat", "which", "type", "man", "grep", "ls", "test", "rm", "chmod"))
_REMOVES: Final = "it takes ACLs away: convert what `kafka-acls --list` prints after the script"
_TAKEN: Final = "a later command may take it away: convert what `kafka-acls --list` prints after the script"
_CHANGED: Final = "a later command may delete or change it: use reconciler export after the script"
_CONFIGS: Final = "it changes configs of topics: convert what `kafka-topics --describe` says, or use reconciler export"
_RBAC: Final = "it gives a role of Confluent's RBAC, which grants access besides ACLs: no manifest can declare it"
_HIDDEN: Final = "it seems to call kafka-acls in a way that only the shell can follow"
_GENERATED: Final = "the tool makes up a name at each run: use reconciler export after the script"
_DELETES_METRICS: Final = "it deletes configs of client metrics: use reconciler export after the script"
_IN_YAML: Final = "no container of a Kubernetes workload runs it: whether anything does is not known here"
_Options = Mapping[str, Sequence[str]]


class _UnreadCommandError(Exception):
    """Why a command is not converted."""


def read_kafka_acls_script(files: SourceFiles, conversion: Conversion) -> None:
    """Every call of the tools, also after sudo, docker exec or kubectl exec and in the text of ``bash -c``."""
    for name in files.ending(".sh", ".bash", ".ksh", ".cmd", ".txt", *YAML):
        script = _Calls(name, conversion)
        if name.lower().endswith(YAML):
            for tree in conversion.rendered(files, name):
                _read_workload(tree, script, conversion)
            script.finish()
            continue
        try:
            commands = list(shell.commands(files.text(name)))
        except ValueError as error:
            if len(files.names) == 1:
                raise SourceError(f"{name}: {error}") from error
            conversion.skip(name, "a file", str(error))
            continue
        for command in commands:
            script.read(command)
        script.finish()


def _read_workload(tree: Tree, script: "_Calls", conversion: Conversion) -> None:
    """What the containers of a Kubernetes workload call; a call that stands anywhere else is named."""
    if not shell.calls_tools(tree):
        kind = (tree.text("kind") if tree.is_mapping() else None) or "a document"
        add_foreign(conversion, tree, kind, kind, unmanaged="it calls none of Kafka's tools")
        return
    tree.ignore()
    for resource in tree.items("items") if tree.is_mapping() and (tree.text("kind") or "").endswith("List") else [tree]:
        for call in shell.container_calls(resource) if resource.is_mapping() else ():
            script.read(Command(0, call.words, call.doubt), call.where)
        for where, text in shell.calls_elsewhere(resource):
            conversion.skip(where, " ".join(text.split())[:80], _IN_YAML)


class _Grant(NamedTuple):
    """What one call adds for a principal on a resource."""

    principal: str
    resource: Resource
    operations: tuple[str, ...]
    where: str
    effect: str
    host: str


class _Created(NamedTuple):
    """A topic that one call creates."""

    name: str
    options: _Options
    where: str


class _Login(NamedTuple):
    """A SCRAM mechanism that one call gives to a user."""

    user: str
    mechanism: str
    iterations: str
    where: str


class _Calls:
    """The calls of one script, in order: those of kafka-configs for one entity add up, and a removal takes away."""

    def __init__(self, name: str, conversion: Conversion) -> None:
        self._name = name
        self._conversion = conversion
        self._grants: list[_Grant] = []
        self._topics: list[_Created] = []
        self._logins: list[_Login] = []
        self._quotas: dict[QuotaEntity, tuple[dict[str, str], str]] = {}
        self._named: dict[tuple[str, str], tuple[dict[str, str], str]] = {}

    def read(self, command: Command, where: str | None = None) -> None:
        """Convert one command, or name it if it may matter; it stands at ``where``, else on its line."""
        where = where or f"{self._name}:{command.line}"
        handed = shell.script_in(command)
        if handed is not None and handed.open is None:
            self._read_handed(handed.text, command, where)
            return
        for start, word in enumerate(command.words):
            tool = word.text.rpartition("/")[2].removesuffix(".sh").removesuffix(".bat")
            if tool in _TOOLS:
                self._call(tool, command, start, where)
                return
        text = " ".join(word.text for word in command.words)
        if re.search(r"\brbac\b.*\brole-binding\b", text):
            self._conversion.skip(where, "a command", _RBAC)
            return
        # The tool in a variable, in quotes or glued to a bracket: what it adds must not pass unread.
        if "-principal" in text or (
            any(tool in text for tool in _TOOLS) and re.search(r"--(add|alter|create)\b", text)
        ):
            self._conversion.skip(where, "a command", _HIDDEN)

    def finish(self) -> None:
        """Add what several calls declare together, and what none of them takes away."""
        for grant in self._grants:
            self._conversion.add_binding(
                grant.principal, grant.resource, grant.operations, grant.where, permission=grant.effect, host=grant.host
            )
        for topic in self._topics:
            _topic(topic, self._conversion)
        for login in self._logins:
            self._conversion.add_user(*login)
        for entity, (limits, where) in self._quotas.items():
            self._conversion.add_quota(entity, limits, where)
        for (kind, name), (configs, where) in self._named.items():
            self._conversion.add_configs(_RESOURCES[kind], name, configs, where)

    def _read_handed(self, text: str, command: Command, where: str) -> None:
        """The text that a shell runs by ``-c``, on the line of the command, and with its doubt."""
        try:
            commands = list(shell.commands(text))
        except ValueError as error:
            self._conversion.skip(where, "a command", str(error))
            return
        for inner in commands:
            self.read(inner._replace(doubt=command.doubt or inner.doubt), where)

    def _call(self, tool: str, command: Command, start: int, where: str) -> None:
        words = command.words[start + 1 :]
        # Only what names resources and principals is shown: other options can hold passwords.
        shown = [
            part
            for item, two in pairwise(words)
            if item.text[2:] in (_VALUES | {"entity-type", "entity-name", "name"}) - {"config"}
            for part in (item.text, two.text)
        ]
        try:
            doubt = command.doubt or _runner_doubt(command.words[:start])
            self._convert(tool, words, doubt, where)
        except _UnreadCommandError as error:
            self._conversion.skip(where, " ".join((tool, *shown))[:100], str(error))

    def _convert(self, tool: str, words: Sequence[Word], doubt: str | None, where: str) -> None:
        if tool == "kafka-configs":
            self._configs(words, doubt, where)
            return
        if tool == "kafka-client-metrics":
            self._client_metrics(words, doubt, where)
            return
        # What a script removes depends on what was there before, which no file says.
        if tool == "kafka-acls" and any(word.text == "--remove" for word in words):
            self._take(words)
            raise _UnreadCommandError(_REMOVES)
        if tool == "kafka-topics" and any(word.text in ("--delete", "--alter") for word in words):
            self._change_topics(words)
            raise _UnreadCommandError("it changes or deletes a topic: use reconciler export")
        options = _options(words, _VALUES)
        if ("add" if tool == "kafka-acls" else "create") not in options:
            return
        if doubt is not None:
            raise _UnreadCommandError(doubt)
        if tool == "kafka-acls":
            self._grants += _acls(options, where)
        else:
            names = options.get("topic", ())
            if len(names) != 1:
                raise _UnreadCommandError("it names no topic, or several")
            self._topics.append(_Created(names[0], options, where))

    def _change_topics(self, words: Sequence[Word]) -> None:
        """Name the topics so far that an alteration or a deletion may reach: ``--topic`` is a regular expression."""
        try:
            names = _options(words, _VALUES).get("topic", ())
        except _UnreadCommandError:
            names = ()
        literal = bool(names) and all(re.fullmatch(r"[\w.-]+", name) for name in names)
        changed = [
            topic for topic in self._topics if not literal or any(_may_match(name, topic.name) for name in names)
        ]
        for item in changed:
            self._conversion.skip(item.where, f"topic {item.name}", _CHANGED)
        self._topics = [topic for topic in self._topics if topic not in changed]

    def _delete_configs(self, words: Sequence[Word]) -> None:
        """Name the quotas, users and group configs so far from which a command may delete something."""
        try:
            options = _options(_spelled_out(words), _OF_CONFIGS)
            types, names = options.get("entity-type", ()), options.get("entity-name", ())
        except _UnreadCommandError:
            types = names = ()
        entity = dict(zip(types, names, strict=False)) if len(types) == len(names) else {}
        if entity and not entity.keys() - ({"topics"} | _NOT_MANAGED):
            return
        quota = {_QUOTA_PARTS[kind]: name for kind, name in entity.items() if kind in _QUOTA_PARTS}
        for changed in [item for item in self._quotas if not entity or (quota and item == QuotaEntity.of(**quota))]:
            self._conversion.skip(self._quotas.pop(changed)[1], f"quota of {changed}", _CHANGED)
        self._forget(item for item in tuple(self._named) if not entity or entity.get(item[0]) == item[1])
        gone = [login for login in self._logins if not entity or entity.get("users") == login.user]
        for item in gone:
            self._conversion.skip(item.where, f"SCRAM user {item.user}", _CHANGED)
        self._logins = [login for login in self._logins if login not in gone]

    def _forget(self, changed: Iterable[tuple[str, str]]) -> None:
        """Name the configs so far that a command may delete."""
        for kind, name in changed:
            subject = _RESOURCES[kind].of(name, {}).subject
            self._conversion.skip(self._named.pop((kind, name))[1], subject, _CHANGED)

    def _take(self, words: Sequence[Word]) -> None:
        """Name the grants so far that a removal may reach; where it cannot be read, it may reach each."""
        try:
            options = _options(words, _VALUES)
        except _UnreadCommandError:
            options = {}
        principals = {name for effect in ("allow", "deny") for name in options.get(f"{effect}-principal", ())}
        named = {(_KINDS[kind], name) for kind in _KINDS for name in options.get(kind, ())}
        exact = (options.get("resource-pattern-type") or ["literal"])[-1].lower() == "literal"
        exact = exact and not options.keys() & {"producer", "consumer", "idempotent", "cluster"}
        kept: list[_Grant] = []
        for grant in self._grants:
            resource = grant.resource
            other = exact and bool(named) and (resource.kind, resource.name) not in named
            if other or (principals and grant.principal not in principals):
                kept.append(grant)
                continue
            subject = (
                f"{grant.principal} {grant.effect} {', '.join(grant.operations)} on {resource.kind} {resource.name}"
            )
            self._conversion.skip(grant.where, subject, _TAKEN)
        self._grants = kept

    def _configs(self, words: Sequence[Word], doubt: str | None, where: str) -> None:
        """Quotas and users that ``--add-config`` sets."""
        if any(word.text.partition("=")[0] in ("--delete-config", "--add-config-file") for word in words):
            self._delete_configs(words)
        options = _options(_spelled_out(words), _OF_CONFIGS)
        if "alter" not in options:
            return
        types, names = options.get("entity-type", ()), options.get("entity-name", ())
        if types and not set(types) - _NOT_MANAGED:
            subject = f"configs of {' and '.join(types)}"
            self._conversion.add_unmanaged(where, subject, "neither an ACL, a topic, a quota nor a user")
            return
        if doubt is not None:
            raise _UnreadCommandError(doubt)
        if "topics" in types:
            raise _UnreadCommandError(_CONFIGS)
        if options.keys() & {"delete-config", "add-config-file"}:
            raise _UnreadCommandError("it deletes configs or reads them from a file: use reconciler export")
        if len(types) == len(names) == 1 and types[0] in _RESOURCES and names[0]:
            configs = {key: value.strip("[]") for key, value in _added(options.get("add-config", ()))}
            self._named.setdefault((types[0], names[0]), ({}, where))[0].update(configs)
            return
        if not types or len(types) != len(names) or set(types) - _QUOTA_PARTS.keys() or len(set(types)) < len(types):
            raise _UnreadCommandError("of which entity it changes configs is not understood here")
        entity = {_QUOTA_PARTS[kind]: name for kind, name in zip(types, names, strict=True)}
        for key, value in _added(options.get("add-config", ())):
            self._config(key, value, entity, where)

    def _client_metrics(self, words: Sequence[Word], doubt: str | None, where: str) -> None:
        """The configs of one subscription; an empty value deletes a config, and ``--delete`` all of them."""
        if any(word.text == "--generate-name" for word in words):
            raise _UnreadCommandError(_GENERATED)
        kind, deletes = "client-metrics", any(word.text == "--delete" for word in words)
        try:
            options = _options(words, _OF_METRICS.keys())
        except _UnreadCommandError:
            options = {}
            if not deletes:
                raise
        names = options.get("name", ())
        configs = {key: ",".join(options[name]) for name, key in _OF_METRICS.items() if key and name in options}
        if deletes or not all(configs.values()):
            self._forget(item for item in tuple(self._named) if item[0] == kind and (not names or item[1] in names))
            raise _UnreadCommandError(_DELETES_METRICS)
        if "alter" not in options:
            return
        if doubt is not None:
            raise _UnreadCommandError(doubt)
        if len(names) != 1 or not names[0]:
            raise _UnreadCommandError("it names no subscription, or several")
        self._named.setdefault((kind, names[0]), ({}, where))[0].update(configs)

    def _config(self, key: str, value: str, entity: Mapping[str, str], where: str) -> None:
        if key in SCRAM_CODES:
            if entity.keys() != {"user"} or not entity["user"]:
                raise _UnreadCommandError(f"{key} is of one user")
            details = dict(part.partition("=")[::2] for part in value.strip("[]").split(","))
            self._logins.append(_Login(entity["user"], key, details.get("iterations", _ITERATIONS), where))
        elif key in QUOTA_KEYS:
            limits, _ = self._quotas.setdefault(QuotaEntity.of(**entity), ({}, where))
            limits[key] = value
        else:
            raise _UnreadCommandError(f"{key} is no config of {' and '.join(entity)} that is known here")


def _runner_doubt(before: Sequence[Word]) -> str | None:
    """Why the program in front of the tool may not run it."""
    if not before:
        return None
    first = before[0].text.rpartition("/")[2]
    if first not in _RUNNERS or any(word.text.rpartition("/")[2] in _NO_RUNNERS for word in before):
        return f"it stands behind {first!r}, which may print it or run it otherwise"
    return None


def _added(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Keys and values of ``--add-config``, as ``ConfigCommand`` splits them."""
    for text in texts:
        for pair in filter(None, map(str.strip, _BETWEEN_CONFIGS.split(text))):
            key, _, value = pair.partition("=")
            yield key.strip(), value.strip()


def _spelled_out(words: Sequence[Word]) -> list[Word]:
    """``--user a`` as ``--entity-type users --entity-name a``, and a default as the empty name (KIP-543)."""
    spelled: list[Word] = []
    for word in words:
        name, equals, value = word.text.removeprefix("--").partition("=")
        short = name.removesuffix("-defaults")
        if not word.text.startswith("--") or (name != "entity-default" and short not in _SHORT):
            spelled.append(word)
            continue
        if short in _SHORT:
            spelled += [Word("--entity-type"), Word(_SHORT[short])]
        spelled.append(Word("--entity-name"))
        if short != name or name == "entity-default":
            spelled.append(Word(DEFAULT_NAME))
        elif equals:
            spelled.append(Word(value, word.open))
    return spelled


def _options(words: Sequence[Word], names: Collection[str]) -> _Options:
    """The values of each option; raises :class:`_UnreadCommandError` for what only the tool or a shell understands."""
    options: dict[str, list[str]] = defaultdict(list)
    rest = iter(words)
    for word in rest:
        if not word.text.startswith("--"):
            raise _UnreadCommandError("a word in it belongs to no option")
        name, equals, value = word.text[2:].partition("=")
        given = Word(value, word.open) if equals else None
        if name in _FLAGS:
            options[name].append("")
            continue
        if name not in names and name not in _CONNECTION:
            raise _UnreadCommandError(f"--{name} is no option that is known here")
        given = given or next(rest, None)
        if name in _CONNECTION:
            continue
        options[name].append(_literal(name, given))
    return options


def _literal(name: str, given: Word | None) -> str:
    """The value of an option. A password is not converted, so it may be a variable of the shell."""
    if given is None:
        raise _UnreadCommandError(f"--{name} has no value")
    text = _PASSWORD.sub("password=", given.text) if name == "add-config" else given.text
    if given.open is not None and (text == given.text or re.search(r"[$`*?{]", text)):
        raise _UnreadCommandError(f"--{name} {text} holds {given.open}")
    return text


def _acls(options: _Options, where: str) -> list[_Grant]:
    form = (options.get("resource-pattern-type") or ["literal"])[-1]
    named = [Resource(_KINDS[name], text, form) for name in _KINDS for text in options.get(name, ())]
    grants = list(_grants(options, named))
    if not grants:
        raise _UnreadCommandError("it names no resource")
    sides = [
        (effect, principal, host)
        for effect in ("allow", "deny")
        for principal in options.get(f"{effect}-principal", ())
        for host in options.get(f"{effect}-host") or ["*"]
    ]
    if not sides:
        raise _UnreadCommandError("it names no principal")
    return [
        _Grant(principal, resource, operations, where, effect, host)
        for effect, principal, host in sides
        for resource, operations in grants
    ]


def _grants(options: _Options, named: Sequence[Resource]) -> Iterator[tuple[Resource, tuple[str, ...]]]:
    """Resources with their operations; ``--producer`` and ``--consumer`` bring their own."""
    of = {kind: [resource for resource in named if resource.kind == kind] for kind in _KINDS.values()}
    if "producer" in options:
        yield from ((resource, ("WRITE", "DESCRIBE", "CREATE")) for resource in of["topic"])
        yield from ((resource, ("WRITE", "DESCRIBE")) for resource in of["transactional id"])
        if "idempotent" in options:
            yield CLUSTER, ("IDEMPOTENT_WRITE",)
    if "consumer" in options:
        yield from ((resource, ("READ", "DESCRIBE")) for resource in of["topic"])
        yield from ((resource, ("READ",)) for resource in of["group"])
    if not options.keys() & {"producer", "consumer"}:
        operations = tuple(options.get("operation") or ("ALL",))
        yield from ((resource, operations) for resource in named)
        if "cluster" in options:
            yield CLUSTER, operations


def _may_match(pattern: str, name: str) -> bool:
    """Whether ``--topic`` may name the topic: as its text, or with dots that stand for any character."""
    return re.fullmatch(pattern, name) is not None


def _topic(topic: _Created, conversion: Conversion) -> None:
    pairs = [text.partition("=") for text in topic.options.get("config", ())]
    partitions, replicas = (
        next(iter(topic.options.get(name, ())), None) for name in ("partitions", "replication-factor")
    )
    conversion.add_topic(topic.name, partitions, replicas, {key: value for key, _, value in pairs}, topic.where)
