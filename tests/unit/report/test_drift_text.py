"""Drift is told from the cluster's side: what is there and undeclared is never lost, deleted or revoked."""

import itertools
import re
from dataclasses import replace

import pytest

from reconciler.model.acl import AclBinding
from reconciler.model.desired import DesiredState
from reconciler.plan.difference import DriftCause
from reconciler.plan.file import plan_from_json, plan_to_json
from reconciler.plan.kinds.acl import touched_bindings
from reconciler.plan.proposal import causes_of
from reconciler.show.plan import drift_counts, drift_lines, drift_table
from reconciler.show.reading import Report
from tests.integration.report.formats import FORMATS
from tests.unit.report.test_lines import plan
from tests.worlds import bindings, step_words

_WORLD = bindings(
    "TOPIC:L:a User:x@* ALLOW READ",
    "TOPIC:P:b. User:y@10.0.0.1 ALLOW ALL",
    "GROUP:L:g User:*@* ALLOW READ",
    "TOPIC:L:a User:x@* DENY WRITE",
)
#: Words of a plan that would bring the cluster back, which nobody has made.
_OF_A_PLAN = re.compile(r"\b(loses?|gains?|deletes?|to delete|to create|creates?|revokes?|grants?|Approve with)\b")
#: What follows is about such a plan.
_AFTER = ("If the cluster is brought back", "What to do")
_WORLDS = [
    (live, declared)
    for live in itertools.chain.from_iterable(itertools.combinations(_WORLD, size) for size in range(4))
    for declared in itertools.chain.from_iterable(itertools.combinations(_WORLD, size) for size in range(3))
]


@pytest.mark.parametrize(("live", "declared"), _WORLDS)
def test_every_difference_is_told_from_the_clusters_side(
    live: tuple[AclBinding, ...], declared: tuple[AclBinding, ...]
) -> None:
    drift = plan(live, declared)
    lines = list(drift_lines(drift, expand=True))
    before = itertools.takewhile(lambda line: not line.startswith(_AFTER), lines)
    assert not [line for line in before if _OF_A_PLAN.search(line)]
    for binding in _WORLD:
        sign = {(True, False): "+", (False, True): "-"}.get((binding in live, binding in declared))
        shown = [line for line in lines if re.match(rf"  [+~-] {re.escape(step_words(binding))}(  |$)", line)]
        assert [line[2] for line in shown] == ([sign] if sign else []), lines
    rows = drift_table(drift)["rows"]
    assert sorted(row[0] for row in rows) == sorted(
        ["undeclared"] * len({*live} - {*declared}) + ["missing"] * len({*declared} - {*live})
    )
    assert (drift_counts(drift) == "no difference") is ({*live} == {*declared})
    assert ("is as declared" in lines[0]) is ({*live} == {*declared})


def test_markdown_and_metrics_say_the_same() -> None:
    (by_hand,) = bindings("TOPIC:L:orders User:batch@* ALLOW ALL")
    report = Report(drifts=(plan([by_hand], []),))
    text = FORMATS["comment.md"](report)
    assert f"#### Undeclared on the cluster (1)\n\n- `+ {step_words(by_hand)}`\n" in text
    assert "| `User:batch` | ➕ everything | topic `orders` |" in text
    assert "loses" not in text
    metrics = FORMATS["metrics.prom"](report)
    assert 'reconciler_drift{cluster="c",difference="undeclared",kind="acl"} 1.0' in metrics
    assert 'action="delete"' not in metrics


@pytest.mark.parametrize("applied", [some for size in range(3) for some in itertools.combinations(_WORLD, size)])
def test_a_difference_was_merged_if_the_cluster_is_as_it_was_applied_and_else_changed_by_hand(
    applied: tuple[AclBinding, ...],
) -> None:
    for live, declared in _WORLDS[::9]:
        now = plan(live, declared)
        drift = replace(now, causes=causes_of(now, plan(live, applied), DesiredState()))
        different = {one for one in _WORLD if (one in live) is not (one in declared)}
        merged = {one for one in different if (one in live) is (one in applied)}
        by_hand = different - merged
        expected = {one: DriftCause.MERGED if one in merged else DriftCause.BY_HAND for one in different}
        assert drift.causes == {step.id: expected[touched_bindings([step.change])[0]] for step in now.steps}
        lines = list(drift_lines(drift, expand=True))
        for cause, bindings_of in ((DriftCause.MERGED, merged), (DriftCause.BY_HAND, by_hand)):
            for one in bindings_of:
                [line] = [line for line in lines if re.match(rf"  [+~-] {re.escape(step_words(one))}(  |$)", line)]
                assert f"[{cause.words}]" in line
        adopts = any(line.strip().startswith("Keep it:") for line in lines)
        assert adopts is bool(by_hand - {*declared}), "nobody adopts what a merge has taken away"
        assert plan_from_json(plan_to_json(drift)).causes == drift.causes
