"""The draft of an Ownership holds for the files that it came with, and permits a team nothing that it does not have."""

import datetime
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from reconciler.app.export import proven_draft
from reconciler.app.manifests import breaches_of, ownerships_of
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.manifests import DRAFT_FILE, cluster_document, export_manifests, places, teams
from reconciler.manifest.write.text import ExportStyle
from reconciler.model.acl import (
    SUPPORTED_OPERATIONS,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredState, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.policy.ownership import Breach

DAY = datetime.date.min
TEAMS = ("payments", "orders", "cards", "risk", "ledger", "search", "mail", "fraud", "crm", "data", "web", "ops")
PEOPLE = ("User:alice", "User:bob", "User:*", "User:svc-orders-ü")
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
KINDS = (
    ResourceType.TOPIC,
    ResourceType.TOPIC,
    ResourceType.GROUP,
    ResourceType.TRANSACTIONAL_ID,
    ResourceType.CLUSTER,
)


def pattern(random: Random, team: str) -> ResourcePattern:
    kind = random.choice(KINDS)
    if kind is ResourceType.CLUSTER:
        return ResourcePattern(kind, "kafka-cluster", PatternType.LITERAL)
    name = f"{team}{random.choice('.-')}{random.choice(['a', 'audit', 'b.c'])}"
    form = random.random()
    if form < 0.1:
        return ResourcePattern(kind, "*", PatternType.LITERAL)
    if form < 0.3:
        # Also one that ends inside a word: it reaches into names of another team, there or to come.
        return ResourcePattern(kind, random.choice([f"{team}.", team, team[:2], name]), PatternType.PREFIXED)
    return ResourcePattern(kind, random.choice([name, team, "legacy"]), PatternType.LITERAL)


def estate(random: Random, size: int) -> ClusterState:
    """Teams with services on their own names and a few others', people, wildcards from long ago, and DENYs."""
    bindings = set[AclBinding]()
    while len(bindings) < size:
        team = random.choice(TEAMS)
        principal = random.choice(
            [f"User:svc-{team}", f"User:svc-{team}-{random.choice('ab')}", *PEOPLE[:3], PEOPLE[3]]
        )
        found = pattern(random, team if random.random() < 0.8 else random.choice(TEAMS))
        operation = random.choice([*sorted(SUPPORTED_OPERATIONS[found.resource_type]), AclOperation.ALL])
        permission = DENY if random.random() < 0.15 else ALLOW
        bindings.add(AclBinding(found, AccessControlEntry(principal, "*", operation, permission)))
    names = {f"{team}.{what}" for team in TEAMS for what in ("a", "audit") if random.random() < 0.7} | {"legacy"}
    quotas = {ClientQuota(QuotaEntity.of("svc-orders"), {"consumer_byte_rate": 5})} if random.random() < 0.5 else set()
    listings = {ClientQuota.KIND: Listing(frozenset(quotas))}
    return ClusterState("c", frozenset(bindings), {name: Topic(name, 3, 1) for name in names}, listings=listings)


def exported(state: ClusterState) -> tuple[dict[str, str], str]:
    where = places("team", state, {})
    files = dict(export_manifests(state, style=ExportStyle(places=where)).files)
    return files, proven_draft(state, where, files)


def active(draft: str) -> str:
    """As its head says: without the first two characters of each line."""
    return "".join(line.removeprefix("#").removeprefix(" ") + "\n" for line in draft.partition("#\n")[2].splitlines())


def found_breaches(files: dict[str, str], draft: str, more: dict[AclBinding, str] | None = None) -> tuple[Breach, ...]:
    """The breaches of the files by the draft as it is used; ``more`` are bindings that a file might also declare."""
    texts = {**files, DRAFT_FILE: active(draft), "cluster.yaml": cluster_document("demo", ["b:9092"])}
    manifests = load(Source(path, text) for path, text in texts.items())
    desired = desired_state(manifests, "demo", DAY)
    if more is not None:
        desired = DesiredState({one: Declaration(Origin(path, 1, 1)) for one, path in more.items()})
    return breaches_of(ownerships_of(manifests, "demo", DAY), desired)


def check(seed: int, size: int) -> None:
    state = estate(Random(seed), size)
    files, draft = exported(state)
    assert found_breaches(files, draft) == ()
    assert "does not hold" not in draft
    team_of = teams({one.entry.principal for one in state.bindings})
    for binding in sorted(state.bindings):
        file, name = f"teams/{team_of[binding.entry.principal]}.yaml", team_of[binding.entry.principal]
        turned = {ALLOW: DENY, DENY: ALLOW}[binding.entry.permission_type]
        other = binding._replace(entry=binding.entry._replace(permission_type=turned))
        everything = binding._replace(entry=binding.entry._replace(operation=AclOperation.ALL))
        is_team = f"\n    {name}:\n" in active(draft)
        own = is_team and binding.pattern.name.startswith(name)
        if own or other in state.bindings or not is_team:
            continue
        broader = {one for one in state.bindings if one.entry.operation is AclOperation.ALL}
        if not any(one.entry.permission_type is turned and one.pattern.contains(binding.pattern) for one in broader):
            covered = {
                one
                for one in state.bindings
                if team_of[one.entry.principal] == name
                and one.entry.permission_type is turned
                and one.entry.operation is binding.entry.operation
                and one.pattern.contains(binding.pattern)
            }
            assert covered or found_breaches(files, draft, {other: file}), (seed, other)
        if everything not in state.bindings and not any(one.pattern.contains(binding.pattern) for one in broader):
            assert found_breaches(files, draft, {everything: file}), (seed, everything)


@given(st.integers(0, 2**32))
def test_the_draft_holds_and_permits_no_more_than_there_is(seed: int) -> None:
    check(seed, 12)


def test_twelve_teams_with_what_has_grown_over_years() -> None:
    files, draft = exported(estate(Random(1), 285))
    assert found_breaches(files, draft) == ()
    text = active(draft)
    assert "everyone:" not in text
    assert "alice:" not in text
    assert all(f"\n    {team}:\n      files: teams/{team}.yaml\n" in text for team in TEAMS)
    assert "      prefix: [payments-, payments.]\n" in text
    assert "cluster: true" in text.partition("- team: platform")[2]


def test_a_deny_on_a_topic_is_no_consent_to_allow() -> None:
    denied = AclBinding(
        ResourcePattern(ResourceType.TOPIC, "cards.audit", PatternType.LITERAL),
        AccessControlEntry("User:svc-orders", "*", AclOperation.DELETE, DENY),
    )
    cards = denied._replace(entry=AccessControlEntry("User:svc-cards", "*", AclOperation.READ, ALLOW))
    own = denied._replace(pattern=denied.pattern._replace(name="orders.x"))
    topics = {name: Topic(name, 1, 1) for name in ("cards.audit", "orders.x")}
    files, draft = exported(ClusterState("c", frozenset({denied, cards, own}), topics))
    assert found_breaches(files, draft) == ()
    assert "permissions: [DENY]" in draft
    allowed = denied._replace(entry=denied.entry._replace(permission_type=ALLOW))
    assert found_breaches(files, draft, {allowed: "teams/orders.yaml"})


def test_what_no_owner_can_hold_is_named_at_the_head() -> None:
    """A quota for everybody needs a file of no team, and one of a team's user in the same file needs the team's."""
    state = estate(Random(2), 40)
    both = [QuotaEntity.of("svc-orders"), QuotaEntity.of("")]
    quotas = frozenset(ClientQuota(entity, {"consumer_byte_rate": 5}) for entity in both)
    whole = ClusterState("c", state.bindings, state.topics, listings={ClientQuota.KIND: Listing(quotas)})
    files, draft = exported(whole)
    (breach,) = found_breaches(files, draft)
    head = draft.partition("#\n")[0]
    assert "does not hold for what follows" in head
    assert str(breach.origin) in head
