"""Drift is told from the cluster's side: what is there and undeclared is never lost, deleted or revoked."""

import itertools
import re

import pytest

from reconciler.model.acl import AclBinding
from reconciler.show.drift import drift_counts, drift_lines, drift_table
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
