"""Which moves a command may cancel: those in scope, of topics that exist, and while nobody else is applying."""

import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reconciler.app.reasons import HeldError, RecordsError, RequestError, WorkflowError
from reconciler.app.reassignments import Unfinished, unfinished
from reconciler.app.records import RecordOptions
from reconciler.app.session import Target
from reconciler.apply.audit import AUDIT
from reconciler.apply.lease import lease_claims, marker
from reconciler.apply.moves import Ending
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.model.listing import Create, Update
from reconciler.model.topic import TopicReplicas
from reconciler.ports import Answer, ClusterError, ReadRequest
from tests.slow_moves import SlowMoves
from tests.unit.apply.test_moving import topic

MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec:
  scope: {include: [{topics: {prefix: ours.}}]}
"""


def moving() -> SlowMoves:
    cluster = SlowMoves(topic("ours.a", (1,)), topic("ours.b", (1,)), topic("theirs", (1,)), readings=None)
    for name in ("ours.a", "theirs"):
        cluster.begin(Update(TopicReplicas(name, ((1,),)), TopicReplicas(name, ((2,),))))
    return cluster


def found(cluster: SlowMoves, *topics: str, scoped: bool = True, breaks: tuple[str, ...] | None = ()) -> Unfinished:
    manifests = load([Source("m.yaml", MANIFESTS)])
    target = Target("c", cluster, manifests.clusters["c"] if scoped else None)
    return unfinished(manifests if scoped else None, target, topics or None, breaks)


def names(one: Unfinished) -> tuple[list[str], list[str]]:
    return [move.topic for move in one.chosen], [move.topic for move in one.others]


def test_all_is_what_moves_in_scope_and_without_manifests_everything() -> None:
    cluster = moving()
    assert names(found(cluster)) == (["ours.a"], ["theirs"])
    assert found(cluster).outside == {"theirs"}
    assert names(found(cluster, scoped=False)) == (["ours.a", "theirs"], [])
    ended = found(cluster).cancel()
    assert [(one.topic, one.ending) for one in ended.ends] == [("ours.a", Ending.CANCELLED)]
    assert ended.succeeded
    assert set(cluster.moving) == {"theirs"}


def test_a_topic_that_is_named_may_be_still_but_has_to_exist_and_be_ours() -> None:
    cluster = moving()
    assert found(cluster, "ours.b").is_nothing
    with pytest.raises(RequestError, match=r"outside the scope of these manifests: theirs"):
        found(cluster, "ours.a", "theirs")
    with pytest.raises(RequestError, match=r"no such topic: ours\.c"):
        found(cluster, "ours.c")


def test_whoever_holds_the_lease_may_be_waiting_for_what_moves() -> None:
    cluster = moving()
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=5)
    cluster.send([Create(marker("ann@host", "r1", until))])
    with pytest.raises(HeldError) as held:
        found(cluster)
    assert [one.holder for one in held.value.claims] == ["ann@host"]
    assert names(found(cluster, breaks=("ann@host",))) == (["ours.a"], ["theirs"])
    # Looking disturbs nobody.
    assert names(found(cluster, breaks=None)) == (["ours.a"], ["theirs"])


class Watched(SlowMoves):
    """Notes who holds the lease while the controller is asked to cancel."""

    def __init__(self) -> None:
        super().__init__(topic("ours.a", (1,)), readings=None)
        self.begin(Update(TopicReplicas("ours.a", ((1,),)), TopicReplicas("ours.a", ((2,),))))
        self.holders: list[str] = []

    def cancel_reassignments(self, partitions: Sequence[tuple[str, int]]) -> list[Answer]:
        self.holders += [claim.holder for claim in lease_claims(self.state.bindings)]
        return super().cancel_reassignments(partitions)


def test_a_cancellation_holds_the_lease_and_gives_it_back() -> None:
    cluster = Watched()
    assert found(cluster).cancel(RecordOptions(operator="eve")).succeeded
    assert cluster.holders == ["eve"]
    assert cluster.state.bindings == frozenset()


def test_an_apply_that_began_while_somebody_was_asked_is_not_disturbed() -> None:
    cluster = Watched()
    one = found(cluster)
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=2)
    held = marker("ann@host", "20260101T000000Z-r", until)
    cluster.send([Create(held)])
    with pytest.raises(HeldError, match=r"ann@host by run 20260101T000000Z-r.*nothing was sent"):
        one.cancel()
    assert (cluster.holders, set(cluster.moving), [*cluster.state.bindings]) == ([], {"ours.a"}, [held])
    broken = found(cluster, breaks=("ann@host",)).cancel(RecordOptions(operator="eve"))
    assert (broken.succeeded, cluster.holders, cluster.state.bindings) == (True, ["eve"], frozenset())


def test_what_is_cancelled_is_in_the_audit_log_before_and_after(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    ended = found(Watched()).cancel(RecordOptions(audit=str(log), operator="eve"))
    lines: list[Any] = [AUDIT.read(json.loads(line)).content for line in log.read_text().splitlines()]
    assert [(one.action, one.about.operator, one.about.cluster.id, one.about.cluster.name) for one in lines] == [
        ("cancel", "eve", "c", "c"),
        ("cancelled", "eve", "c", "c"),
    ]
    assert len({one.about.run for one in lines}) == 1
    (before,), (after,) = (one.partitions for one in lines)
    assert (before.topic, before.partition, before.target, before.reverted) == ("ours.a", 0, (2,), (1,))
    assert (before.ending, after.ending, after.reverted) == ("", "cancelled", (1,))
    assert ended.audit_head.startswith("sha256:")


def test_what_cannot_be_written_down_is_not_cancelled(tmp_path: Path) -> None:
    cluster = Watched()
    with pytest.raises(RecordsError, match="nothing was sent"):
        found(cluster).cancel(RecordOptions(audit=str(tmp_path / "away" / "audit.jsonl")))
    full = Path("/dev/full")
    if full.exists():
        with pytest.raises(WorkflowError, match="nothing was sent"):
            found(cluster).cancel(RecordOptions(audit=str(full)))
    assert (cluster.holders, set(cluster.moving), cluster.state.bindings) == ([], {"ours.a"}, frozenset())


@pytest.mark.parametrize(("code", "is_known"), [("SECURITY_DISABLED", True), ("TIMED_OUT", False)])
def test_without_an_authorizer_there_is_no_lease_and_without_an_answer_nothing_is_sent(
    code: str, is_known: bool
) -> None:
    class Silent(SlowMoves):
        def read(self, request: ReadRequest):  # type: ignore[no-untyped-def]
            if request.acls:
                raise ClusterError(code, "")
            return super().read(request)

    cluster = Silent(topic("ours.a", (1,)))
    if is_known:
        assert names(found(cluster)) == ([], [])
    else:
        with pytest.raises(WorkflowError, match="whether somebody is applying is not known"):
            found(cluster)


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["cancel"], Exit.USAGE, "say which: TOPIC, one or more, or --all"),
        (["cancel", "t", "--all"], Exit.USAGE, "say which"),
        (["list"], Exit.ERROR, "a snapshot does not say which replicas are moving"),
    ],
)
def test_the_command_refuses(
    words: list[str], status: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests, snapshot = tmp_path / "m.yaml", tmp_path / "c.json"
    manifests.write_text(MANIFESTS)
    snapshot.write_text("{}")
    assert run(["reassignments", *words, "--path", str(manifests), "--cluster", f"c=snapshot:{snapshot}"]) == status
    assert text in capsys.readouterr().err
