"""The result of a conversion: bindings, topics, quotas, users, and a remark on everything else."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.acl import (
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
from reconciler.parts.convert.tree import Tree


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

    def name_leftovers(self, tree: Tree) -> None:
        """Remarks on every field that nobody asked for: each may grant or deny something."""
        for where, name in tree.leftovers():
            self.skip(where, name, _UNREAD)

    def name_nothing(self, expected: str) -> None:
        """Remark that nothing was recognised, if so: a wrong path or format must not look like an empty cluster."""
        found = (
            self._recognised,
            self._bindings,
            self._topics,
            *self._listed.values(),
            self._absent,
            self._absent_users,
            self._skipped,
        )
        if not any(found):
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
