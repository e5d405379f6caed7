"""The first screen of a review is small whatever the change is, and never calmer than it."""

import datetime
from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.desired import Declaration, DesiredState, DesiredTopic, Expiry, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Delete
from reconciler.model.state import ClusterState, FactSource, FactSources
from reconciler.model.topic import Topic
from reconciler.plan.difference import Skipped, SkipReason
from reconciler.plan.leftovers import LEFT_OPEN
from reconciler.plan.observed import Facts
from reconciler.plan.proposal import Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.review.access_change import DataOwners
from reconciler.plan.review.access_review import AccessTrend
from reconciler.plan.review.callouts import INTERRUPTED, KEPT, LOGIN, Callout
from reconciler.policy.owners import Agreement
from reconciler.results.findings import Check, CheckStatus, Finding, Level, matter
from reconciler.show.findings import skipped_findings, standing_findings, without_base
from reconciler.show.reading import Report, compared_words
from reconciler.show.verdicts import ReviewWord, first_screen, review_word
from tests.integration.report.formats import FORMATS
from tests.integration.report.large import large_report
from tests.unit.report.test_lines import plan
from tests.worlds import binding, bindings

_DAY = datetime.date(2026, 11, 21)
_READ = "TOPIC:L:t User:a@* ALLOW READ"


def _report(
    before: list[str], after: list[str], findings: tuple[Finding, ...] = (), checks: tuple[Check, ...] = ()
) -> Report:
    return Report((plan(bindings(*before), bindings(*after)),), findings=findings, checks=checks)


def _looser() -> Finding:
    return Finding("guardrail-looser", "guardrail-looser", Level.WARNING, "Cluster c, spec.limits: removed")


def _failed(group: str) -> Check:
    return Check(group, "x", "c", CheckStatus.FAILED, "ledger owns topic `t`")


@pytest.mark.parametrize(
    ("report", "word"),
    [
        (_report([], []), ReviewWord.HARMLESS),
        (_report([], [_READ]), ReviewWord.WIDENS),
        (_report([_READ], [_READ, "TOPIC:L:t User:a@* DENY READ"]), ReviewWord.NARROWS),
        (_report([_READ], ["TOPIC:L:t User:b@* ALLOW READ"]), ReviewWord.WIDENS),
        (_report([], [_READ], findings=(_looser(),)), ReviewWord.WEAKENS),
        (_report([], [], findings=(_looser(),)), ReviewWord.WEAKENS),
        (_report([], [], checks=(_failed("Access tests"),)), ReviewWord.REFUSED),
        (_report([], [], findings=(Finding("KA001", "x", Level.WARNING, "m"),)), ReviewWord.UNCLEAR),
    ],
)
def test_one_word(report: Report, word: ReviewWord) -> None:
    assert review_word(report) is word
    assert first_screen(report).word is word
    assert f" {word}: " in FORMATS["comment.md"](report).splitlines()[1]


def test_drift_is_never_harmless() -> None:
    moved = plan([], bindings(_READ))
    assert review_word(Report(drifts=(moved,))) is ReviewWord.DRIFTED
    assert review_word(Report((plan([], []),), (moved,))) is ReviewWord.DRIFTED


def test_what_stands_out_is_never_harmless() -> None:
    moved = plan(bindings(_READ), bindings(_READ))
    said = replace(moved.access, callouts=(Callout("cluster", "User:a", "User:a gains a password"),))
    assert review_word(Report((replace(moved, access=said),))) is ReviewWord.WIDENS


@pytest.mark.parametrize(
    ("owners", "words"),
    [
        (DataOwners(("ledger",), Agreement.MISSING), "(data of ledger, which has not consented)"),
        (DataOwners(("ledger", "pay"), Agreement.MISSING), "(data of ledger, pay, which have not consented)"),
        (DataOwners(("ledger",), Agreement.GIVEN), "(data of ledger, which consents)"),
        (DataOwners(("ledger",), Agreement.OWN), "(data of ledger)"),
        (DataOwners(("ledger",)), "(data of ledger)"),
        (DataOwners(tuple("abcde")), "(data of a, b, c and 2 more)"),
        (DataOwners(()), "(no team owns it)"),
    ],
)
def test_whose_data_it_is(owners: DataOwners, words: str) -> None:
    """Each row says whose its names are, and whether they were asked."""
    made = plan([], bindings(_READ))
    rows = tuple(replace(row, owners=owners) for row in made.access.access_changes)
    screen = first_screen(Report((replace(made, access=replace(made.access, access_changes=rows)),)))
    assert [row.text for row in screen.access] == [f"User:a: READ on topic `t`  {words}"]
    assert screen.owner is None
    # A loss needs nobody's consent.
    lost = tuple(replace(row, gained=(), lost=row.gained) for row in rows)
    screen = first_screen(Report((replace(made, access=replace(made.access, access_changes=lost)),)))
    whose = "" if not owners.teams else f"  {words.partition(', which')[0].removesuffix(')')})"
    assert [row.text for row in screen.access] == [f"User:a: READ on topic `t`{whose}"]


def test_nobody_knows_whose_data_it_is() -> None:
    screen = first_screen(_report([], [_READ]))
    assert screen.owner is not None
    assert "no owner was asked" in screen.owner.text
    assert first_screen(_report([_READ], [])).owner is None
    assert screen.approval is not None
    assert screen.approval.text.startswith("no check speaks against it")


def test_it_is_small_whatever_the_size() -> None:
    for name in ("comment.md", "summary.md"):
        text = FORMATS[name](large_report(steps=2_000, rows=2_000))
        screen = text.partition("\n#### ")[0]
        assert screen.count("\n") <= 25
        assert len(screen) < 3_000


_HEAD = "apiVersion: reconciler/v1\nkind: {}\nmetadata: {{name: x}}\nspec: {}\n---\n"
_LIVE = """{"formatVersion": "1.0", "clusterId": "c", "aclGap": null, "topicGap": null, "opaque": [],
"broker": {"defaultPartitions": 1, "defaultReplicationFactor": 1, "brokerIds": [1, 2, 3], "topicsCreated": 0},
"acls": [], "topics": [
{"name": "t", "partitions": 1, "replicationFactor": 2, "topicId": null, "configs": {}}
], "unreadableTopics": {}, "quotas": []}"""
_TOPIC = "{{topics: [{{name: {}, partitions: {}, replicationFactor: 2, configs: {{{}}}}}]}}"


@pytest.mark.parametrize(
    ("document", "word"),
    [
        (("Topics", _TOPIC.format("new", 1, "")), ReviewWord.HARMLESS),
        (("Topics", _TOPIC.format("new", 1, "min.insync.replicas: 3")), ReviewWord.CHANGES),
        (("Topics", _TOPIC.format("t", 1, "max.message.bytes: 1024")), ReviewWord.CHANGES),
        (("Topics", _TOPIC.format("t", 2, "")), ReviewWord.DESTROYS),
        (("Quotas", "{quotas: [{user: a, limits: {producer_byte_rate: 1}}]}"), ReviewWord.CHANGES),
    ],
    ids=["new-topic", "stops-producers", "smaller-records", "more-partitions", "throttled"],
)
def test_what_may_stop_somebody_is_not_harmless(
    document: tuple[str, str],
    word: ReviewWord,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A limit, an alteration or a warning about what is created, whatever it does to access."""
    monkeypatch.chdir(tmp_path)
    facts = "{superUsers: [User:admin], allowEveryoneIfNoAclFound: false, bootstrapServers: [b:9092]}"
    Path("facts.yaml").write_text(_HEAD.format("Cluster", facts).replace("name: x", "name: c"), encoding="utf-8")
    Path("m").mkdir()
    text = _HEAD.format("Cluster", "{}").replace("name: x", "name: c") + _HEAD.format(*document)
    Path("m/m.yaml").write_text(text, encoding="utf-8")
    Path("live.json").write_text(_LIVE, encoding="utf-8")
    assert run(["plan", "m", "-c", "snapshot:live.json", "--connections", "facts.yaml", "-o", "json"]) == 0
    Path("plan.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert run(["report", "plan.json", "-o", "markdown"]) == 0
    head = capsys.readouterr().out.splitlines()[1]
    assert head.startswith(f"### {'✅' if word is ReviewWord.HARMLESS else '⚠️'} {word}: "), head


_POOL = (_READ, "TOPIC:P:t User:a@* ALLOW READ", "TOPIC:L:t User:a@* DENY READ", "TOPIC:L:t User:*@* ALLOW DESCRIBE")


def test_what_widens_destroys_or_weakens_is_never_harmless() -> None:
    """Every plan between any two sets of these ACLs, with and without a guardrail that changes."""
    states = [list(some) for size in range(len(_POOL) + 1) for some in combinations(_POOL, size)]
    for before, after in product(states, states):
        made = plan(bindings(*before), bindings(*after))
        calm = review_word(Report((made,))) is ReviewWord.HARMLESS
        assert review_word(Report((made,), findings=(_looser(),))) is not ReviewWord.HARMLESS
        assert review_word(Report((made,), checks=(_failed("Ownership"),))) is ReviewWord.REFUSED
        moved = made.gives_access or made.access.callouts or made.refusals or made.access.trend is not AccessTrend.NONE
        lost = any(not step.reversible or step.destructive for step in made.steps)
        assert not (calm and (moved or lost)), (before, after)
        # Nor where a plan of the base says all of it as well: what is done is done by whom it is approved.
        assert review_word(_against(made, made)) is review_word(Report((made,)))


# What a plan says besides its steps counts only where a plan of the base does not say it.


def _against(made: Plan, base: Plan) -> Report:
    matters = Counter(map(matter, standing_findings(base)))
    shown, folded = without_base(made, matters.elements())
    return Report((shown,), findings=(*folded, *skipped_findings(shown)), known=matters)


def _quota(name: str, rate: float) -> ClientQuota:
    return ClientQuota(QuotaEntity.of(name), {"producer_byte_rate": rate})


_PLACE = Origin("a.yaml", 3, 5)
_NOTHING = plan(bindings(_READ), bindings(_READ))


def _skipping(*items: Skipped) -> Plan:
    return replace(_NOTHING, skipped=items)


@pytest.mark.parametrize("reason", SkipReason)
def test_skipped_in_the_base_as_well(reason: SkipReason) -> None:
    """Every reason: calm where the base skips the very same, and only there."""
    item = Skipped(reason, "quota of user a", "because", Delete(_quota("a", 1)))
    calm = ReviewWord.UNCLEAR if reason is SkipReason.REFUSED else ReviewWord.HARMLESS
    report = _against(_skipping(item), _skipping(item))
    assert review_word(report) is calm
    if calm is ReviewWord.HARMLESS:
        assert compared_words(report) == "1 known, 0 new"
        assert "Nothing to do" in FORMATS["comment.md"](report).splitlines()[1]
    moved = replace(item, origin=Origin("a.yaml", 30, 5))
    assert review_word(_against(_skipping(moved), _skipping(replace(item, origin=_PLACE)))) is calm
    others = (
        (item, item),
        (replace(item, change=Delete(_quota("a", 2))),),
        (replace(item, change=None),),
        (replace(item, detail="because of another thing"),),
        (replace(item, origin=_PLACE),),
    )
    for new in others:
        report = _against(_skipping(*new), _skipping(item))
        assert review_word(report) is ReviewWord.UNCLEAR, new
        assert [row.label for row in first_screen(report).others] == ["Skipped"]
    # Manifests say something of it, and no change says what: the base may have said otherwise.
    unread = replace(item, change=None, origin=_PLACE)
    assert review_word(_against(_skipping(unread), _skipping(unread))) is ReviewWord.UNCLEAR
    left = replace(item, change=None)
    assert review_word(_against(_skipping(left), _skipping(left))) is calm


def test_what_is_skipped_beside_a_step_is_never_harmless() -> None:
    created = _topic_made()
    item = Skipped(SkipReason.UNDECLARED, "SCRAM user x", "nobody declares it")
    assert review_word(_against(created, created)) is ReviewWord.HARMLESS
    assert review_word(_against(replace(created, skipped=(item,)), created)) is ReviewWord.CHANGES
    assert review_word(_against(replace(created, skipped=(item,)), _skipping(item))) is ReviewWord.HARMLESS


def _topic_made() -> Plan:
    wanted = DesiredState({}, {"t": DesiredTopic(Topic("t", 1), _PLACE)})
    return propose(wanted, ClusterState("id"), Terms("c", default_allow=False), Request(_DAY))


def _ending(day: int, *more: str) -> Plan:
    """What an end gives, on a cluster that is as declared."""
    denied = "TOPIC:L:t User:a@* DENY READ"
    end = Expiry.of(f"2027-01-{day:02}")
    declared = {one: Declaration(_PLACE) for one in bindings(_READ, *more)}
    declared[binding(denied)] = Declaration(_PLACE, expires=end)
    live = frozenset(bindings(_READ, denied, *more))
    return propose(DesiredState(declared), ClusterState("id", live), Terms("c", default_allow=False), Request(_DAY))


def test_an_end_that_the_base_declares_as_well() -> None:
    assert review_word(_against(_ending(1), _ending(1))) is ReviewWord.HARMLESS
    assert review_word(_against(_ending(1), _ending(2))) is ReviewWord.WIDENS
    assert review_word(_against(_ending(1), _NOTHING)) is ReviewWord.WIDENS
    more = "TOPIC:L:t User:a@* ALLOW WRITE"
    assert review_word(_against(_ending(1, more), _ending(1, more))) is ReviewWord.HARMLESS


@pytest.mark.parametrize("rule", ["wildcard", "everyone", LEFT_OPEN, KEPT, LOGIN, INTERRUPTED])
def test_what_stands_out_in_the_base_as_well(rule: str) -> None:
    def calling(text: str, made: Plan = _NOTHING) -> Plan:
        return replace(made, access=replace(made.access, callouts=(Callout(rule, "User:a", text),)))

    of_the_cluster = rule not in (KEPT, LOGIN, INTERRUPTED)
    calm = ReviewWord.HARMLESS if of_the_cluster else ReviewWord.WIDENS
    assert review_word(_against(calling("it is open"), calling("it is open"))) is calm
    assert review_word(_against(calling("it is open"), calling("it is shut"))) is ReviewWord.WIDENS
    lost = plan(bindings(_READ), bindings(_READ, "TOPIC:L:t User:a@* DENY READ"))
    assert review_word(_against(calling("it is open", lost), calling("it is open"))) is ReviewWord.WIDENS


def test_warnings_and_claims_of_the_base() -> None:
    def stated(*users: str) -> Plan:
        facts = Facts(super_users=users, sources=FactSources(super_users=FactSource.MANIFESTS))
        state = ClusterState("id", frozenset(bindings(_READ)))
        declared = DesiredState(dict.fromkeys(bindings(_READ), Declaration(_PLACE)))
        return propose(declared, state, Terms("c", default_allow=False, facts=facts), Request(_DAY))

    assert review_word(_against(stated("User:x"), stated("User:x"))) is ReviewWord.HARMLESS
    assert review_word(_against(stated("User:x", "User:y"), stated("User:x"))) is ReviewWord.UNCLEAR
    assert compared_words(_against(stated("User:x", "User:y"), stated("User:x"))) == "0 known, 1 new"
    assert compared_words(_against(stated("User:x"), stated("User:x"))) == "1 known, 0 new"
    assert review_word(_against(stated("User:x"), _NOTHING)) is ReviewWord.UNCLEAR
