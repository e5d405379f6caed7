"""Marks of break-glass access: forged ones end nobody's access, and true ones outlive what they end."""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.app.apply import ApplyOptions
from reconciler.app.cleanup import cleanup
from reconciler.app.records import RecordOptions
from reconciler.apply import performing
from reconciler.apply.environment import Outcome, Result
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Expiry
from reconciler.model.listing import Change, Create
from reconciler.model.markers import break_glass_mark
from reconciler.parts.edit.app.break_glass import break_glass
from reconciler.parts.edit.app.grant import GrantTerms
from reconciler.plan.step import Step
from reconciler.ports import Answer, AnswerStatus, ClusterError
from reconciler.snapshot.file import SnapshotCluster
from tests.security.test_break_glass import ASKED, GIVEN, HOUR, MARK, NOW, STAYS, Stage, at, stage
from tests.worlds import binding

__all__ = ["at", "stage"]
OTHER = binding("User:other ALLOW READ on TOPIC team.orders")
MINUTE = datetime.timedelta(minutes=1)
SetTime = Callable[[datetime.datetime], None]


@pytest.mark.parametrize("victim", [STAYS, OTHER])
@pytest.mark.parametrize("end", [NOW - 5 * MINUTE, NOW + 5 * MINUTE])
def test_a_forged_mark_ends_nobodys_access(
    stage: Stage, at: SetTime, victim: AclBinding, end: datetime.datetime
) -> None:
    """Declared or not, over or not, whatever the server was looking at before."""
    stage.write(OTHER)
    stage.round()
    stage.write(break_glass_mark(victim, end))
    for when in (NOW, NOW + 6 * MINUTE, NOW + HOUR):
        at(when)
        found = stage.round()
        assert found.revoked == 0
    assert len(found.held_back) == 1, "and it is said"
    assert stage.live() >= {STAYS, OTHER}


def test_a_mark_that_is_over_proves_nothing_to_a_server_that_has_just_been_started(stage: Stage) -> None:
    stage.write(OTHER, break_glass_mark(OTHER, NOW - 5 * MINUTE))
    found = stage.round()
    assert found.revoked == 0
    assert "revoke it at once" in found.held_back[0]
    assert found.held_back[0].startswith("1 expired binding stays: ")
    assert OTHER in stage.live()


@pytest.mark.parametrize("hours", [1, 25])
def test_what_was_seen_or_doubted_is_in_the_audit_log_for_the_next_server(
    stage: Stage, at: SetTime, tmp_path: Path, hours: int
) -> None:
    audit = tmp_path / "server.jsonl"
    stage.write(OTHER)
    first = stage.another(audit)
    stage.round(first)
    stage.give()
    stage.write(break_glass_mark(OTHER, NOW + hours * HOUR))
    stage.round(first)
    at(NOW + (hours + 1) * HOUR)
    found = stage.round(stage.another(audit))
    assert (found.revoked, len(found.held_back)) == (1, 1)
    assert OTHER in stage.live()
    assert GIVEN not in stage.live()


def test_a_server_that_only_looks_writes_nothing_down(stage: Stage, tmp_path: Path) -> None:
    """What it has seen would vouch for a mark to a server that acts."""
    stage.give()
    for act in (False, True):
        audit = tmp_path / f"{act}.jsonl"
        stage.round(replace(stage.another(audit), act=act))
        assert (audit.exists() and "break-glass" in audit.read_text(encoding="utf-8")) is act


def test_what_a_run_wrote_to_the_same_audit_log_needs_no_server_at_the_time(stage: Stage, at: SetTime) -> None:
    stage.give()
    at(NOW + 2 * HOUR)
    assert stage.round(stage.another()).revoked == 0
    assert stage.round(stage.another(stage.audit)).revoked == 1


def test_what_a_run_wrote_of_another_cluster_proves_nothing_here(stage: Stage, at: SetTime) -> None:
    stage.give()
    for old, new in (('"id":"', '"id":"not-'), ('"end"', '"ends"')):
        log = stage.audit.read_text(encoding="utf-8").replace(" ", "")
        assert old in log
        elsewhere = stage.audit.with_name("elsewhere.jsonl")
        elsewhere.write_text(log.replace(old, new), encoding="utf-8")
        at(NOW + 2 * HOUR)
        assert stage.round(stage.another(elsewhere)).revoked == 0
        assert GIVEN in stage.live()


def test_access_that_is_given_and_over_between_two_rounds_ends(stage: Stage, at: SetTime) -> None:
    at(NOW - MINUTE)
    stage.round()
    stage.give(NOW + HOUR)
    at(NOW + 2 * HOUR)
    assert stage.round().revoked == 1
    assert GIVEN not in stage.live()


def test_it_can_be_revoked_after_its_end_too(stage: Stage, at: SetTime) -> None:
    stage.write(GIVEN, break_glass_mark(GIVEN, NOW - HOUR))
    assert stage.end(ASKED).succeeded
    assert GIVEN not in stage.live()


@pytest.mark.parametrize("end", [NOW + 25 * HOUR, NOW + HOUR, NOW - HOUR, NOW - 300 * HOUR])
def test_no_mark_of_access_that_is_there_is_a_leftover(
    stage: Stage, end: datetime.datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not to believe it is not to remove it."""
    mark = break_glass_mark(GIVEN, end)
    stage.write(GIVEN, mark)
    stage.round()
    with cleanup(str(stage.manifests), stage.cluster) as found:
        assert found.remove().succeeded
    assert mark in stage.live()


class _Hook:
    """Something that happens at the creation of the access: before it is sent, or instead."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, happen: Callable[[SnapshotCluster, Sequence[Change]], object]):
        really = SnapshotCluster.send

        def send(cluster: SnapshotCluster, changes: Sequence[Change]) -> list[Answer]:
            if Create(GIVEN) not in changes:
                return really(cluster, changes)
            monkeypatch.setattr(SnapshotCluster, "send", really)
            found = happen(cluster, changes)
            return [Answer(AnswerStatus.UNKNOWN)] if found is None else really(cluster, changes)

        monkeypatch.setattr(SnapshotCluster, "send", send)


def _give(stage: Stage, end: datetime.datetime = NOW + HOUR) -> Result:
    options = ApplyOptions(records=RecordOptions(audit=str(stage.audit)))
    return break_glass(str(stage.manifests), stage.cluster, ASKED, GrantTerms(Expiry(end), "outage"), options=options)


def _clock(monkeypatch: pytest.MonkeyPatch, when: datetime.datetime) -> None:
    monkeypatch.setattr("reconciler.system.process.SystemClock.now", lambda _: when.isoformat())


def test_a_run_that_stood_still_over_the_end_gives_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the mark and the access: each phase asks the clock what has ended by then."""
    really = SnapshotCluster.send

    def send(cluster: SnapshotCluster, changes: Sequence[Change]) -> list[Answer]:
        answers = really(cluster, changes)
        if Create(MARK) in changes:
            _clock(monkeypatch, NOW + 2 * HOUR)
        assert Create(GIVEN) not in changes
        return answers

    monkeypatch.setattr(SnapshotCluster, "send", send)
    result = _give(stage)
    assert not result.succeeded
    assert [one.code for one in result.outcomes] == ["ended_meanwhile"]
    assert stage.live() == {STAYS}, "nothing of it is on its way, so the mark goes too"


def test_a_run_that_stood_still_in_its_phase_gives_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is asked again, right before the request."""
    ready = performing._ready

    def stand_still(*words: Any) -> list[Step]:
        found = ready(*words)
        _clock(monkeypatch, NOW + 2 * HOUR)
        return found

    monkeypatch.setattr(performing, "_ready", stand_still)
    result = _give(stage)
    assert not result.succeeded
    assert "ended at" in result.stopped
    assert stage.live() == {STAYS}


def test_a_run_that_stood_still_before_its_mark_gives_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    _clock(monkeypatch, NOW + 2 * HOUR)
    result = _give(stage)
    assert not result.succeeded
    assert stage.live() == {STAYS}


def test_what_was_given_after_its_end_is_taken_away_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stood still after the last look and before the request was sent: nothing can be asked in between."""

    def stand_still(cluster: SnapshotCluster, _: object) -> SnapshotCluster:
        _clock(monkeypatch, NOW + 2 * HOUR)
        return cluster

    _Hook(monkeypatch, stand_still)
    result = _give(stage)
    assert not result.succeeded
    assert "taken away again" in result.stopped
    assert stage.live() == {STAYS, MARK}


def test_what_was_given_without_its_mark_is_taken_away_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.apply.run.VISIBLE_SECONDS", 0.1)

    def remove(cluster: SnapshotCluster, _: object) -> SnapshotCluster:
        stage.delete(MARK)
        return cluster

    _Hook(monkeypatch, remove)
    assert not _give(stage).succeeded
    assert stage.live() == {STAYS}


@pytest.mark.parametrize("raised", [False, True])
def test_a_request_without_an_answer_that_arrives_late_has_an_end(
    stage: Stage, at: SetTime, monkeypatch: pytest.MonkeyPatch, raised: bool
) -> None:
    def lose(_: object, __: object) -> None:
        if raised:
            raise ClusterError("_TIMED_OUT", "no answer")

    stage.round()
    _Hook(monkeypatch, lose)
    result = _give(stage)
    assert [one.outcome for one in result.outcomes] == [Outcome.UNKNOWN]
    assert stage.live() == {STAYS, MARK}
    for when in (NOW, NOW + HOUR, NOW + 20 * HOUR):
        at(when)
        stage.round()
        assert MARK in stage.live()
    stage.write(GIVEN)
    assert stage.round().revoked == 1
    assert GIVEN not in stage.live()


def test_access_that_appeared_since_it_was_planned_gets_no_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else gave it, for as long as they meant."""
    really = SnapshotCluster.send

    def send(cluster: SnapshotCluster, changes: Sequence[Change]) -> list[Answer]:
        if Create(MARK) in changes:
            really(cluster, [Create(GIVEN)])
        return really(cluster, changes)

    monkeypatch.setattr(SnapshotCluster, "send", send)
    result = _give(stage)
    assert "without an end" in result.stopped
    assert stage.live() == {STAYS, GIVEN}
