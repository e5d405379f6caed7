"""The first screen of a review is small whatever the change is, and never calmer than it."""

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.plan.review.access_change import DataOwners
from reconciler.plan.review.access_review import AccessTrend
from reconciler.plan.review.callouts import Callout
from reconciler.policy.ownership import Agreement
from reconciler.results.findings import Check, CheckStatus, Finding, Level
from reconciler.show.reading import Report
from reconciler.show.verdicts import ReviewWord, first_screen, review_word
from tests.integration.report.formats import FORMATS
from tests.integration.report.large import large_report
from tests.unit.report.test_lines import plan
from tests.worlds import bindings

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
