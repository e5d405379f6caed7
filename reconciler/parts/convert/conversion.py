"""The result of a conversion: bindings, topics, quotas, users, and a remark on everything else."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    CLUSTER_NAME,
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.config_resource import ConfigResource
from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds import listed_types
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, SCRAM_CODES, ScramUser
from reconciler.model.listing import ListedItem
from reconciler.model.topic import Topic, collision_key
from reconciler.parts.convert.files import SourceError, SourceFiles, Tree
from reconciler.parts.convert.shell import calls_tools


def _plain(word: str) -> str:
    return re.sub(r"[^a-z]", "", word.lower())


# Tools spell Kafka's words differently: CLUSTER_ACTION, ClusterAction, cluster-action.
_KINDS: Final = {_plain(kind.name): kind for kind in ResourceType if kind >= ResourceType.TOPIC}
_FORMS: Final = {"literal": PatternType.LITERAL, "prefixed": PatternType.PREFIXED, "prefix": PatternType.PREFIXED}
_OPERATIONS: Final = {_plain(operation.name): operation for operation in AclOperation if operation >= AclOperation.ALL}
#: Java's ``int`` and ``short``.
_MOST_PARTITIONS: Final = 2**31 - 1
_MOST_REPLICAS: Final = 2**15 - 1
#: A number of YAML, JSON or HCL.
_NUMBER: Final = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
_PERMISSIONS: Final = {"allow": AclPermissionType.ALLOW, "deny": AclPermissionType.DENY}


#: Redpanda's roles stand in ACLs as principals of a type of their own.
_REDPANDA_ROLE: Final = "RedpandaRole:"
_UNREAD: Final = "unknown field, which may matter"


class Remark(NamedTuple):
    """Something that is not converted: its place, what it is, and why."""

    where: str
    subject: str
    reason: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.where}: {self.subject}: {self.reason}"


class Sign(NamedTuple):
    """How a format is recognised: what tells it, and the first place of that."""

    format: str
    words: str
    where: str

    def __str__(self) -> str:
        """``strimzi: kafka.strimzi.io KafkaUser in users.yaml:1``."""
        return f"{self.format}: {self.words} in {self.where}"


_BOTH: Final = "the source declares it and wants it to be deleted"


class Resource(NamedTuple):
    """A resource pattern in a tool's own words."""

    kind: str
    name: str
    form: str = "literal"


#: The cluster, which has one name.
CLUSTER: Final = Resource("cluster", CLUSTER_NAME)


@dataclass(frozen=True, slots=True)
class ConversionResult:
    """What the source would create, as far as it is known.

    ``origins`` says where each binding, and each topic by name, stands in the source. ``absent`` are the names of
    topics that the source wants to be deleted, ``absent_users`` those of such SCRAM users. ``listed`` are the resources
    of listed kinds, by ``KIND``.
    ``skipped`` is what the source grants, denies or creates and these bindings and topics lack. ``unmanaged`` is what
    the source has and this tool does not manage. ``signs`` say how formats were recognised, if that was asked for.
    """

    bindings: frozenset[AclBinding]
    topics: Mapping[str, Topic]
    skipped: tuple[Remark, ...]
    unmanaged: tuple[Remark, ...]
    origins: Mapping[AclBinding | str, str]
    listed: Mapping[str, frozenset[ListedItem]]
    absent: frozenset[str] = frozenset()
    absent_users: frozenset[str] = frozenset()
    signs: tuple[Sign, ...] = ()


def _where(place: str | Tree) -> str:
    """The place; a remark about a tree says all there is to say about what is below it."""
    if isinstance(place, str):
        return place
    place.ignore()
    return place.where


class Conversion:
    """Collects results and remarks."""

    def __init__(self) -> None:
        """Start empty."""
        self._bindings: set[AclBinding] = set()
        self._origins: dict[AclBinding | str, str] = {}
        self._topics: dict[str, Topic] = {}
        self._listed: dict[str, dict[Any, Any]] = {kind.KIND: {} for kind in listed_types()}
        self._absent: dict[str, str] = {}
        self._absent_users: dict[str, str] = {}
        self._skipped: dict[Remark, None] = {}
        self._unmanaged: dict[Remark, None] = {}
        self._signs: tuple[Sign, ...] = ()
        self._recognised = False

    def add_signs(self, signs: Iterable[Sign]) -> None:
        """Note how formats were recognised."""
        self._signs += tuple(signs)

    def recognise(self) -> None:
        """Note that something in the source has the expected format, even if it declares nothing."""
        self._recognised = True

    def add_binding(
        self,
        principal: str,
        resource: Resource,
        operations: Collection[str],
        where: str,
        *,
        permission: str = "allow",
        host: str = WILDCARD,
    ) -> None:
        """Add one binding for each operation; skip words that Kafka does not have, with a remark."""
        for operation in operations:
            binding = self._binding(principal, resource, operation, permission, host)
            if isinstance(binding, str):
                subject = f"{principal} {permission} {operation} on {resource.kind} {resource.form} {resource.name}"
                self.skip(where, subject, binding)
            else:
                self._bindings.add(binding)
                self._origins.setdefault(binding, where)

    @staticmethod
    def _binding(principal: str, resource: Resource, operation: str, permission: str, host: str) -> AclBinding | str:
        """The binding, or why there is none."""
        kind, form = _KINDS.get(_plain(resource.kind)), _FORMS.get(_plain(resource.form))
        action, effect = _OPERATIONS.get(_plain(operation)), _PERMISSIONS.get(_plain(permission))
        if kind is None:
            return f"there is no resource type {resource.kind!r}"
        if form is None:
            return f"there is no pattern type {resource.form!r} for a binding"
        if action is None:
            return f"there is no operation {operation!r}"
        if effect is None:
            return f"there is no permission {permission!r}"
        if principal.startswith(_REDPANDA_ROLE):
            return "Kafka has no roles: grant it to each user who has the role"
        if not resource.name:
            return "it names no resource"
        return AclBinding(
            ResourcePattern(kind, resource.name, form), AccessControlEntry(principal, host, action, effect)
        )

    def add_topic(
        self, name: str, partitions: str | None, replicas: str | None, configs: Mapping[str, str], where: str
    ) -> None:
        """Add a topic; numbers are the texts of the source, ``None`` or ``-1`` if the broker decides."""
        counts = []
        for text, most in ((partitions, _MOST_PARTITIONS), (replicas, _MOST_REPLICAS)):
            count = None if text in (None, "-1") else text
            if count is not None and not (re.fullmatch(r"[1-9][0-9]{0,9}", count) and int(count) <= most):
                self.skip(where, f"topic {name}", f"{text!r} is not a number of partitions or replicas")
                return
            counts.append(None if count is None else int(count))
        topic = Topic(name, counts[0], counts[1], FrozenMap(configs))
        self._origins.setdefault(name, where)
        if self._topics.setdefault(name, topic) != topic:
            self.skip(where, f"topic {name}", "it is already declared, with other values")

    def add_absent_topic(self, name: str, where: str) -> None:
        """Add a topic that the source wants to be deleted."""
        self._origins.setdefault(name, where)
        self._absent.setdefault(name, where)

    def add_absent_user(self, name: str, where: str) -> None:
        """Add a SCRAM user that the source wants to be deleted."""
        self._absent_users.setdefault(name, where)

    def add_quota(self, entity: QuotaEntity, limits: Mapping[str, str], where: str) -> None:
        """Add a quota; ``limits`` are the texts of the source by Kafka's keys. Without any there is no quota."""
        wrong = [f"{key} {text!r}" for key, text in limits.items() if not _NUMBER.fullmatch(text)]
        if wrong:
            self.skip(where, f"quota of {entity}", f"{', '.join(wrong)} is not a number")
        elif limits:
            quota = ClientQuota(entity, {key: float(text) for key, text in limits.items()})
            if self._listed[quota.KIND].setdefault(entity, quota) != quota:
                self.skip(where, f"quota of {entity}", "it is already declared, with other limits")

    def add_configs(self, resource: type[ConfigResource], name: str, configs: Mapping[str, str], where: str) -> None:
        """Add the configs under a name; without any there are none."""
        item = resource.of(name, configs)
        if configs and self._listed[item.KIND].setdefault(name, item) != item:
            self.skip(where, item.subject, "it is already declared, with other values")

    def add_user(self, name: str, mechanism: str, iterations: str, where: str) -> None:
        """Add a mechanism of a SCRAM user, in any case. No password comes along: whoever reads manifests reads it."""
        named, subject = mechanism.upper(), f"SCRAM user {name}"
        users = self._listed[ScramUser.KIND]
        before: ScramUser = users.get(name, ScramUser(name))
        if named not in SCRAM_CODES:
            self.skip(where, subject, f"there is no mechanism {mechanism!r}")
        elif not re.fullmatch(r"[0-9]{1,9}", iterations):
            self.skip(where, subject, f"{iterations!r} is not a number of iterations")
        elif int(iterations) == DISABLED_ITERATIONS:
            self.skip(where, subject, f"{iterations} iterations mark users that are disabled: set another number first")
        elif before.values.get(named, int(iterations)) != int(iterations):
            self.skip(where, subject, "it is already declared, with other iterations")
        else:
            users[name] = before.with_values({**before.values, named: int(iterations)})

    def skip(self, place: str | Tree, subject: str, reason: str) -> None:
        """Remark that the source would create something that is not converted; it speaks for a whole tree."""
        self._skipped[Remark(_where(place), subject, reason)] = None

    def add_unmanaged(self, place: str | Tree, subject: str, reason: str) -> None:
        """Remark that the source has something that this tool does not manage; it speaks for a whole tree."""
        self._unmanaged[Remark(_where(place), subject, reason)] = None

    def set_aside(self, node: Tree, reasons: Mapping[str, str]) -> None:
        """Remarks on those fields of ``node`` that decide nothing here, each with its reason."""
        for field in [field for field in node.names() if field in reasons]:
            self.add_unmanaged(node.get(field), field, reasons[field])

    def rendered(self, files: SourceFiles, name: str) -> list[Tree]:
        """A file's documents. Of several files, one that cannot be read or is a template is skipped with a remark.

        A template is refused even if it happens to be YAML: a principal called ``{{ .Values.user }}`` is nobody.
        """
        if files.chosen:
            return files.trees(name)
        try:
            files.refuse_template(name)
            return files.trees(name)
        except SourceError as error:
            if len(files.names) == 1:
                raise
            where, _, reason = str(error).partition(": ")
            self.skip(where, "a file", reason)
            return []

    def name_leftovers(self, tree: Tree) -> None:
        """Remarks on every field that nobody asked for: each may grant or deny something."""
        for where, name in tree.leftovers():
            self.skip(where, name, _UNREAD)

    def name_nothing(self, expected: str) -> None:
        """Remark that nothing was recognised, if so: a wrong path or format must not look like an empty cluster."""
        contents = (
            self._recognised,
            self._bindings,
            self._topics,
            *self._listed.values(),
            self._absent,
            self._absent_users,
            self._skipped,
        )
        if not any(contents):
            self.skip("the source", "no ACL, topic, quota or user", f"nothing here is recognised as {expected}")

    def result(self) -> ConversionResult:
        """The result, remarks in the order of the source."""
        present = {collision_key(name) for name in self._topics}
        for name in [name for name in self._absent if collision_key(name) in present]:
            self.skip(self._absent.pop(name), f"topic {name}", _BOTH)
        for name in [name for name in self._absent_users if name in self._listed[ScramUser.KIND]]:
            self.skip(self._absent_users.pop(name), f"SCRAM user {name}", _BOTH)
        return ConversionResult(
            frozenset(self._bindings),
            FrozenMap(dict(sorted(self._topics.items()))),
            tuple(self._skipped),
            tuple(self._unmanaged),
            dict(self._origins),
            {kind: frozenset(items.values()) for kind, items in self._listed.items()},
            frozenset(self._absent),
            frozenset(self._absent_users),
            self._signs,
        )


# Resources of other tools, in files where many tools keep theirs: which grant access to Kafka or hold a topic.
#
# A resource that no converter reads may be anything. Two words decide, because a list of kinds is never complete: one
# that names Kafka or a product of it, and one that names access or topics.

_KAFKA: Final = re.compile(r"kafka|confluent|redpanda|jikkou|ns4kafka|strimzi|aiven|msk|cloudkarafka|instaclustr", re.I)
#: Kinds whose names say enough: of ns4kafka, which has no API group, and of Conduktor.
_KNOWN: Final = re.compile(r"AccessControlEntry|ApplicationInstance")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ACCESS: Final = frozenset(
    ("acl", "acls", "role", "roles", "rolebinding", "permission", "permissions", "grant", "grants", "authorization")
)
_USER: Final = frozenset(("user", "account", "application", "identity"))
#: AWS IAM decides for Amazon MSK by actions, in any kind of policy document.
_IAM: Final = "kafka-cluster:"
_GRANTS: Final = "it grants or denies access to Kafka, and this converter does not read it"
_HOLDS: Final = "it is a topic, and this converter does not read it"
_HOLDS_WITH_ACCESS: Final = "it is a topic with access to it, and this converter does not read it"
_CALLS: Final = "it calls Kafka's tools: convert it with --from kafka-acls-script, or all with --from auto"
PRINCIPALS: Final = "it names principals of Kafka, in a form that is not known: nothing of it is converted"
PRINCIPAL: Final = re.compile(r"\bUser:(?:CN=)?[\w*]")
_INSIDE: Final = "it holds resources of Kafka inside: convert what it renders or applies"
#: The API version of a resource of Kafka, by itself or in a text that holds YAML.
_VERSION: Final = re.compile(
    r"(?:\A|apiVersion:\s*[\"']?)[\w.-]*(?:kafka|confluent|redpanda|jikkou|strimzi)[\w.-]*/v[0-9]", re.I
)
_BY_IAM: Final = "AWS IAM grants access to Kafka here, besides ACLs: keep it in view, no manifest can declare it"


def add_foreign(conversion: Conversion, node: Tree, kind: str, subject: str, *, unmanaged: str) -> None:
    """Remarks on a resource of another tool: not converted if it seems to decide who may do what, else unmanaged.

    ``kind`` is how its own tool calls it, with its API group or its provider; ``unmanaged`` is the reason for the rest.
    """
    reason = _access(node, kind)
    if reason is not None:
        conversion.skip(node, subject, reason)
    else:
        conversion.add_unmanaged(node, subject, unmanaged)


def _access(node: Tree, kind: str) -> str | None:
    if any(_IAM in text for text in node.all_texts()):
        return _BY_IAM
    if calls_tools(node):
        return _CALLS
    if any(_VERSION.search(text) for text in _texts_inside(node)):
        return _INSIDE
    if _KNOWN.search(kind):
        return _GRANTS
    if not _KAFKA.search(kind):
        return PRINCIPALS if any(PRINCIPAL.match(text) for text in node.all_texts()) else None
    words = _words(kind)
    if words & _ACCESS:
        return _GRANTS
    inside = any(_words(key) & _ACCESS for key in node.all_keys())
    if "topic" in words:
        return _HOLDS_WITH_ACCESS if inside else _HOLDS
    # A user is a login: nothing for a manifest, unless rules stand inside.
    return _GRANTS if inside and words & _USER else None


def _texts_inside(node: Tree) -> Iterator[str]:
    """Every text below the fields of a resource, but for its own API version."""
    if isinstance(node.value, Mapping):
        for name, value in node.value.items():
            if name not in ("apiVersion", "metadata"):
                yield from value.all_texts()


def _words(name: str) -> set[str]:
    """The words of a name in any case: ``KafkaTopicAclEntry`` and ``aiven_kafka_acl`` both hold ``acl``."""
    return {word.lower() for word in _WORD.findall(name)}
