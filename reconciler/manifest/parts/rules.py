"""Rules and roles: from what a document says to principals, operations and names.

Rules on resources, as ``Acls`` and the grants of ``Topics`` write them, every value checked.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple, Self

from pydantic import WithJsonSchema

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.document import Heading
from reconciler.manifest.parts.resources import (
    NAME_ENDS,
    DeclaredPatterns,
    Named,
    Permission,
    declared_at,
    host_problem,
    looks_like_a_pattern,
    name_problem,
    pattern_warning,
    permission,
    principal_problem,
)
from reconciler.manifest.read.findings import Findings, MappingNode, Node, ScalarNode, Trouble, quoted, scalars
from reconciler.manifest.read.problem import Code, did_you_mean, nearest, one_of
from reconciler.model.acl import (
    CLUSTER_NAME,
    WILDCARD,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, Expiry, Origin
from reconciler.model.scope import RESOURCE_FIELDS

_ACTION = Trouble(Code.RULE_FORM, "exactly one of allow, deny and role is expected in a rule")
_RESOURCE = Trouble(
    Code.RULE_FORM, "the rule names no resource", "add topics, groups, transactionalIds or cluster: true"
)
_PRINCIPAL = Trouble(Code.RULE_FORM, "exactly one of principal and principals is expected here")
_NO_ROLE: Final = Trouble(Code.RULE_FORM, "parameters are those of a role", "remove them, or write role")
#: The hosts of a rule that names none, one object for all of them.
EVERY_HOST: Final = (WILDCARD,)
_ACTIONS: Final = ("allow", "deny", "role")


@dataclass(frozen=True, slots=True)
class RoleUse:
    """A rule's ``role:`` and the place of it; ``values`` are those of the words in the role's names, by word."""

    name: str
    declaration: Declaration
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RuleDeclaration:
    """One rule: what it does (operations, or a role), for whom, from where, on what; :meth:`of` makes it.

    As few objects as can be, because there may be a million rules: what all its fields name is in ``patterns``, field
    by field, with ``places`` and ``terms`` as in :class:`DeclaredPatterns`. ``kinds`` are the types of the fields.
    """

    action: Permission | RoleUse
    principals: tuple[str, ...]
    hosts: tuple[str, ...]
    kinds: tuple[ResourceType, ...]
    patterns: tuple[ResourcePattern, ...]
    places: bytes
    terms: Declaration

    @classmethod
    def of(
        cls,
        action: Permission | RoleUse,
        principals: tuple[str, ...],
        hosts: tuple[str, ...],
        named: Sequence[DeclaredPatterns],
        terms: Declaration,
    ) -> Self:
        """A rule on what each of its fields names, all of them on the same ``terms``."""
        kinds = _one(tuple([names.kind for names in named]))
        if len(named) == 1:
            return cls(action, principals, hosts, kinds, named[0].patterns, named[0].places, terms)
        patterns = tuple([pattern for names in named for pattern in names.patterns])
        return cls(action, principals, hosts, kinds, patterns, b"".join([names.places for names in named]), terms)

    @property
    def named(self) -> Iterator[DeclaredPatterns]:
        """What each field names."""
        return (names for kind in self.kinds if (names := self.on(kind)) is not None)

    def on(self, kind: ResourceType) -> DeclaredPatterns | None:
        """What it names of one type; ``None`` where it has no field for that."""
        if kind not in self.kinds:
            return None
        whole = DeclaredPatterns(kind, self.patterns, self.places, self.terms)
        return whole if len(self.kinds) == 1 else whole.of_type(kind)

    def declaration_at(self, number: int) -> Declaration:
        """That of one of its ``patterns``."""
        return declared_at(self.terms, self.places, number)

    def declared(self) -> Iterator[tuple[ResourcePattern, Declaration]]:
        """Every pattern that it names, each time with the place."""
        return chain.from_iterable(self.named)

    @property
    def permission(self) -> Permission:
        """What it permits or refuses; raises ``TypeError`` where a role says so."""
        if isinstance(self.action, RoleUse):
            raise TypeError(f"what the role {self.action.name} permits is not known here")
        return self.action

    @property
    def expires(self) -> Expiry | None:
        """Until when it holds."""
        return self.terms.expires

    @property
    def origin(self) -> Origin:
        """Its place: that of its role, or of the first of its names."""
        if isinstance(self.action, RoleUse):
            return self.action.declaration.origin
        return min(declaration.origin for _, declaration in self.declared())


@lru_cache(maxsize=256)
def _one(kinds: tuple[ResourceType, ...]) -> tuple[ResourceType, ...]:
    """The same object for all rules with the same fields."""
    return kinds


def declare_principals(spec: MappingNode, findings: Findings) -> tuple[str, ...]:
    """The principals under ``principal`` or ``principals``; problems are reported."""
    principal, many = spec.get("principal"), spec.get("principals")
    if principal is not None and many is not None:
        findings.add(_PRINCIPAL._replace(advice="remove one of them"), spec.keys["principals"])
    elif principal is None and many is None and not _misspelt(spec, ("principal", "principals"), findings):
        findings.add(_PRINCIPAL._replace(advice="write principal: User:name"), spec)
    return checked_texts(principal if principal is not None else many, principal_problem, findings)


def _misspelt(node: MappingNode, fields: Iterable[str], findings: Findings) -> bool:
    """Whether one of ``fields`` is there but for its spelling, which is reported as an unknown field already."""
    names = [*fields]
    return any(findings.marks(key) and nearest(key.plain, names) for key in node.keys.values())


_NO_PATTERNS: Final = "name each of them: patterns are not possible here"


def checked_texts(
    node: Node | None,
    check: Callable[[str], Trouble | None],
    findings: Findings,
    advice: str = _NO_PATTERNS,
) -> tuple[str, ...]:
    """The texts of a field, each once; ``check`` says what is wrong with one.

    A warning with ``advice`` says of one that looks like a pattern that it is a name; without advice there is none, and
    with an advice of its own a field takes stars.
    """
    texts: dict[str, ScalarNode] = {}
    for item in scalars(node):
        if findings.marks(item):
            continue
        trouble = check(item.plain)
        if trouble is not None:
            findings.add(trouble, item)
        elif item.plain in texts:
            twice = Trouble(Code.DUPLICATE_BINDING, f"{item.plain} is in the list twice", "remove one of them")
            findings.add(twice, item, related=[findings.origin(texts[item.plain])])
        elif looks_like_a_pattern(item.plain) if advice == _NO_PATTERNS else advice and item.plain.endswith(NAME_ENDS):
            findings.add(pattern_warning(item.plain)._replace(advice=advice), item, severity="warning")
        texts.setdefault(item.plain, item)
    return tuple(texts)


#: The type of the principals of users.
_USER: Final = "User:"


def checked_users(node: Node | None, check: Callable[[str], Trouble | None], findings: Findings) -> tuple[str, ...]:
    """The same for names of users, each with or without the type of its principal: ``User:a`` is ``a``."""
    texts = checked_texts(node, lambda text: check(text.removeprefix(_USER)), findings)
    names = [text.removeprefix(_USER) for text in texts]
    if len(set(names)) < len(names) and node is not None:
        findings.add(Trouble(Code.DUPLICATE_BINDING, "a user is in the list twice", "remove one of them"), node)
    return tuple(names)


def other_type(name: str) -> Trouble:
    """What is wrong with the name of a user that still begins with a type."""
    message = f"{quoted(name)} is no user: the type of a principal is written {_USER.removesuffix(':')}"
    return Trouble(Code.ITEM_FORM, message, f"write {name[len(_USER) :]}")


def _values(node: MappingNode) -> tuple[tuple[str, str], ...]:
    """The values of a role's words, in the order in which they are written."""
    given = node.get("parameters")
    values = given.values if isinstance(given, MappingNode) else {}
    return tuple([(word, value.plain) for word, value in values.items() if isinstance(value, ScalarNode)])


def declare_rule(
    node: MappingNode,
    terms: Declaration | None,
    principals: tuple[str, ...],
    named: Mapping[ResourceType, Sequence[Named]],
    findings: Findings,
) -> RuleDeclaration | None:
    """One rule on what it names; ``None`` after reporting problems, and without ``terms``, where a field is wrong."""
    allowed = permission(node, list(named), findings)
    role = node.get("role")
    actions = sum(field in node.values for field in _ACTIONS)
    # A misspelt field is reported where it stands. A second problem about what is missing would only hide the cure.
    if actions != 1:
        if actions:
            findings.add(_ACTION._replace(advice="make a rule of each"), node)
        elif not _misspelt(node, _ACTIONS, findings):
            findings.add(_ACTION._replace(advice="add what the rule does, such as allow: READ"), node)
    elif "parameters" in node.values and role is None:
        findings.add(_NO_ROLE, node.keys["parameters"])
    elif not named and role is None and not _misspelt(node, RESOURCE_FIELDS, findings):
        findings.add(_RESOURCE, node)
    hosts = checked_texts(node.values["hosts"], host_problem, findings) if "hosts" in node.values else EVERY_HOST
    if terms is None:
        return None
    action: Permission | RoleUse | None = allowed
    if isinstance(role, ScalarNode):
        action = RoleUse(role.plain, terms._replace(origin=findings.origin(role)), _values(node))
    if action is None:
        return None
    declared = [DeclaredPatterns.of(kind, names, terms) for kind, names in named.items()]
    return RuleDeclaration.of(action, principals, hosts, declared, terms)


# Roles: named bundles of rules that take resources, and how rules use them.

#: The field of a rule that names a resource type.
FIELD_OF: Final = {kind: field for field, kind in RESOURCE_FIELDS.items()}


#: A word of a role in a name, ``$id``: a letter or digit after it belongs to it.
WORD: Final = re.compile(r"\$([A-Za-z][A-Za-z0-9]*)", re.ASCII)
#: What no value of a word can hold, as no value of a variable can: it would become a wildcard, or a word itself.
_NEVER: Final = "*?$"


class NameTemplate(NamedTuple):
    """A name in a role with words in it, which every use replaces; ``spelled_out`` as in :func:`name_problem`."""

    kind: ResourceType
    pattern_type: PatternType
    text: str
    spelled_out: bool = False

    def filled(self, values: Mapping[str, str]) -> ResourcePattern:
        """The pattern with each word replaced once; a word without a value stays."""
        text = WORD.sub(lambda match: values.get(match[1], match[0]), self.text)
        return ResourcePattern(self.kind, text, self.pattern_type)

    def problem(self, values: Mapping[str, str]) -> Trouble | None:
        """Why what results cannot be the name of such a pattern."""
        return name_problem(self.kind, self.filled(values).name, self.pattern_type, spelled_out=self.spelled_out)


@dataclass(frozen=True, slots=True)
class RoleRule:
    """What a role does to the resources it takes (``takes``) and to those it names itself (``names``).

    ``templates`` are names that only a use completes. ``origin`` is its place, ``None`` in a built-in role.
    """

    permission: Permission
    takes: tuple[ResourceType, ...]
    names: tuple[ResourcePattern, ...] = ()
    origin: Origin | None = None
    templates: tuple[NameTemplate, ...] = ()

    def named(self, use: RoleUse) -> tuple[ResourcePattern, ...]:
        """What the rule names itself in one use of its role."""
        values = dict(use.values)
        return (*self.names, *(template.filled(values) for template in self.templates))


@dataclass(frozen=True, slots=True)
class RoleDeclaration:
    """A role; every use names each of ``required`` and may name ``optional`` ones, at least one resource in all.

    ``words`` are parameters that stand in names of the role: every use gives each of them a value.
    """

    name: str
    required: tuple[ResourceType, ...]
    optional: tuple[ResourceType, ...]
    rules: tuple[RoleRule, ...]
    heading: Heading | None = None
    words: tuple[str, ...] = ()


def use_problem(rule: RuleDeclaration, use: RoleUse, roles: Mapping[str, RoleDeclaration]) -> Trouble | None:
    """Why a rule cannot use the role it names; ``None`` if it can."""
    role = roles.get(use.name)
    if role is None:
        return Trouble(
            Code.UNKNOWN_ROLE, f"there is no role {quoted(use.name)}", did_you_mean(use.name, roles, one_of(roles))
        )
    given = set(rule.kinds)
    needs = ", ".join(FIELD_OF[kind] for kind in role.required)
    may = ", ".join(FIELD_OF[kind] for kind in role.optional)
    takes = " and, if wanted, ".join(part for part in (needs, may) if part) or "no resources"
    advice = f"{role.name} takes {takes}"
    missing = [FIELD_OF[kind] for kind in role.required if kind not in given]
    if missing:
        message = f"the role {role.name} needs {' and '.join(missing)}"
        return Trouble(Code.ROLE_PARAMETERS, message, f"add {' and '.join(missing)} to the rule: {advice}")
    surplus = sorted(FIELD_OF[kind] for kind in given.difference(role.required, role.optional))
    if surplus:
        return Trouble(Code.ROLE_PARAMETERS, f"the role {role.name} does not take {' or '.join(surplus)}", advice)
    if not given and role.optional:
        return Trouble(Code.ROLE_PARAMETERS, f"the role {role.name} needs a resource", advice)
    return _values_problem(role, dict(use.values))


def _values_problem(role: RoleDeclaration, values: Mapping[str, str]) -> Trouble | None:
    """Why the words of a role cannot have these values."""
    missing = [word for word in role.words if word not in values]
    if missing:
        shown = ", ".join(f"{word}: …" for word in missing)
        message = f"the role {role.name} needs a value for {' and '.join(missing)}"
        return Trouble(Code.ROLE_PARAMETERS, message, f"add parameters: {{{shown}}} to the rule")
    surplus = [word for word in values if word not in role.words]
    if surplus:
        message = f"the role {role.name} has no parameter {quoted(surplus[0])}"
        return Trouble(Code.ROLE_PARAMETERS, message, did_you_mean(surplus[0], role.words, "remove it"))
    for word, value in values.items():
        bad = next((f"holds {letter!r}" for letter in _NEVER if letter in value), "" if value else "is empty")
        if bad:
            message = f"the value of {word} {bad}, so that it cannot be part of a name"
            return Trouble(Code.ROLE_PARAMETERS, message, "give another value, or write the rule without the role")
    templates = (template for part in role.rules for template in part.templates)
    return next(filter(None, (template.problem(values) for template in templates)), None)


# Rules as bindings: principals × hosts × operations × names, roles expanded.

#: Without the constructor, which is a Python call and checks again what a rule was checked for.
_new_entry: Final = partial(tuple.__new__, AccessControlEntry)


@dataclass(frozen=True, slots=True)
class BroughtRule(RuleDeclaration):
    """A rule that nobody wrote out: a role brings it."""


def grants(rule: RuleDeclaration, roles: Mapping[str, RoleDeclaration]) -> Iterator[RuleDeclaration]:
    """The rules without roles that a rule comes to; its role, if it has one, is in ``roles`` and fits."""
    use = rule.action
    if not isinstance(use, RoleUse):
        yield rule
        return
    for part in roles[use.name].rules:
        taken = [names for kind in part.takes if (names := rule.on(kind)) is not None]
        own = part.named(use)
        for kind in dict.fromkeys(pattern.resource_type for pattern in own):
            mine = [pattern for pattern in own if pattern.resource_type is kind]
            taken.append(DeclaredPatterns.at(kind, mine, use.declaration))
        # Apart, because what a role takes and what it names itself may be of one type.
        for names in taken:
            named = _brought(names, part.origin)
            yield BroughtRule.of(part.permission, rule.principals, rule.hosts, [named], named.terms)


def entries_of(grant: RuleDeclaration) -> tuple[AccessControlEntry, ...]:
    """One entry for each principal, host and operation of a rule without a role."""
    permission_type, operations = grant.permission
    return tuple(
        [
            _new_entry((principal, host, operation, permission_type))
            for principal in grant.principals
            for host in grant.hosts
            for operation in operations
        ]
    )


def grants_entry(grant: RuleDeclaration, entry: AccessControlEntry) -> bool:
    """Whether ``entry`` is one of :func:`entries_of`, none of which is made."""
    principal, host, operation, permission_type = entry
    permission = grant.permission
    return (
        principal in grant.principals
        and operation in permission.operations
        and host in grant.hosts
        and permission_type == permission.permission_type
    )


def size_of(rule: RuleDeclaration, roles: Mapping[str, RoleDeclaration]) -> int:
    """How many bindings :func:`grants` would come to, reckoned without making any."""
    if isinstance(rule.action, RoleUse):
        names = Counter(pattern.resource_type for pattern in rule.patterns)
        each = sum(
            len(part.permission.operations)
            * (sum(names[kind] for kind in part.takes) + len(part.names) + len(part.templates))
            for part in roles[rule.action.name].rules
        )
    else:
        each = len(rule.action.operations) * len(rule.patterns)
    return len(rule.principals) * len(rule.hosts) * each


def _brought(patterns: DeclaredPatterns, role: Origin | None) -> DeclaredPatterns:
    """The same with the place of the role's rule: who edits that decides as much as who uses the role."""
    return patterns if role is None else patterns.with_role(role)


# The roles that need no ``Role`` document. ``docs/manifests/roles.md`` says what each is for.
#
# Sources: ``AclCommand`` for producer and consumer, less CREATE, because topics are declared; KIP-932 for consumers
# in share groups, who need the same; Kafka's documentation of Streams and Connect security; KIP-98 for transactions,
# KIP-618 for Connect's, KIP-875 for resetting a sink's offsets (``alterConsumerGroupOffsets`` asks READ on the group,
# ``deleteConsumerGroups`` DELETE); KIP-382 for the mirror, KIP-716 for where it keeps offset-syncs; Confluent's
# "Schema Registry Security Overview", and ksqlDB's "Configure Authorization of ksqlDB with Kafka ACLs".

_O = AclOperation
_TOPIC, _GROUP, _CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
_TRANSACTION = ResourceType.TRANSACTIONAL_ID


def _on(kind: ResourceType, *operations: AclOperation) -> RoleRule:
    """Allows operations on what the use of the role names."""
    return RoleRule(Permission(AclPermissionType.ALLOW, operations), (kind,))


_PRODUCE = _on(_TOPIC, _O.WRITE, _O.DESCRIBE)
_TRANSACT = _on(_TRANSACTION, _O.WRITE, _O.DESCRIBE)
_JOIN = _on(_GROUP, _O.READ, _O.DESCRIBE)
_INTERNAL_OFFSETS = ResourcePattern(_TOPIC, "__consumer_offsets")
_INTERNAL_TRANSACTIONS = ResourcePattern(_TOPIC, "__transaction_state")
_THE_CLUSTER = ResourcePattern(_CLUSTER, CLUSTER_NAME)
#: MirrorMaker 2 calls its topics so on the source, ``mm2-offset-syncs.TARGET.internal``.
_OFFSET_SYNCS = ResourcePattern(_TOPIC, "mm2-offset-syncs.", PatternType.PREFIXED)


def _to(patterns: tuple[ResourcePattern, ...], *operations: AclOperation) -> RoleRule:
    """Allows operations on what the role itself names."""
    return RoleRule(Permission(AclPermissionType.ALLOW, operations), (), patterns)


_IDEMPOTENT = _to((_THE_CLUSTER,), _O.IDEMPOTENT_WRITE)
_SEE = (_O.DESCRIBE, _O.DESCRIBE_CONFIGS)
_KEEP = (_O.READ, _O.WRITE, _O.CREATE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS)
_RUN = (_O.CREATE, _O.ALTER, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS)

_ROLES = (
    # What declares a topic creates, alters and deletes it; its owner needs none of these.
    RoleDeclaration("owner", (_TOPIC,), (), (_on(_TOPIC, _O.READ, _O.WRITE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS),)),
    RoleDeclaration("producer", (_TOPIC,), (), (_PRODUCE,)),
    RoleDeclaration("idempotent-producer", (_TOPIC,), (), (_PRODUCE, _IDEMPOTENT)),
    RoleDeclaration(
        "transactional-producer", (_TOPIC, _TRANSACTION), (_GROUP,), (_PRODUCE, _TRANSACT, _on(_GROUP, _O.READ))
    ),
    RoleDeclaration("consumer", (_TOPIC, _GROUP), (), (_on(_TOPIC, _O.READ, _O.DESCRIBE), _on(_GROUP, _O.READ))),
    RoleDeclaration("streams", (_TOPIC, _GROUP), (_TRANSACTION,), (_on(_TOPIC, *_KEEP, _O.DELETE), _JOIN, _TRANSACT)),
    RoleDeclaration("connect", (_TOPIC, _GROUP), (_TRANSACTION,), (_on(_TOPIC, *_KEEP), _JOIN, _TRANSACT)),
    RoleDeclaration(
        "connect-sink",
        (_TOPIC, _GROUP),
        (),
        (_on(_TOPIC, _O.READ, _O.DESCRIBE), _on(_GROUP, _O.READ, _O.DESCRIBE, _O.DELETE)),
    ),
    RoleDeclaration(
        "mirror-source",
        (_TOPIC, _GROUP),
        (),
        (_on(_TOPIC, _O.READ, *_SEE), _on(_GROUP, _O.DESCRIBE), _to((_OFFSET_SYNCS,), *_KEEP)),
    ),
    RoleDeclaration(
        "mirror",
        (_TOPIC, _GROUP),
        (_TRANSACTION,),
        (_on(_TOPIC, *_KEEP, _O.ALTER, _O.ALTER_CONFIGS), _JOIN, _TRANSACT),
    ),
    RoleDeclaration(
        "schema-registry",
        (_TOPIC, _GROUP),
        (),
        (_on(_TOPIC, *_KEEP), _on(_GROUP, _O.READ), _to((_INTERNAL_OFFSETS,), _O.DESCRIBE)),
    ),
    RoleDeclaration(
        "ksqldb",
        (_TOPIC, _GROUP),
        (_TRANSACTION,),
        (
            _on(_TOPIC, *_KEEP, _O.DELETE, _O.ALTER, _O.ALTER_CONFIGS),
            _on(_GROUP, _O.READ, _O.DESCRIBE, _O.DELETE),
            _TRANSACT,
            _to((_THE_CLUSTER,), _O.DESCRIBE_CONFIGS),
            _to((_INTERNAL_OFFSETS, _INTERNAL_TRANSACTIONS), _O.DESCRIBE),
        ),
    ),
    # Names, configs, offsets and lag, and no data.
    RoleDeclaration(
        "monitor",
        (_TOPIC, _GROUP),
        (),
        (_on(_TOPIC, *_SEE), _on(_GROUP, _O.DESCRIBE), _to((_THE_CLUSTER,), *_SEE)),
    ),
    # As monitor, with the data of topics.
    RoleDeclaration(
        "viewer",
        (_TOPIC, _GROUP),
        (),
        (_on(_TOPIC, _O.READ, *_SEE), _on(_GROUP, _O.DESCRIBE), _to((_THE_CLUSTER,), *_SEE)),
    ),
    RoleDeclaration(
        "admin",
        (),
        (_TOPIC, _GROUP, _CLUSTER),
        (_on(_TOPIC, *_RUN, _O.DELETE), _on(_GROUP, _O.DESCRIBE, _O.DELETE), _on(_CLUSTER, *_RUN)),
    ),
)

#: By name.
BUILT_IN_ROLES: Final[Mapping[str, RoleDeclaration]] = MappingProxyType({role.name: role for role in _ROLES})
#: Editors propose those that there are; a document may declare others.
RoleName = Annotated[str, WithJsonSchema({"anyOf": [{"enum": sorted(BUILT_IN_ROLES)}, {"type": "string"}]})]
