"""What ``kafka-topics --describe`` and ``kafka-configs --describe`` print, in one file or in several.

kafka-topics shows counts, and of configs also what brokers set (``TopicCommand`` leaves out defaults alone);
kafka-configs shows what is set on the topic itself. Where both are there, the second decides.

Sources: ``TopicCommand.TopicDescription``, ``PartitionDescription``, ``ConfigCommand.describeConfig``; before 2.6 the
form with ``Configs for … are``, which shows credentials of users: they are read for their iterations alone.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from reconciler.model.config_resource import ConfigResource
from reconciler.model.kinds.client_metrics import ClientMetrics
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import DEFAULT_NAME, QUOTA_KEYS, QuotaEntity
from reconciler.model.topic import INTERNAL_TOPICS
from reconciler.parts.convert.conversion import Conversion
from reconciler.parts.convert.files import SourceFiles, Tree

_TOPIC: Final = re.compile(
    r"Topic:\s?(?P<name>\S+)\s+(?:TopicId:\s?\S+\s+)?PartitionCount:\s?(?P<partitions>\d+)\s+"
    r"ReplicationFactor:\s?(?P<replicas>\d+)\s+Configs:\s?(?P<configs>.*?)(?P<going>\s+MarkedForDeletion: true)?\s*"
)
_PARTITION: Final = re.compile(
    r"\s+Topic:\s?(?P<name>\S+)\s+Partition:\s?\d+\s+Leader:\s?\S+\s+Replicas:\s?(?P<replicas>[\d,]*)\b(?P<rest>.*)"
)
_MOVING: Final = re.compile(r"(?:Adding|Removing) Replicas:\s?\d")
_HEADING: Final = re.compile(
    r"(?:(?P<which>Quota|SCRAM credential|Dynamic|All|Default) )?[Cc]onfigs for (?P<of>.*?) are:?"
    r"(?: (?P<values>.*))?\s*"
)
_CONFIG: Final = re.compile(
    r"\s+(?P<key>[\w.-]+)=(?P<value>.*) sensitive=(?P<sensitive>true|false) synonyms=\{(?P<from>.*)\}\s*"
)
_PART: Final = re.compile(
    r"(?:(?P<default>the default|default) )?(?P<kind>user-principal|client-id|ip)(?: '(?P<name>.*?)')?(?P<more>, |$)"
)
_NAMED: Final = re.compile(
    r"(?P<kind>topic|group|broker|broker-logger|client-metric|brokers in the cluster)s? ?'?(?P<name>.*?)'?"
)
#: Credentials before 2.6 end with their iterations, too.
_CREDENTIAL: Final = re.compile(r"(SCRAM-SHA-[0-9]+)=\[?(?:\w+=[^,\]]*,)*?iterations=([0-9]+)\]?,?\s*")
_BETWEEN: Final = re.compile(r",\s*(?=[\w.-]+=)")
_KINDS: Final = {"user-principal": "user", "client-id": "client_id", "ip": "ip"}

_UNKNOWN_LINE: Final = "neither kafka-topics nor kafka-configs prints such a line"
_NO_HEADING: Final = "no heading right above it says of what it is"
_NOT_READ: Final = "of whom these configs are is not understood"
_BROKERS: Final = "configs of brokers are not managed"
#: Resources that are nothing but configs, as their headings call them.
_RESOURCES: Final[Mapping[str, type[ConfigResource]]] = {"group": GroupConfig, "client-metric": ClientMetrics}
_OF_BROKERS: Final = (
    "kafka-topics shows what brokers set, too: add what kafka-configs --describe --entity-type topics prints, to tell"
)
_UNEVEN: Final = "its partitions have unlike numbers of replicas, or are moving: no replication factor is declared"
_INTERNAL: Final = "Kafka keeps this topic itself"
_GOING: Final = "it is marked for deletion"
_SENSITIVE: Final = "Kafka does not show its value"
_MOVES: Final = (
    "a reassignment places replicas once, and says nothing of configs: declare replicaAssignments where that matters"
)


class _Described(NamedTuple):
    """A topic as kafka-topics shows it."""

    partitions: str
    replicas: str
    configs: Mapping[str, str]
    where: str


def read_kafka_describe(files: SourceFiles, conversion: Conversion) -> None:
    """All files together: counts of a topic can be in another one than its configs."""
    described = _Descriptions(conversion)
    for name in files.ending(".txt", ".log", ".out", ".json"):
        if name.lower().endswith(".json") or files.text(name).lstrip()[:1] == "{":
            for tree in files.trees(name):
                _reassignment(tree, conversion)
        else:
            described.read(name, files.text(name))
    described.finish()


def _reassignment(tree: Tree, conversion: Conversion) -> None:
    tree.ignore("version")
    for partition in tree.items("partitions"):
        partition.ignore()
        conversion.skip(partition.where, f"topic {partition.text('topic')}", _MOVES)


class _Descriptions:
    """The lines of all files, in order; a line that is not understood ends what the lines above it began."""

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._topics: dict[str, _Described] = {}
        self._uneven: set[str] = set()
        self._set: dict[str, tuple[dict[str, str], str]] = {}
        self._named: dict[tuple[str, str], tuple[dict[str, str], str]] = {}
        # The configs of the topic or group that a heading named, and whether only some of them are its own.
        self._below: dict[str, str] | None = None
        self._all = False
        self._passed = False

    def read(self, name: str, text: str) -> None:
        """Read the lines of one file."""
        self._below, self._passed = None, False
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                self._line(line.rstrip("\r"), f"{name}:{number}")

    def _line(self, line: str, where: str) -> None:
        if (topic := _TOPIC.fullmatch(line)) is not None:
            self._below, self._passed = None, False
            self._topic(topic, where)
        elif (partition := _PARTITION.fullmatch(line)) is not None:
            self._partition(partition, where)
        elif (config := _CONFIG.fullmatch(line)) is not None:
            self._config(config, where)
        elif (heading := _HEADING.fullmatch(line)) is not None:
            self._below, self._passed = None, False
            self._heading(heading, where)
        else:
            self._below, self._passed = None, False
            self._conversion.skip(where, _shown(line), _UNKNOWN_LINE)

    def _topic(self, match: re.Match[str], where: str) -> None:
        name = match["name"]
        if name in INTERNAL_TOPICS or match["going"]:
            self._conversion.add_unmanaged(where, f"topic {name}", _GOING if match["going"] else _INTERNAL)
            return
        configs = dict(pair.partition("=")[::2] for pair in _BETWEEN.split(match["configs"]) if pair)
        topic = _Described(match["partitions"], match["replicas"], configs, where)
        if self._topics.setdefault(name, topic)[:3] != topic[:3]:
            self._conversion.skip(where, f"topic {name}", "it is already described, with other values")

    def _partition(self, match: re.Match[str], where: str) -> None:
        name = match["name"]
        if name in INTERNAL_TOPICS:
            return
        if name not in self._topics:
            self._conversion.skip(where, f"a partition of {name}", _NO_HEADING)
        elif _MOVING.search(match["rest"]) or len(match["replicas"].split(",")) != int(self._topics[name].replicas):
            self._uneven.add(name)

    def _config(self, match: re.Match[str], where: str) -> None:
        if self._passed:
            return
        if self._below is None:
            self._conversion.skip(where, match["key"], _NO_HEADING)
        elif match["sensitive"] == "true":
            self._conversion.skip(where, match["key"], _SENSITIVE)
        elif not self._all or match["from"].startswith(("DYNAMIC_TOPIC_CONFIG:", "DYNAMIC_GROUP_CONFIG:")):
            self._below[match["key"]] = match["value"]

    def _heading(self, match: re.Match[str], where: str) -> None:
        self._all = match["which"] == "All"
        entity = _entity(match["of"])
        if entity is not None:
            self._entity(entity, match["values"] or "", where)
            return
        named = _NAMED.fullmatch(match["of"])
        declared = named is not None and (named["kind"] == "topic" or named["kind"] in _RESOURCES)
        if named is None or (declared and not named["name"]):
            self._conversion.skip(where, _shown(match["of"]), _NOT_READ)
            return
        if not declared:
            self._passed = True
            self._conversion.add_unmanaged(where, f"configs of {match['of']}", _BROKERS)
            return
        if named["kind"] == "topic":
            self._below, _ = self._set.setdefault(named["name"], ({}, where))
        else:
            self._below, _ = self._named.setdefault((named["kind"], named["name"]), ({}, where))
        self._below |= dict(pair.partition("=")[::2] for pair in _BETWEEN.split(match["values"] or "") if pair.strip())

    def _entity(self, parts: Mapping[str, str], values: str, where: str) -> None:
        """Quotas, and credentials of a user."""
        self._conversion.recognise()
        entity = QuotaEntity.of(**parts)
        for mechanism, iterations in _CREDENTIAL.findall(values):
            if parts.keys() == {"user"} and parts["user"]:
                self._conversion.add_user(parts["user"], mechanism, iterations, where)
            else:
                self._conversion.skip(where, f"a credential of {entity}", "credentials are of one user")
        limits = {}
        for pair in filter(None, map(str.strip, _CREDENTIAL.sub("", values).split(","))):
            key, _, value = pair.partition("=")
            if key in QUOTA_KEYS:
                limits[key] = value
            else:
                # What stands there may be a part of a credential.
                self._conversion.skip(where, f"configs of {entity}", "a config that is not known here")
        self._conversion.add_quota(entity, limits, where)

    def finish(self) -> None:
        """Add the topics and groups, which several headings describe together."""
        for name, topic in self._topics.items():
            own = self._set.pop(name, None)
            if own is None and topic.configs:
                self._conversion.add_unmanaged(topic.where, f"configs of topic {name}", _OF_BROKERS)
            if name in self._uneven:
                self._conversion.add_unmanaged(topic.where, f"replicas of topic {name}", _UNEVEN)
            replicas = None if name in self._uneven else topic.replicas
            configs = topic.configs if own is None else own[0]
            self._conversion.add_topic(name, topic.partitions, replicas, configs, topic.where)
        for name, (configs, where) in self._set.items():
            if name in INTERNAL_TOPICS:
                self._conversion.add_unmanaged(where, f"topic {name}", _INTERNAL)
            else:
                self._conversion.add_topic(name, None, None, configs, where)
        for (kind, name), (configs, where) in self._named.items():
            self._conversion.add_configs(_RESOURCES[kind], name, configs, where)


def _entity(text: str) -> dict[str, str] | None:
    """The parts of a quota's entity; ``None`` for anything else."""
    entity: dict[str, str] = {}
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None or (part["name"] is None) is not bool(part["default"]) or _KINDS[part["kind"]] in entity:
            return None
        entity[_KINDS[part["kind"]]] = DEFAULT_NAME if part["name"] is None else part["name"]
        position = part.end()
    return entity or None


def _shown(line: str) -> str:
    """A line that may hold a credential, in messages."""
    return re.sub(r"(salt|stored_key|server_key|password)=[^,\]]*", r"\1=…", line.strip())[:80]
