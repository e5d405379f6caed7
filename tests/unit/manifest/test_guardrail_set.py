"""Which terms count where the guardrails and the proposal declare the same cluster or fleet."""

from dataclasses import replace
from typing import Final

import pytest

from reconciler.manifest.guardrail_set import (
    HELD,
    HeldTerm,
    guardrail_files,
    guardrails_digest,
    rule_key,
    with_guardrails,
)
from reconciler.manifest.manifests import Manifests, load
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.findings import Source
from reconciler.model.state import FactSource

_HEAD: Final = "apiVersion: reconciler/v1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n"
_P: Final = "barrier: {principal: 'User:p', timeout: 7s}"
_Q: Final = "barrier: {principal: 'User:q', timeout: 9s}"
_ALL: Final = "scope: {include: [{topics: {any: true}}, {principals: {any: true}}]}"


def _loaded(kind: str, name: str, spec: str) -> Manifests:
    return load([Source("c.yaml", _HEAD % (kind, name, spec))])


def _cluster(spec: str) -> ClusterDeclaration:
    return _loaded("Cluster", "c", spec).clusters["c"]


def _joined(term: str, own: ClusterDeclaration, bounds: ClusterDeclaration) -> dict[str, object]:
    held = HELD[term]
    assert isinstance(held, HeldTerm)
    return dict(held.joined(own, bounds))


@pytest.mark.parametrize(
    ("own", "bounds", "principal", "seconds", "wait"),
    [
        ("{}", "{barrier: {wait: 7s}}", None, None, 7.0),
        ("{barrier: {wait: 9s}}", "{barrier: {wait: 7s}}", None, None, 9.0),
        # Another principal may see what others do not see yet.
        (f"{{{_Q}}}", f"{{{_P}}}", "User:p", 7.0, 2.0),
        ("{}", f"{{{_P}}}", "User:p", 7.0, 2.0),
        (f"{{{_Q}}}", "{}", "User:q", 9.0, 2.0),
        (f"{{{_P.replace('7s', '8s')}}}", f"{{{_P}}}", "User:p", 8.0, 2.0),
    ],
)
def test_the_longer_wait_counts_and_the_probe_of_the_guardrails(
    own: str, bounds: str, principal: str | None, seconds: float | None, wait: float
) -> None:
    found = replace(_cluster("{}"), **_joined("barrier", _cluster(own), _cluster(bounds)))  # type: ignore[arg-type]
    assert (found.probe and found.probe.principal, found.probe and found.probe.seconds) == (principal, seconds)
    assert found.barrier_wait == wait


def test_a_barrier_of_the_operator_counts_as_it_is() -> None:
    """But for a probe that only the guardrails have."""
    for own, bounds, principal in ((_Q, _P, "User:q"), ("barrier: {wait: 1s}", _P, "User:p")):
        mine = _cluster(f"{{{own}}}")
        mine = replace(mine, barrier_wait=1.0, sources=replace(mine.sources, barrier=FactSource.OPERATOR))
        found = _joined("barrier", mine, _cluster(f"{{{bounds}}}"))
        assert found["barrier_wait"] == 1.0
        assert found["probe"].principal == principal  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("own", "bounds", "pruned"),
    [
        ("[quotas, topics]", "[quotas, users]", 1),
        ("[quotas]", "[]", 0),
        ("[]", "[quotas]", 0),
    ],
)
def test_only_what_both_prune_is_pruned(own: str, bounds: str, pruned: int) -> None:
    of = {spec: _cluster(f"{{{_ALL}, prune: {spec}}}") for spec in (own, bounds)}
    (found,) = _joined("prune", of[own], of[bounds]).values()
    assert isinstance(found, frozenset)
    assert found == of[own].prune & of[bounds].prune
    assert len(found) == pruned
    # A scope that names nothing includes what nobody declares, which no bounds tell apart.
    assert _joined("prune", of[own], replace(of[bounds], scope=_cluster("{}").scope)) == {"prune": frozenset()}


def test_what_is_said_of_a_fleet_stands_at_the_proposals_document() -> None:
    text = "{waves: [{name: w, clusters: {matchLabels: {}}, gate: {soak: %s}}]}"
    cluster = Source("k.yaml", _HEAD % ("Cluster", "c", "{}"))
    base = [Source("f.yaml", _HEAD % ("Fleet", "world", text % "1h")), cluster]
    for proposal, place in (
        ([Source("g.yaml", "---\n" + _HEAD % ("Fleet", "world", text % "1m")), cluster], "g.yaml:4:18"),
        ([cluster], "guardrails://f.yaml:3:18"),
    ):
        held = with_guardrails(load(proposal), base)
        assert held.guardrails is not None
        (notice,) = held.guardrails.notices["c"]
        assert (str(notice.origin), str(notice.related)) == (place, "guardrails://f.yaml:3:18")


@pytest.mark.parametrize(
    ("own", "bounds", "field", "source"),
    [
        ("{kafkaVersion: 3.9}", "{kafkaVersion: 4.4}", "kafka_version", FactSource.NOBODY),
        ("{kafkaVersion: 4.4}", "{kafkaVersion: 4.4}", "kafka_version", FactSource.MANIFESTS),
        ("{allowEveryoneIfNoAclFound: true}", "{allowEveryoneIfNoAclFound: false}", "default_allow", FactSource.NOBODY),
        ("{superUsers: ['User:a']}", "{superUsers: ['User:b']}", "super_users", FactSource.MANIFESTS),
        ("{}", "{principal: 'User:b'}", "principal", FactSource.MANIFESTS),
        ("{}", "{brokers: [1]}", "brokers", FactSource.MANIFESTS),
        ("{brokers: [1]}", "{}", "brokers", FactSource.NOBODY),
    ],
)
def test_a_fact_on_which_the_two_differ_is_the_guardrails_word_or_nobodys(
    own: str, bounds: str, field: str, source: FactSource
) -> None:
    """Nobody's where a test that forbids fails under the one value, and one that demands under the other."""
    held = with_guardrails(_loaded("Cluster", "c", own), [Source("b.yaml", _HEAD % ("Cluster", "c", bounds))])
    assert getattr(held.clusters["c"].sources, field) is source


def test_the_digest_of_guardrails_is_of_all_that_judges_and_of_nothing_else() -> None:
    """Whoever approves a plan approves these rules: other files and documents around them change nothing."""
    cluster = _HEAD % ("Cluster", "c", "{brokers: [1]}")
    role = _HEAD % ("Role", "r", "{rules: [{allow: READ, topics: [a]}]}")
    digest = guardrails_digest([Source("a.yaml", cluster)])
    assert digest == guardrails_digest([Source("z.yaml", f"{role}---\n{cluster}")])
    for other in (cluster.replace("[1]", "[2]"), cluster.replace("name: c", "name: d"), f"{cluster}---\n{cluster}"):
        assert digest != guardrails_digest([Source("a.yaml", other)])


def test_a_file_of_the_guardrails_is_known_by_its_path_in_the_proposal() -> None:
    """For globs of owners, which are written for either set."""
    plain = _loaded("Cluster", "c", "{}")
    assert guardrail_files(plain) == {}
    held = with_guardrails(plain, [Source("teams/a/b.yaml", _HEAD % ("Cluster", "c", "{}"))])
    assert guardrail_files(held) == {"teams/a/b.yaml": "guardrails://teams/a/b.yaml"}


def test_an_exception_counts_where_the_guardrails_have_the_same_one() -> None:
    """In whatever place it stands there; of guards that no Cluster document is behind, any counts."""
    limit = "{check: limit, object: maxDeletes, reason: r, expires: 2027-01-31}"
    for own, counts in ((limit, True), (limit.replace("reason: r", "reason: q"), False), (limit[:-3] + "30}", False)):
        base = [Source("b.yaml", _HEAD % ("Cluster", "c", f"\n  brokers: [1]\n  exceptions: [{limit}]"))]
        held = with_guardrails(_loaded("Cluster", "c", f"{{brokers: [1], exceptions: [{own}]}}"), base)
        assert held.guardrails is not None
        assert [one.rule for one in held.guardrails.notices["c"]] == ([] if counts else ["guardrail-exception"])
        assert bool(held.clusters["c"].guard_exceptions) is counts


@pytest.mark.parametrize("count", [1, 16, 17, 40])
@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("TopicPolicy", "{rules: [{topics: [%s], partitions: {max: 3}}]}"),
        ("AccessTests", "{tests: [{name: t, topics: [%s], principals: ['User:a'], mustNot: READ}]}"),
        ("Ownership", "{owners: [{team: a, files: ['**'], principals: [%s], topics: [%s]}]}"),
        (
            "Cluster",
            "{protect: [{topics: [%s]}], exceptions: [{check: KA010, topics: [%s], reason: r, expires: 2099-01-01}]}",
        ),
    ],
)
def test_a_rule_is_the_same_as_itself_read_again_however_many_names_it_has(kind: str, spec: str, count: int) -> None:
    """Else what the base already says would be judged twice, and each proposal told to differ from it."""
    names = ", ".join(f"'User:n{n}'" if kind == "Ownership" else f"n{n}" for n in range(count))
    topics = ", ".join(f"n{n}" for n in range(count))
    text = _HEAD % (kind, "x", spec.replace("%s", names, 1).replace("%s", topics))
    first, second = (load([Source("a.yaml", text)]) for _ in range(2))
    one, two = ((*found.documents, *found.clusters.values()) for found in (first, second))
    assert [*map(rule_key, one)] == [*map(rule_key, two)]
    assert rule_key(one) != rule_key(())
