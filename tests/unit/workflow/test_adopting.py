"""Adopt on a snapshot: what is kept is declared, what is left stays drift, and nothing is written by itself."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from reconciler.app.options import PlanOptions
from reconciler.app.plan import plan
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import UNWRITTEN, Declaration, DesiredState
from reconciler.model.listing import Delete
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.edit.app.adopt import Adoption, AdoptOptions, Difference, adopt
from reconciler.parts.edit.kinds import topic as topic_kind
from reconciler.snapshot.document import BrokerFacts, snapshot_text

MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec:
  bootstrapServers: ["b:9092"]
  allowEveryoneIfNoAclFound: false
  scope: {include: [{principals: {any: true}}, {topics: {any: true}}]}
---
# Who reads what.
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a   # the app
  rules:
    - {allow: READ, topics: [x, y]}
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: topics}
spec:
  topics:
    - name: x   # kept
      partitions: 3
    - {name: gone, partitions: 1}
"""


def binding(principal: str, topic: str, host: str = "*") -> AclBinding:
    entry = AccessControlEntry(principal, host, AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, topic), entry)


#: x is read, y is not; somebody added b, a topic, and a config.
LIVE = ClusterState(
    "demo",
    frozenset({binding("User:a", "x"), binding("User:b", "x"), binding("User:c", "x", "dead.example")}),
    {"x": Topic("x", 6, 1, {"retention.ms": "1000"}), "new": Topic("new", 1, 1)},
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "all.yaml").write_text(MANIFESTS, encoding="utf-8")
    (tmp_path / "live.json").write_text(snapshot_text(LIVE, BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    return tmp_path


def everything(differences: Sequence[Difference]) -> Sequence[Difference]:
    return differences


def adoption(place: Path, options: AdoptOptions = AdoptOptions(reason="seen by hand")) -> Adoption:
    return adopt(str(place / "m"), f"demo=snapshot:{place / 'live.json'}", everything, options)


def test_everything_is_adopted_but_what_no_manifest_can_say(place: Path) -> None:
    found = adoption(place)
    (refused,) = found.refused
    assert "dead.example" in refused.subject
    assert refused.reason == "no connection has that host: it matches nobody"
    assert (found.differences, found.kept, found.remaining) == (7, 6, 1)
    text = found.edit.files["all.yaml"]
    assert text is not None
    assert "# Who reads what." in text
    assert "  principal: User:a   # the app" in text
    assert "    - {allow: READ, topics: [x]}\n" in text
    assert "    - name: x   # kept\n      partitions: 6\n" in text
    assert "    # seen by hand\n    - name: new" in text
    assert "gone" not in text
    assert (place / "m" / "all.yaml").read_text(encoding="utf-8") == MANIFESTS


def test_then_a_plan_has_nothing_to_do(place: Path) -> None:
    adoption(place).edit.write()
    planned = plan(
        str(place / "m"),
        f"demo=snapshot:{place / 'live.json'}",
        PlanOptions(allow_deletes=True, only=("principals!=User:c",)),
    ).plan
    assert planned.steps == ()
    assert [item.reason for item in planned.skipped if item.reason != "excluded"] == []


def test_a_part_is_kept_and_the_rest_stays_drift(place: Path) -> None:
    found = adoption(place, AdoptOptions(only=("principals=User:b",), ticket="T-1"))
    assert (found.kept, found.refused) == (1, ())
    (text,) = [text for path, text in found.edit.files.items() if path != "all.yaml"] or found.edit.files.values()
    assert text is not None
    assert "User:b" in text
    assert "ticket: T-1" in text
    assert "reason: adopted from demo on " in text
    assert "topics: [x, y]" in MANIFESTS
    assert found.remaining == 6


def test_a_selection_that_is_none_and_text_that_nobody_sees_are_refused(place: Path) -> None:
    with pytest.raises(RequestError, match="cannot be selected by"):
        adoption(place, AdoptOptions(only=("colour=red",)))
    with pytest.raises(RequestError, match="cannot be written"):
        adoption(place, AdoptOptions(reason="a\x1b[31m"))


def test_what_may_not_have_been_seen_goes_from_no_manifest(place: Path) -> None:
    """An ACL that a listing leaves out is not one that the cluster lacks."""
    state = replace(LIVE, bindings=frozenset(), acl_gap="listed in parts")
    (place / "live.json").write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    with pytest.raises(WorkflowError, match="may not be whole: listed in parts"):
        adoption(place)


def test_topics_go_where_names_begin_alike_and_else_into_one_new_document(place: Path) -> None:
    """Each once, and under no defaults that would change it."""
    new = {name: Topic(name, 1, 1) for name in ("pay.b", "pay.c", "log.b")}
    head = MANIFESTS.split("---\n# Who", maxsplit=1)[0]
    topics = "---\napiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: %s}\nspec: "
    there = topics + "{topics: [{name: %s, partitions: 1}]}\n"
    documents = [there % (name, f"{name}.a") for name in ("log", "pay")]
    kept = {"log.a": Topic("log.a", 1, 1, {"retention.ms": "777600000"}), "pay.a": Topic("pay.a", 1, 1)}
    live = replace(LIVE, bindings=frozenset(), topics=new | kept)
    (place / "live.json").write_text(snapshot_text(live, BrokerFacts(broker_ids=(1,))), encoding="utf-8")

    def adopted(*parts: str) -> list[list[str]]:
        (place / "m" / "all.yaml").write_text(head + "".join(parts), encoding="utf-8")
        texts = [text or "" for text in adoption(place).edit.files.values()]
        found = (yaml.safe_load(part) for text in texts for part in text.split("---\n") if "kind: Topics" in part)
        topics = [one["spec"]["topics"] for one in found]
        assert not [topic for some in topics for topic in some if "absent" in topic]
        return [[topic["name"] for topic in some] for some in topics]

    assert adopted(*documents) == [["log.a", "log.b"], ["pay.a", "pay.b", "pay.c"]]
    assert adopted(*documents[::-1]) == [["pay.a", "pay.b", "pay.c"], ["log.a", "log.b"]]
    longer = topics % "log" + "{defaults: {configs: {retention.ms: 9d}}, topics: [{name: log.a, partitions: 1}]}\n"
    absent = topics % "log" + "{topics: [{name: log.a, absent: true}, {name: log.b, absent: true}]}\n"
    assert adopted(absent) == [["log.a", "log.b", "pay.a", "pay.b", "pay.c"]]
    assert adopted(longer)[-1] == ["log.b", "pay.a", "pay.b", "pay.c"]


_THROTTLES = {"leader.replication.throttled.replicas": "0:1,0:2", "follower.replication.throttled.replicas": "0:3"}


@pytest.mark.parametrize(
    ("assigned", "configs", "factor"),
    [
        (((1, 2, 3), (2, 3, 1)), {}, 3),
        (((1, 2, 3), (2, 3, 1)), _THROTTLES, None),
        (((1, 2, 3, 4), (2, 3, 1)), {}, None),
    ],
)
def test_what_only_a_move_of_replicas_sets_is_not_adopted(
    place: Path, assigned: tuple[tuple[int, ...], ...], configs: dict[str, str], factor: int | None
) -> None:
    """Declared, throttles would come back with the next plan, and replicas that were to go."""
    new = Topic("new", 2, len(assigned[0]), {**configs, "retention.ms": "1000"}, replica_assignments=assigned)
    state = replace(LIVE, topics={"new": new})
    (place / "live.json").write_text(snapshot_text(state, BrokerFacts(broker_ids=(1, 2, 3, 4))), encoding="utf-8")
    found = adoption(place, AdoptOptions(only=("topics=new",), reason="seen by hand"))
    (text,) = (text or "" for text in found.edit.files.values())
    (declared,) = (document for document in yaml.safe_load_all(text) if document["kind"] == "Topics")
    item = {"name": "new", "partitions": 2, "configs": {"retention.ms": "1s"}}
    assert item | ({"replicationFactor": factor} if factor else {}) in declared["spec"]["topics"]
    assert ("# seen by hand; no replicationFactor is written: its partitions have" in text) is (factor is None)


def test_nor_is_the_number_of_replicas_where_some_are_out_of_sync() -> None:
    """A reassignment that only adds replicas looks finished but for that."""
    new = Topic("new", 1, 4, replica_assignments=((1, 2, 3, 4),))
    for out_of_sync, factor in ((frozenset({"new"}), None), (frozenset({"other"}), 4)):
        live = replace(LIVE, topics={"new": new}, under_replicated=out_of_sync)
        state = topic_kind.adopted(DesiredState(), Delete(new), live, Declaration(UNWRITTEN))
        assert isinstance(state, DesiredState)
        assert state.topics["new"].topic == Topic("new", 1, factor)


@pytest.mark.parametrize(
    ("declared", "kept"), [("partitions: 1", 1), ("partitions: 2", 0), ("replicaAssignments: [[1, 2], [1, 2]]", 0)]
)
def test_a_number_of_replicas_that_move_is_not_adopted_for_a_topic_that_is_declared(
    place: Path, declared: str, kept: int
) -> None:
    """Of the same topic, the number of partitions is."""
    count = ", replicationFactor: 3" if "partitions" in declared else ""
    head = MANIFESTS.split("---\n# Who", maxsplit=1)[0]
    topics = "---\napiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: t}\nspec:\n  topics:\n"
    (place / "m" / "all.yaml").write_text(head + topics + f"    - {{name: new, {declared}{count}}}\n", encoding="utf-8")
    new = Topic("new", 2, 4, _THROTTLES, replica_assignments=((1, 2, 3, 4), (1, 2, 3, 4)))
    state = replace(LIVE, bindings=frozenset(), topics={"new": new})
    (place / "live.json").write_text(snapshot_text(state, BrokerFacts(broker_ids=(1, 2, 3, 4))), encoding="utf-8")
    found = adoption(place)
    assert found.kept == kept
    assert "replicas that move or are out of sync" in found.refused[0].reason
    texts = [text or "" for text in found.edit.files.values()]
    assert [f"{{name: new, partitions: 2{count}}}" in text for text in texts] == [True] * kept


@pytest.mark.parametrize(
    ("declared", "after"),
    [
        ("replicaAssignments: [[1, 2], [1, 2]]", "partitions: 2, replicationFactor: 3"),
        ("partitions: 1, replicationFactor: 2", "partitions: 2, replicationFactor: 3"),
        ("partitions: 1", "partitions: 2"),
    ],
)
def test_numbers_that_stand_are_adopted_as_far_as_they_are_declared(place: Path, declared: str, after: str) -> None:
    """Where the replicas are is no drift to keep: the cluster moves them on, as brokers come and go."""
    head = MANIFESTS.split("---\n# Who", maxsplit=1)[0]
    topics = "---\napiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: t}\nspec:\n  topics:\n"
    (place / "m" / "all.yaml").write_text(f"{head}{topics}    - {{name: new, {declared}}}\n", encoding="utf-8")
    new = Topic("new", 2, 3, replica_assignments=((1, 2, 3), (2, 3, 1)))
    state = replace(LIVE, bindings=frozenset(), topics={"new": new})
    (place / "live.json").write_text(snapshot_text(state, BrokerFacts(broker_ids=(1, 2, 3))), encoding="utf-8")
    found = adoption(place)
    assert (found.refused, found.remaining) == ((), 0)
    assert found.edit.files == {"all.yaml": f"{head}{topics}    - {{name: new, {after}}}\n"}
