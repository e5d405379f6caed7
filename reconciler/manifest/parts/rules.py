"""Rules on resources, as ``Acls`` and the grants of ``Topics`` write them, every value checked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, Protocol, Self

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.declared_patterns import DeclaredPatterns, declared_at, terms_in
from reconciler.manifest.parts.hosts import host_problem
from reconciler.manifest.parts.names import FIELDS
from reconciler.manifest.parts.operations import Permission, permission
from reconciler.manifest.parts.principals import principal_problem
from reconciler.manifest.parts.resources import Named
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, scalars
from reconciler.manifest.reader.suggest import nearest
from reconciler.model import WILDCARD, Declaration, Expiry, Origin, ResourcePattern, ResourceType

_ACTION = Trouble(Code.RULE_FORM, "exactly one of allow, deny and role is expected in a rule")
_RESOURCE = Trouble(
    Code.RULE_FORM, "the rule names no resource", "add topics, groups, transactionalIds or cluster: true"
)
_PRINCIPAL = Trouble(Code.RULE_FORM, "exactly one of principal and principals is expected here")
_NO_ROLE: Final = Trouble(Code.RULE_FORM, "parameters are those of a role", "remove them, or write role")
#: The hosts of a rule that names none, one object for all of them.
EVERY_HOST: Final = (WILDCARD,)
_ACTIONS: Final = ("allow", "deny", "role")


class RuleTerms(Protocol):
    """What the models of rules have in common: why a rule exists, and until when."""

    @property
    def reason(self) -> str | None:
        """Why the rule exists."""
        ...

    @property
    def ticket(self) -> str | None:
        """Where it was agreed."""
        ...

    @property
    def expires(self) -> Expiry | None:
        """Until when it holds."""
        ...

    @property
    def keep(self) -> str | None:
        """Why it stays although it may not be used."""
        ...


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

    def declaration_of(self, pattern: ResourcePattern) -> Declaration:
        """That of the first place that names ``pattern``; raises ``ValueError`` where there is none."""
        return declared_at(self.terms, self.places, self.patterns.index(pattern))

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
    one, many = spec.get("principal"), spec.get("principals")
    if one is not None and many is not None:
        findings.add(_PRINCIPAL._replace(advice="remove one of them"), spec.keys["principals"])
    elif one is None and many is None and not _misspelt(spec, ("principal", "principals"), findings):
        findings.add(_PRINCIPAL._replace(advice="write principal: User:name"), spec)
    return checked_texts(one if one is not None else many, principal_problem, findings)


def _misspelt(node: MappingNode, fields: Iterable[str], findings: Findings) -> bool:
    """Whether one of ``fields`` is there but for its spelling, which is reported as an unknown field already."""
    known = [*fields]
    return any(findings.marks(key) and nearest(key.plain, known) for key in node.keys.values())


def checked_texts(node: Node | None, check: Callable[[str], Trouble | None], findings: Findings) -> tuple[str, ...]:
    """The texts of a field, each once; ``check`` says what is wrong with one."""
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
        texts.setdefault(item.plain, item)
    return tuple(texts)


def _values(node: MappingNode) -> tuple[tuple[str, str], ...]:
    """The values of a role's words, in the order in which they are written."""
    given = node.get("parameters")
    values = given.values if isinstance(given, MappingNode) else {}
    return tuple([(word, value.plain) for word, value in values.items() if isinstance(value, ScalarNode)])


def declare_rule(
    node: MappingNode,
    model: RuleTerms | None,
    principals: tuple[str, ...],
    named: Mapping[ResourceType, Sequence[Named]],
    findings: Findings,
) -> RuleDeclaration | None:
    """One rule on what it names; ``None`` after reporting problems that leave none."""
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
    elif not named and role is None and not _misspelt(node, FIELDS, findings):
        findings.add(_RESOURCE, node)
    hosts = checked_texts(node.values["hosts"], host_problem, findings) if "hosts" in node.values else EVERY_HOST
    if model is None:
        return None
    terms = terms_in(findings.source.path, model.reason, model.ticket, model.expires, model.keep)
    action: Permission | RoleUse | None = allowed
    if isinstance(role, ScalarNode):
        action = RoleUse(role.plain, terms._replace(origin=findings.origin(role)), _values(node))
    if action is None:
        return None
    declared = [DeclaredPatterns.of(kind, names, terms) for kind, names in named.items()]
    return RuleDeclaration.of(action, principals, hosts, declared, terms)
