"""Rules folded into roles, and applications into roles with an id.

Folds rules into the built-in roles that bring the same bindings.

A role may bring what another one brings too, so a rule can serve several uses. A rule that no role matches to the
letter stays as it is, unless what the role adds is implied: READ and WRITE grant DESCRIBE without a binding for it.

A role tells a story, so rules are joined only where names bear it out: a MirrorMaker that reads every group and keeps
topics of its own is no Connect worker, though it has the same rights.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Final, NamedTuple

from reconciler.manifest.parts.rules import BUILT_IN_ROLES
from reconciler.model.acl import IMPLICATIONS, AclOperation, AclPermissionType, ResourcePattern, ResourceType


class ExportedRule(NamedTuple):
    """One rule; ``patterns`` are one PREFIXED or wildcard pattern, or LITERAL ones of one type."""

    patterns: tuple[ResourcePattern, ...]
    permission: AclPermissionType
    operations: tuple[AclOperation, ...]
    hosts: tuple[str, ...]


class ExportedRole(NamedTuple):
    """A use of a role: the rules whose resources it names, topics first, and the rules that it says without a name."""

    role: str
    rules: tuple[ExportedRule, ...]
    brought: tuple[ExportedRule, ...]


#: A resource type, and exactly what is allowed on it.
_Right = tuple[ResourceType, frozenset[AclOperation]]


class _Form(NamedTuple):
    """A role as rights: on its topics, on what it needs beside them, may take, and brings by itself."""

    role: str
    topics: frozenset[AclOperation]
    needs: tuple[_Right, ...]
    may: tuple[_Right, ...]
    brings: tuple[_Right, ...]


def _form(name: str) -> _Form:
    role = BUILT_IN_ROLES[name]
    rights = {kind: frozenset(rule.permission.operations) for rule in role.rules for kind in rule.takes}
    brings = [
        (pattern.resource_type, frozenset(rule.permission.operations)) for rule in role.rules for pattern in rule.names
    ]
    # admin requires nothing; of what it may take, the cluster is what makes an administrator.
    required = role.required or (ResourceType.TOPIC, ResourceType.CLUSTER)
    needs = tuple((kind, rights[kind]) for kind in required if kind is not ResourceType.TOPIC)
    may = tuple((kind, rights[kind]) for kind in role.optional if kind not in required)
    return _Form(name, rights[ResourceType.TOPIC], needs, may, tuple(brings))


def _shows_by_rights(name: str) -> bool:
    """Whether rights tell the role: one that names topics itself is told by those names too, and left to people."""
    return all(
        pattern.resource_type is ResourceType.CLUSTER for rule in BUILT_IN_ROLES[name].rules for pattern in rule.names
    )


#: The first that fits is taken, so those that ask for more come first.
_FORMS: Final = sorted(
    map(_form, filter(_shows_by_rights, BUILT_IN_ROLES)),
    key=lambda form: (-len(form.needs), -len(form.brings), form.role),
)
_PRODUCE: Final = frozenset({AclOperation.WRITE, AclOperation.DESCRIBE})
_CONSUME: Final = frozenset({AclOperation.READ, AclOperation.DESCRIBE})


#: Roles of one application, whose topics, groups and transactional ids are called alike.
_ALIKE: Final = frozenset(("streams", "connect"))
#: On every topic these would say more than a person means: "owner of every topic" is READ, WRITE and DESCRIBE.
_NEVER_ON_ALL: Final = frozenset(("owner", "admin"))
_BREAK: Final = re.compile(r"[._-]")


def with_roles(rules: Sequence[ExportedRule], *, implied: bool = False) -> list[ExportedRule | ExportedRole]:
    """The same bindings, said with roles where one fits, in the order of ``rules``, which are of one principal.

    With ``implied``, a role may add bindings that grant nothing new: DESCRIBE next to READ or WRITE.
    """
    grants = _Grants(rules, implied=implied)
    applications = {rule: uses for rule in rules if (uses := _uses(rule, grants, _APPLICATIONS))}
    # An application's transactional ids are its own: no producer besides it has them.
    claimed = {taken for uses in applications.values() for use in uses for taken in use.rules}
    others = {
        rule: uses
        for rule in rules
        if rule not in applications and (uses := _uses(rule, grants.without_transactions(claimed), _OTHERS))
    }
    used = applications | others
    spent = {rule for uses in used.values() for use in uses for rule in (*use.rules, *use.brought)}
    return [item for rule in rules for item in used.get(rule, [] if rule in spent else [rule])]


class _Grants:
    """What one principal is allowed, looked up by right; a principal can have very many rules."""

    def __init__(self, rules: Sequence[ExportedRule], *, implied: bool) -> None:
        self._implied = implied
        self._by_right: dict[tuple[_Right, tuple[str, ...]], list[ExportedRule]] = defaultdict(list)
        self._by_word: dict[tuple[_Right, tuple[str, ...], str], list[ExportedRule]] = defaultdict(list)
        self._place: dict[ExportedRule, int] = {}
        self._claimed: frozenset[ExportedRule] = frozenset()
        for rule in rules:
            if rule.permission is AclPermissionType.ALLOW:
                kind, operations = _right(rule)
                right = (kind, self._closed(operations))
                alike = self._by_right[right, rule.hosts]
                self._place[rule] = len(alike)
                alike.append(rule)
                for word in _words(rule):
                    self._by_word[right, rule.hosts, word].append(rule)

    def without_transactions(self, claimed: set[ExportedRule]) -> "_Grants":
        """The same, where rules on transactional ids that are ``claimed`` are not found any more."""
        self._claimed = frozenset(
            rule for rule in claimed if rule.patterns[0].resource_type is ResourceType.TRANSACTIONAL_ID
        )
        return self

    def _closed(self, operations: frozenset[AclOperation]) -> frozenset[AclOperation]:
        if not self._implied:
            return operations
        return operations | {IMPLICATIONS[operation] for operation in operations if operation in IMPLICATIONS}

    def fits(self, rule: ExportedRule, operations: frozenset[AclOperation]) -> bool:
        """Whether a role that brings ``operations`` says the rule, and at most what the rule implies besides."""
        own = frozenset(rule.operations)
        return own <= operations <= self._closed(own) and rule not in self._claimed

    def of(self, right: _Right, hosts: tuple[str, ...]) -> Sequence[ExportedRule]:
        """The rules that a role with that right says, from the same hosts."""
        kind, operations = right
        rules = self._by_right.get(((kind, self._closed(operations)), hosts), ())
        # Lists can be very long, and without implied operations all that is found has exactly that right.
        alike = not self._implied and kind is not ResourceType.TRANSACTIONAL_ID
        return rules if alike else self._fitting(rules, operations)

    def alike(self, right: _Right, rule: ExportedRule) -> Sequence[ExportedRule]:
        """Those of them whose names begin with the same word as a name of ``rule``."""
        kind, operations = right
        key = (kind, self._closed(operations))
        candidates = chain.from_iterable(self._by_word.get((key, rule.hosts, word), ()) for word in _words(rule))
        return self._fitting(list(dict.fromkeys(candidates)), operations)

    def _fitting(self, rules: Sequence[ExportedRule], operations: frozenset[AclOperation]) -> Sequence[ExportedRule]:
        return [rule for rule in rules if self.fits(rule, operations)]

    def place(self, rule: ExportedRule) -> int:
        """Which one it is of those that allow the same."""
        return self._place[rule]

    def halves(self, rule: ExportedRule) -> tuple[frozenset[AclOperation], ...]:
        """The rights of a rule on topics: those of a producer and of a consumer where it has both."""
        operations = self._closed(frozenset(rule.operations))
        return (_PRODUCE, _CONSUME) if operations == _PRODUCE | _CONSUME else (operations,)


def _right(rule: ExportedRule) -> _Right:
    return rule.patterns[0].resource_type, frozenset(rule.operations)


def _words(rule: ExportedRule) -> Iterator[str]:
    """The first words of the rule's names; a wildcard has none."""
    words = (_BREAK.split(pattern.name)[0].lower() for pattern in rule.patterns if not pattern.is_wildcard)
    return iter(dict.fromkeys(word for word in words if word))


def _uses(rule: ExportedRule, grants: _Grants, forms: Sequence[_Form]) -> list[ExportedRole]:
    """The uses that say a topic rule; none where no role does. One that produces and consumes takes two roles."""
    if rule.permission is not AclPermissionType.ALLOW or rule.patterns[0].resource_type is not ResourceType.TOPIC:
        return []
    uses = [_use(rule, half, grants, forms) for half in grants.halves(rule)]
    return [use for use in uses if use is not None] if None not in uses else []


def _use(
    rule: ExportedRule, operations: frozenset[AclOperation], grants: _Grants, forms: Sequence[_Form]
) -> ExportedRole | None:
    fitting = (_fitted(rule, form, grants) for form in forms if form.topics == operations)
    return next((use for use in fitting if use is not None), None)


def _fitted(rule: ExportedRule, form: _Form, grants: _Grants) -> ExportedRole | None:
    """The use of one role, if the principal has all that it needs, by names that belong together.

    Of several rules that grant the same, the first topics take the first, the second the second; what is over stays.
    """
    if form.role in _NEVER_ON_ALL and rule.patterns[0].is_wildcard:
        return None
    needed = [_candidates(rule, right, form, grants) for right in form.needs]
    brought = [grants.of(right, rule.hosts) for right in form.brings]
    if not all((*needed, *brought)):
        return None
    taken = [candidates[min(grants.place(rule), len(candidates) - 1)] for candidates in needed]
    names = [rule, *taken]
    for right in form.may:
        # Nothing asks for it, so it is part of the use only where the names say so.
        wanted = grants.of(right, rule.hosts) if right[0] is ResourceType.CLUSTER else []
        optional = wanted or list(dict.fromkeys(chain.from_iterable(grants.alike(right, name) for name in names)))
        taken += optional if len(optional) == 1 else []
    return ExportedRole(form.role, (rule, *taken), tuple(chain(*brought)))


def _candidates(rule: ExportedRule, right: _Right, form: _Form, grants: _Grants) -> Sequence[ExportedRule]:
    """What the principal can give for what a role needs, besides its topics."""
    alike = grants.alike(right, rule) if right[0] is not ResourceType.CLUSTER else ()
    if alike or form.role in _ALIKE:
        return alike
    candidates = grants.of(right, rule.hosts)
    # One of several transactional ids would be picked by chance.
    return candidates if right[0] is not ResourceType.TRANSACTIONAL_ID or len(candidates) == 1 else ()


_APPLICATIONS: Final = [form for form in _FORMS if form.role in _ALIKE]
_OTHERS: Final = [form for form in _FORMS if form.role not in _ALIKE]


# Applications that are called alike: principals whose rules differ in one id alone, as uses of one role.
#
# The id is the principal's own name, without what names a kind of account or a domain, or else what its names have in
# common: accounts of a cloud are called by numbers. A role is only written where it says much: at least three
# principals with at least three rules each, of which two names hold the id.

#: Of principals that share a role and of rules, and of names that begin with the id.
_FEWEST: Final = 3
_FEWEST_NAMES: Final = 2
_KIND: Final = "svc|sa|srv|service|app|user|usr|client"
_ACCOUNT: Final = re.compile(rf"(?:{_KIND})[._-](?=.)|(?<=.)[._-](?:{_KIND})(?=\.|$)", re.I)
_ID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
#: What can stand around an id in a name: a letter or a digit behind it would go on with the word in the role's name.
_ENDS: Final = "._-"
#: So many labels at the start of the commonest name may be in an id.
_MOST_LABELS: Final = 4
#: The id in names of the role.
_WORD: Final = "$id"


class Application(NamedTuple):
    """A use of a role: its name, the id, and the hosts of all its rules."""

    role: str
    id: str
    hosts: tuple[str, ...]


class Applications(NamedTuple):
    """The rules of each role, with the word in their names, and the principals that use one."""

    roles: Mapping[str, tuple[ExportedRule, ...]]
    uses: Mapping[str, Application]


def applications(rules: Mapping[str, Sequence[ExportedRule]]) -> Applications:
    """The roles that say the rules of several principals; ``rules`` are those of each."""
    alike: dict[tuple[ExportedRule, ...], dict[str, tuple[int, str]]] = defaultdict(dict)
    for principal, own in sorted(rules.items()):
        names = [pattern.name for rule in own for pattern in rule.patterns]
        if len(own) < _FEWEST or len({rule.hosts for rule in own}) > 1 or any("$" in name for name in names):
            continue
        for rank, named in enumerate(dict.fromkeys(_ids(principal, names))):
            # Names are sorted by the id in them: the same names in another order are the same role.
            alike[tuple(sorted(_shape(rule, named) for rule in own))].setdefault(principal, (rank, named))
    roles: dict[str, tuple[ExportedRule, ...]] = {}
    uses: dict[str, Application] = {}
    # A principal is tried under several ids. First comes the shape that most share, and of those the likeliest id.
    for shape, users in sorted(
        alike.items(), key=lambda item: (-len(item[1]), sum(rank for rank, _ in item[1].values()), item[0])
    ):
        remaining = {principal: named for principal, (_, named) in users.items() if principal not in uses}
        if len(remaining) >= _FEWEST and len(set(remaining.values())) == len(remaining):
            title = "application" if not roles else f"application-{len(roles) + 1}"
            roles[title] = shape
            uses |= {
                principal: Application(title, named, rules[principal][0].hosts)
                for principal, named in remaining.items()
            }
    return Applications(roles, uses)


def _ids(principal: str, names: Sequence[str]) -> Iterator[str]:
    """What may be the id of an application: of the principal's own name, or, where none is, of those that it uses."""
    kind, _, name = principal.partition(":")
    plain = _ACCOUNT.sub("", name.removeprefix("CN=").partition(",")[0])
    own = (plain, plain.partition(".")[0], *(plain[at.end() :] for at in re.finditer(rf"[{_ENDS}]", plain)))
    ids = [
        candidate for candidate in own if sum(_with_word(name, candidate) != name for name in names) >= _FEWEST_NAMES
    ]
    if not ids:
        common, count = Counter(name.strip(_ENDS) for name in names).most_common(1)[0]
        ends = [0, *(at.end() for at in re.finditer(rf"[{_ENDS}]", common)), len(common) + 1][: _MOST_LABELS + 1]
        parts = sorted((common[a : b - 1] for a, b in combinations(ends, 2)), key=len)
        ids = parts if count >= _FEWEST_NAMES else []
    yield from (candidate for candidate in ids if kind == "User" and _ID.fullmatch(candidate))


def _with_word(name: str, named: str) -> str:
    """A name with the word wherever it holds the id and no letter or digit stands beside that."""
    start = 0
    while named and (at := name.find(named, start)) >= 0:
        end = at + len(named)
        if (at and name[at - 1] not in _ENDS) or (end < len(name) and name[end] not in _ENDS):
            start = at + 1
        else:
            name, start = f"{name[:at]}{_WORD}{name[end:]}", at + len(_WORD)
    return name


def _shape(rule: ExportedRule, named: str) -> ExportedRule:
    patterns = (pattern._replace(name=_with_word(pattern.name, named)) for pattern in rule.patterns)
    return rule._replace(patterns=tuple(sorted(patterns)))
