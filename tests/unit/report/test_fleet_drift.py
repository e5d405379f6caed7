"""A fleet's drift as a report: every format speaks of every cluster, and hostile text stays text."""

import csv
import datetime
import io
import json
from collections.abc import Mapping

import pytest
from prometheus_client.parser import text_string_to_metric_families

from reconciler.model.desired import Declaration, Origin
from reconciler.model.listing import Create
from reconciler.plan.difference import DeclaredChange, Skipped, SkipReason
from reconciler.results import OutputKind, output
from reconciler.results.fleet_drift import ClusterDrift, DriftCounts, Failure, FleetDrift
from reconciler.show.fleet_report import FleetReport, fleet_document, fleet_report
from reconciler.show.formats import FORMATS, FormatOptions, format_named
from reconciler.show.formats.slack import slack_message
from reconciler.show.reading import Report, ResultError, read_result
from reconciler.show.result import csv_pieces, lists_at
from reconciler.show.verdicts import Tone, verdict
from tests.worlds import binding, step_words

_HOSTILE = "<b>\u202egnp\x1b[31m\n\n&amp;"
_OPTIONS = FormatOptions("1", datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC))
_TAKEN = {"prod": "2026-11-20T08:00:00+00:00", "equal": "2026-11-20T08:00:00+00:00"}


def fleet(*clusters: ClusterDrift, teams: Mapping[str, Mapping[str, int]] | None = None) -> FleetReport:
    missing = binding("TOPIC:L:orders User:a@* ALLOW READ")
    return fleet_report(
        FleetDrift("run", "2026-11-20", 9, 8, 0, clusters),
        lambda _: (
            [DeclaredChange(Create(missing), Declaration(Origin("a.yaml", 3, 1)))],
            [Skipped(SkipReason.IMPOSSIBLE, "topic x", "fewer partitions", None)],
        ),
        taken=_TAKEN,
        teams=teams or {},
        shown=10,
    )


def report(*clusters: ClusterDrift, teams: Mapping[str, Mapping[str, int]] | None = None) -> Report:
    """Written for programs, and read again."""
    return read_result(
        json.loads(json.dumps(output(OutputKind.FLEET_DRIFT, fleet_document(fleet(*clusters, teams=teams)))))
    )


PROD = ClusterDrift("prod", counts=DriftCounts(9, 9, creates=2, left=1))
EQUAL = ClusterDrift("equal", counts=DriftCounts(9, 9))
GONE = ClusterDrift("gone", failure=Failure("gone", "timed_out", "no broker answers", "try again"))
HALF = ClusterDrift("half", counts=DriftCounts(9, 9), doubt="ACLs were read in parts")


def test_a_report_survives_its_json() -> None:
    made = fleet(PROD, EQUAL, GONE, HALF, teams={"prod": {"orders": 3, "none": 0}})
    assert report(PROD, EQUAL, GONE, HALF, teams={"prod": {"orders": 3}}).fleets == (made,)
    assert made.words == "4 clusters: 2 as declared, 1 differ, 1 not known, 1 not seen whole"
    assert fleet_document(made)["totals"]["creates"] == 2
    assert fleet_document(made)["bucketsSkipped"] == 8


@pytest.mark.parametrize(
    ("clusters", "tone"),
    [((PROD, GONE), Tone.STOP), ((PROD, EQUAL), Tone.CAUTION), ((EQUAL, HALF), Tone.CAUTION), ((EQUAL,), Tone.CALM)],
)
def test_the_verdict_is_that_of_the_gravest_cluster(clusters: tuple[ClusterDrift, ...], tone: Tone) -> None:
    assert verdict(report(*clusters)).tone is tone


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"gitlab-terraform"}))
def test_every_format_names_the_clusters_that_differ_or_are_not_known(name: str) -> None:
    text = format_named(name)(report(PROD, EQUAL, GONE), _OPTIONS)
    assert "prod" in text
    assert "gone" in text


def test_differences_are_listed() -> None:
    texts = {name: format_named(name)(report(PROD), _OPTIONS) for name in ("text", "markdown", "html", "junit")}
    for name, text in texts.items():
        assert step_words(binding("TOPIC:L:orders User:a@* ALLOW READ")) in text, name
        assert "fewer partitions" in text, name


def test_the_count_of_topics_says_that_it_has_the_quotas_too() -> None:
    made = report(ClusterDrift("prod", counts=DriftCounts(others=2)))
    (prod,) = made.fleets[0].clusters
    assert prod.words == "2 changes of topics or others"
    assert "| topics and others |" in format_named("markdown")(made, _OPTIONS)
    assert ">topics and others</th>" in format_named("html")(made, _OPTIONS)
    assert "reconciler_fleet_other_resources_different{" in format_named("prometheus")(made, _OPTIONS)


def test_metrics_of_an_unknown_cluster_are_missing_and_not_zero() -> None:
    text = format_named("prometheus")(report(PROD, GONE), _OPTIONS)
    found = {family.name: family.samples for family in text_string_to_metric_families(text)}
    known = {sample.labels["cluster"]: sample.value for sample in found["reconciler_fleet_cluster_known"]}
    assert known == {"prod": 1, "gone": 0}
    for name in (
        "bindings_missing",
        "bindings_undeclared",
        "other_resources_different",
        "differences_left",
        "bindings_in_scope",
    ):
        assert [sample.labels["cluster"] for sample in found[f"reconciler_fleet_{name}"]] == ["prod"]
    (read,) = found["reconciler_fleet_read_timestamp_seconds"]
    assert read.value == datetime.datetime(2026, 11, 20, 8, tzinfo=datetime.UTC).timestamp()


def test_a_message_names_clusters() -> None:
    message = json.loads(slack_message(report(PROD, GONE)))
    assert "gone: not known: timed_out: no broker answers" in message["blocks"][1]["text"]["text"]


def test_hostile_names_and_messages_stay_text() -> None:
    clusters = (
        ClusterDrift("a", failure=Failure("a", "code", _HOSTILE)),
        ClusterDrift("b", counts=DriftCounts(creates=1)),
        ClusterDrift("c", doubt=_HOSTILE),
    )
    page = format_named("html")(report(*clusters, teams={"b": {_HOSTILE: 1}}), _OPTIONS)
    assert [sign for sign in ("\u202e", "\x1b", "<b>") if sign in page.partition("<main")[2]] == []
    assert "1 not seen whole" in page
    assert "code: &lt;b&gt;\\u202egnp\\u001b[31m &amp;amp;" in page


def test_a_result_of_another_shape_is_refused() -> None:
    document = fleet_document(fleet(PROD))
    document["clusters"][0]["counts"]["creates"] = "many"
    with pytest.raises(ResultError, match=r"clusters\.0\.counts\.creates"):
        read_result(output(OutputKind.FLEET_DRIFT, document))


def test_a_row_of_a_table_is_a_difference_and_a_cluster_that_is_not_known_has_one_with_the_reason() -> None:
    document = fleet_document(fleet(PROD, EQUAL, GONE))
    rows = list(csv.DictReader(io.StringIO("".join(csv_pieces(document, lists_at("clusters.differences"))))))
    assert [row["cluster"] for row in rows] == ["prod", "prod", "equal", "gone"]
    assert [row["sign"].strip('"') for row in rows] == ["+", "!", "", ""]
    assert [row["counts.creates"] for row in rows] == ["2", "2", "0", ""]
    assert (rows[3]["failure.code"], rows[3]["failure.message"]) == ("timed_out", "no broker answers")
