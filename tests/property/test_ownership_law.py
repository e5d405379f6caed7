"""No file touches what is not its own, whatever the kind, the form and the date: random worlds against a plain oracle.

The oracle knows names one by one: a claim is the set of the names that it has, and a pattern the set that it reaches.
The smallest claim on a name decides whose it is, and a claim on every name counts besides.
"""

import datetime
from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from reconciler.app.manifests import breaches_of, ownerships_of
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source

DAY: Final = datetime.date(2027, 1, 1)
#: Every name there is, as far as the oracle is concerned: long enough to tell any two prefixes of two letters apart.
NAMES: Final = tuple("".join(letters) for length in (1, 2, 3) for letters in product("abc", repeat=length))
TEAMS: Final = ("one", "two", "three", "incidents")
FILES: Final = (*TEAMS, "")
ENDS: Final = ("", "2020-01-01", "2026-12-31", "2027-01-01", "2999-01-01")
EVERYBODYS: Final = ("default quota", "client quota", "address quota")
NAMED: Final = ("topics", "groups", "transactionalIds")


class Names(NamedTuple):
    """``{any: true}``, ``{prefix: text}`` or ``[text]``."""

    form: str
    text: str = ""

    def yaml(self, before: str = "") -> str:
        """As manifests write it."""
        if self.form == "any":
            return "{any: true}"
        return f'{{prefix: "{before}{self.text}"}}' if self.form == "prefix" else f'["{before}{self.text}"]'

    @property
    def reached(self) -> frozenset[str]:
        """One by one; of any name also one that nobody has thought of."""
        if self.form == "any":
            return frozenset({*NAMES, "else"})
        if self.form == "prefix":
            return frozenset(name for name in NAMES if name.startswith(self.text))
        return frozenset({self.text})


class Claim(NamedTuple):
    """What a team owns of a kind: principals, or resources of a field; ``cluster`` has no names."""

    team: str
    field: str
    names: Names


class Consent(NamedTuple):
    """Of ``team`` for files of ``to``; ``principals``: for any of them, else for those that ``to`` owns."""

    team: str
    to: str
    operation: str
    names: Names
    deny: bool
    everybody: bool
    end: str


class Rule(NamedTuple):
    """An ACL of one operation on topics, groups, transactional ids or the cluster."""

    principal: str
    field: str
    names: Names
    operation: str
    deny: bool
    end: str


class Item(NamedTuple):
    """A topic, quota, group config or user; ``form`` is empty, ``absent`` or ``disabled``."""

    kind: str
    name: str
    form: str
    end: str


class World(NamedTuple):
    """Claims, consents on topics, and what the files declare: a file is one of its team, or of none."""

    claims: tuple[Claim, ...]
    consents: tuple[Consent, ...]
    declared: tuple[tuple[str, Rule | Item], ...]


def over(end: str) -> bool:
    """A day is over when the next one begins."""
    return bool(end) and datetime.date.fromisoformat(end) < DAY


names = st.one_of(
    st.just(Names("any")),
    st.builds(Names, st.just("prefix"), st.sampled_from([name for name in NAMES if len(name) < 3])),
    st.builds(Names, st.just("literal"), st.sampled_from([name for name in NAMES if len(name) < 3])),
)
ends = st.sampled_from(ENDS)
claims = st.one_of(
    st.builds(Claim, st.sampled_from(TEAMS[:3]), st.sampled_from(("principals", *NAMED)), names),
    st.builds(Claim, st.sampled_from(TEAMS[:3]), st.just("cluster"), st.just(Names("any"))),
)
consents = st.builds(
    Consent,
    st.sampled_from(TEAMS[:3]),
    st.sampled_from(TEAMS[:3]),
    st.sampled_from(("READ", "ALL")),
    names,
    st.booleans(),
    st.booleans(),
    ends,
)
short = st.sampled_from([name for name in NAMES if len(name) < 3])
rules = st.one_of(
    st.builds(Rule, short, st.sampled_from(NAMED[:2]), names, st.just("READ"), st.booleans(), ends),
    st.builds(Rule, short, st.just("transactionalIds"), names, st.just("WRITE"), st.booleans(), ends),
    st.builds(Rule, short, st.just("cluster"), st.just(Names("any")), st.just("ALTER"), st.booleans(), ends),
)
items = st.one_of(
    st.builds(Item, st.just("topic"), short, st.sampled_from(("", "absent")), st.just("")),
    st.builds(Item, st.sampled_from(("quota", "group", "user")), short, st.just(""), ends),
    st.builds(Item, st.sampled_from(("quota", "group", "user")), short, st.just("absent"), st.just("")),
    st.builds(Item, st.just("user"), short, st.just("disabled"), ends),
    st.builds(
        Item,
        st.sampled_from(("default quota", "client quota", "address quota", "metrics")),
        st.just(""),
        st.just(""),
        ends,
    ),
)
declared = st.lists(
    st.tuples(st.sampled_from(FILES), st.one_of(rules, items)),
    min_size=1,
    max_size=8,
    # A thing that is declared twice is another problem.
    unique_by=lambda one: one[1][:2] if isinstance(one[1], Item) else one[1][:5],
)
worlds = st.builds(
    World,
    st.lists(claims, min_size=1, max_size=6).map(tuple),
    st.lists(consents, max_size=3).map(tuple),
    declared.map(tuple),
)


def owners(world: World, field: str, reached: frozenset[str]) -> frozenset[str]:
    """The teams with the smallest claim that has all of these names, and those with a claim on every name."""
    sizes = [
        (len(one.names.reached), one.team)
        for one in world.claims
        if one.field == field and reached <= one.names.reached
    ]
    return frozenset(team for size, team in sizes if size in (min(sizes)[0], len(NAMES) + 1))


def inner(world: World, field: str, reached: frozenset[str]) -> set[frozenset[str]]:
    """The claims on some of these names, but not on all."""
    return {one.names.reached for one in world.claims if one.field == field and one.names.reached < reached}


def may(world: World, team: str, thing: Rule | Item) -> bool:
    """Whether a file of a team, or of none, may declare it."""
    return _may_rule(world, team, thing) if isinstance(thing, Rule) else _may_item(world, team, thing)


def _may_rule(world: World, team: str, rule: Rule) -> bool:
    if team == "incidents" and rule.deny:
        return True
    of_principal = owners(world, "principals", frozenset({rule.principal}))
    if of_principal and team not in of_principal:
        return False
    reached = rule.names.reached
    whole, parts = owners(world, rule.field, reached), inner(world, rule.field, reached)
    if not whole:
        free = rule.field != "cluster" and not (team and rule.deny)
        return free and all(team in owners(world, rule.field, part) for part in parts)

    def agreed(part: frozenset[str]) -> bool:
        own = owners(world, rule.field, part)
        return team in own or any(
            rule.field == "topics"
            and one.to == team
            and one.team in own
            and one.deny == rule.deny
            and part <= one.names.reached
            and (one.everybody or team in of_principal)
            and (not one.end or (one.end >= rule.end if over(rule.end) else not over(one.end)))
            for one in world.consents
        )

    return all(map(agreed, {reached, *parts}))


def _may_item(world: World, team: str, item: Item) -> bool:
    if not item.name:
        return not team
    if team == "incidents" and item.form == "disabled" and not over(item.end):
        return True
    field = {"topic": "topics", "group": "groups"}.get(item.kind, "principals")
    own = owners(world, field, frozenset({item.name}))
    if own:
        return team in own
    return not team or (item.kind == "topic" and item.form != "absent")


def sources(world: World) -> Iterator[Source]:
    """The manifests: a file for each thing."""
    head = "apiVersion: reconciler/v1\n"
    yield Source("cluster.yaml", f"{head}kind: Cluster\nmetadata: {{name: c}}\nspec: {{}}\n")
    lines = [
        f"    - {{team: {team}, files: teams/{team}/**, denyAny: {str(team == 'incidents').lower()}}}" for team in TEAMS
    ]
    for claim in world.claims:
        value = "true" if claim.field == "cluster" else claim.names.yaml("User:" if claim.field == "principals" else "")
        lines.append(f"    - {{team: {claim.team}, {claim.field}: {value}}}")
    for given_ in world.consents:
        terms = "".join(
            (
                ", permissions: [DENY]" if given_.deny else "",
                ", principals: {any: true}" if given_.everybody else "",
                f", expires: {given_.end}" if given_.end else "",
            )
        )
        consent = f"{{to: {given_.to}, operations: [{given_.operation}], topics: {given_.names.yaml()}{terms}}}"
        lines.append(f"    - {{team: {given_.team}, consents: [{consent}]}}")
    text = "\n".join(lines)
    yield Source("ownership.yaml", f"{head}kind: Ownership\nmetadata: {{name: o}}\nspec:\n  owners:\n{text}\n")
    for number, (team, thing) in enumerate(world.declared):
        path = f"teams/{team}/{number}.yaml" if team else f"{number}.yaml"
        yield Source(path, f"{head}{_document(thing, f'd{number}')}")


def _document(thing: Rule | Item, name: str) -> str:
    end = f", expires: {thing.end}" if thing.end else ""
    if isinstance(thing, Rule):
        verb, where = "deny" if thing.deny else "allow", "true" if thing.field == "cluster" else thing.names.yaml()
        rule = f"{{{verb}: {thing.operation}, {thing.field}: {where}{end}}}"
        return (
            f'kind: Acls\nmetadata: {{name: {name}}}\nspec: {{principal: "User:{thing.principal}", rules: [{rule}]}}\n'
        )
    limit = ", limits: {producer_byte_rate: 1}"
    kind, field, first, values = {
        "topic": ("Topics", "topics", f"name: {thing.name}", ""),
        "quota": ("Quotas", "quotas", f"user: {thing.name}", limit),
        "default quota": ("Quotas", "quotas", "user: {default: true}", limit),
        "client quota": ("Quotas", "quotas", "clientId: a", limit),
        "address quota": ("Quotas", "quotas", "ip: {default: true}", ", limits: {connection_creation_rate: 1}"),
        "group": (
            "GroupConfigs",
            "groups",
            f"name: {thing.name}",
            ", configs: {share.isolation.level: read_committed}",
        ),
        "metrics": ("ClientMetrics", "subscriptions", "name: m", ", configs: {metrics: a, match: client_id=a}"),
        "user": ("Users", "users", f"name: {thing.name}", ", mechanisms: {SCRAM-SHA-512: {password: '${env:A}'}}"),
    }[thing.kind]
    form = f", {thing.form}: true" if thing.form else ""
    item = f"{first}{'' if thing.form == 'absent' else values}{form}{end}"
    return f"kind: {kind}\nmetadata: {{name: {name}}}\nspec: {{{field}: [{{{item}}}]}}\n"


@given(worlds)
def test_a_file_is_refused_exactly_where_it_touches_what_is_not_its_own(world: World) -> None:
    manifests = load(sources(world))
    found = breaches_of(ownerships_of(manifests, "c", DAY), desired_state(manifests, "c", DAY))
    refused = {number for number, (team, thing) in enumerate(world.declared) if not may(world, team, thing)}
    assert {int(breach.origin.file.rpartition("/")[2].removesuffix(".yaml")) for breach in found} == refused
