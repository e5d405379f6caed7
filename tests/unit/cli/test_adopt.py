"""``adopt`` asks a person about each difference: what is answered is what is kept."""

import io
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import snapshot_text
from tests.worlds import binding

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec: {bootstrapServers: ["b:9092"], allowEveryoneIfNoAclFound: false}
"""
LIVE = [binding(f"User:{name} ALLOW READ on TOPIC orders") for name in ("a", "b", "c")]


class _Terminal(io.StringIO):
    """Answers that somebody types."""

    def isatty(self) -> bool:
        """As a terminal."""
        return True


@pytest.mark.parametrize(
    ("answers", "kept", "asked"),
    [("y\nn\ny\n", "ac", 3), ("n\na\n", "bc", 2), ("y\nq\n", "a", 2), ("q\n", "", 1), ("what\ny\nq\n", "a", 3)],
)
def test_what_is_answered_is_what_is_kept(
    answers: str,
    kept: str,
    asked: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "live.json").write_text(snapshot_text(ClusterState("demo", frozenset(LIVE))), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", _Terminal(answers))
    assert run(["adopt", str(tmp_path / "m"), "-c", f"snapshot:{tmp_path / 'live.json'}", "--write"]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("Keep as the cluster has it?") == asked
    files = {path.stem for path in (tmp_path / "m").rglob("*.yaml")} - {"cluster"}
    assert files == set(kept)


_TWO = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: {name}, labels: {{env: {name}}}}}
spec: {{allowEveryoneIfNoAclFound: false, prune: [topics], scope: {{include: [{{topics: {{any: true}}}}]}}}}
---
"""
_TOPICS = """\
apiVersion: reconciler/v1
kind: Topics
metadata: {name: t}
spec:
  topics:
    - {name: a.one, partitions: 3, configs: {retention.ms: 1d}}
    - {name: a.two, partitions: 3, configs: {retention.ms: 1d}}
  overrides:
    - {clusters: {matchLabels: {env: prod}}, topics: [a.one], configs: {retention.ms: 7d}}
    - {clusters: {matchLabels: {env: prod}}, topics: [a.two, a.one], partitions: 6}
"""
_DAY = 86_400_000


@pytest.mark.parametrize(
    ("days", "partitions", "gone", "changed"),
    [
        (3, 6, (), ["    - {clusters: {matchLabels: {env: prod}}, topics: [a.one], configs: {retention.ms: 7d}}"]),
        (7, 12, (), ["    - {clusters: {matchLabels: {env: prod}}, topics: [a.two, a.one], partitions: 6}"]),
        (7, 6, ("a.one",), ["    - {name: a.one, partitions: 3, configs: {retention.ms: 1d}}"]),
        (7, 6, ("a.one", "a.two"), ["  overrides:"]),
    ],
)
def test_what_an_override_sets_or_names_is_adopted_there(
    days: int,
    partitions: int,
    gone: tuple[str, ...],
    changed: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The other cluster is declared as before: its topics have values of their own."""
    manifests, live = tmp_path / "m", tmp_path / "live.json"
    manifests.mkdir()
    both = _TWO.format(name="prod") + _TWO.format(name="dev")
    (manifests / "m.yaml").write_text(both + _TOPICS, encoding="utf-8")
    topics = (
        Topic("a.one", partitions, 1, {"retention.ms": str(days * _DAY)}),
        Topic("a.two", partitions, 1, {"retention.ms": str(_DAY)}),
    )
    state = ClusterState("demo", topics={one.name: one for one in topics if one.name not in gone})
    live.write_text(snapshot_text(state), encoding="utf-8")
    reach = ("-c", f"prod=snapshot:{live}")
    assert run(["adopt", str(manifests), *reach, "--all", "--write"]) == 0
    shown = capsys.readouterr()
    assert "not adopted" not in shown.err
    text = (manifests / "m.yaml").read_text(encoding="utf-8")
    for line in changed:
        assert line in _TOPICS
        assert line not in text
    assert run(["drift", str(manifests), *reach]) == 0


def test_an_override_of_several_topics_is_left_to_a_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only one of them differs: its line says which other would change, in the words of plans."""
    manifests, live = tmp_path / "m", tmp_path / "live.json"
    manifests.mkdir()
    (manifests / "m.yaml").write_text(_TWO.format(name="prod") + _TOPICS, encoding="utf-8")
    one, two = (Topic(f"a.{name}", count, 1, {"retention.ms": str(days * _DAY)}) for name, count, days in _ODD)
    live.write_text(snapshot_text(ClusterState("demo", topics={"a.one": one, "a.two": two})), encoding="utf-8")
    run(["adopt", str(manifests), "-c", f"prod=snapshot:{live}", "--all"])
    shown = capsys.readouterr()
    assert "not adopted: change partitions of a.one: prod: " in shown.err
    assert "Update(" not in shown.err


_ODD = (("one", 9, 7), ("two", 6, 1))


_LOST = "    - {name: a, partitions: 1}"
_OWN = "    - {name: a, partitions: 1, configs: {retention.ms: 1d}}"


@pytest.mark.parametrize(
    ("before", "configs", "after"),
    [
        (f"  defaults: {{configs: {{retention.ms: 1d}}}}\n  topics:\n{_LOST}", {}, f"  topics:\n{_LOST}"),
        (
            f"  defaults:\n    partitions: 3\n    configs: {{retention.ms: 1d}}\n  topics:\n{_LOST}",
            {},
            f"  defaults:\n    partitions: 3\n  topics:\n{_LOST}",
        ),
        (f"  topics:\n{_OWN}", {}, f"  topics:\n{_LOST}"),
        (
            f"  topics:\n{_OWN}",
            {"cleanup.policy": "compact"},
            f"  topics:\n{_OWN.replace('retention.ms: 1d', 'cleanup.policy: compact')}",
        ),
        (
            f"  topics:\n{_OWN.replace('partitions: 1', 'replicaAssignments: [[1, 2]]')}",
            {"retention.ms": str(2 * _DAY)},
            f"  topics:\n{_OWN.replace('partitions: 1', 'replicaAssignments: [[1, 2]]').replace('1d', '2d')}",
        ),
    ],
    ids=["all defaults go", "other defaults stay", "own configs go", "others come", "assignments stay"],
)
def test_configs_that_others_unset_or_set_leave_and_come_alone(
    before: str, configs: dict[str, str], after: str, tmp_path: Path
) -> None:
    manifests, live = tmp_path / "m", tmp_path / "live.json"
    manifests.mkdir()
    (manifests / "c.yaml").write_text(_TWO.format(name="prod").removesuffix("---\n"), encoding="utf-8")
    head = "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: t}\nspec:\n"
    (manifests / "t.yaml").write_text(f"{head}{before}\n", encoding="utf-8")
    topic = Topic("a", 1, 2, configs, replica_assignments=((1, 2),))
    live.write_text(snapshot_text(ClusterState("demo", topics={"a": topic})), encoding="utf-8")
    assert run(["adopt", str(manifests), "-c", f"prod=snapshot:{live}", "--all", "--write"]) == 0
    assert (manifests / "t.yaml").read_text(encoding="utf-8") == f"{head}{after}\n"


_QUOTAS = """\
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: q}
spec:
  quotas:
    - {user: same, limits: {producer_byte_rate: 1}}
    - {user: other, limits: {producer_byte_rate: 1}, reason: batch}
    - {user: back, absent: true}
    - {user: gone, limits: {producer_byte_rate: 1}}
"""
_ADOPTED = """\
    - {user: same, limits: {producer_byte_rate: 1}}
    - {user: other, limits: {producer_byte_rate: 2}, reason: batch}
    - {user: back, limits: {producer_byte_rate: 3}, reason: seen, ticket: T-1}
    - {user: new, limits: {producer_byte_rate: 4}, reason: seen, ticket: T-1}
"""


def test_only_what_is_new_gets_the_reason_that_is_given(tmp_path: Path) -> None:
    """What is declared already keeps its own; what was declared absent is new."""
    manifests, live = tmp_path / "m", tmp_path / "live.json"
    manifests.mkdir()
    cluster = _TWO.format(name="prod").removesuffix("---\n").replace("topics", "quotas", 1)
    cluster = cluster.replace("{topics: {any: true}}", "{principals: {any: true}}")
    (manifests / "c.yaml").write_text(cluster, encoding="utf-8")
    (manifests / "q.yaml").write_text(_QUOTAS, encoding="utf-8")
    there = {"same": 1.0, "other": 2.0, "back": 3.0, "new": 4.0}
    quotas = [ClientQuota(QuotaEntity.of(name), {"producer_byte_rate": rate}) for name, rate in there.items()]
    state = ClusterState("demo").with_listing(ClientQuota, Listing(frozenset(quotas)))
    live.write_text(snapshot_text(state), encoding="utf-8")
    said = ("--reason", "seen", "--ticket", "T-1")
    assert run(["adopt", str(manifests), "-c", f"prod=snapshot:{live}", "--all", "--write", *said]) == 0
    text = (manifests / "q.yaml").read_text(encoding="utf-8")
    assert text == _QUOTAS.partition("    - ")[0] + _ADOPTED


def test_a_difference_that_cannot_be_declared_is_the_status_of_the_command(tmp_path: Path) -> None:
    manifests, live = tmp_path / "m", tmp_path / "live.json"
    manifests.mkdir()
    (manifests / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    nobody = binding("User:a ALLOW READ on TOPIC orders from nowhere.example")
    for bindings, status in (([*LIVE, nobody], Exit.DIFFERENT), (LIVE, Exit.OK)):
        live.write_text(snapshot_text(ClusterState("demo", frozenset(bindings))), encoding="utf-8")
        assert run(["adopt", str(manifests), "-c", f"snapshot:{live}", "--all"]) == status


def test_one_difference_that_no_edit_makes_does_not_keep_the_others_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each half is tried by itself, down to the one, and each of those that are left says why."""
    manifests, live = tmp_path / "m", tmp_path / "live.json"
    manifests.mkdir()
    both = _TWO.format(name="prod") + _TWO.format(name="dev")
    (manifests / "m.yaml").write_text(both + _TOPICS, encoding="utf-8")
    one, two = (Topic(f"a.{name}", count, 1, {"retention.ms": str(days * _DAY)}) for name, count, days in _ODD)
    more = [Topic(f"b.{number}", 1, 1) for number in range(3)]
    state = ClusterState("demo", frozenset(LIVE), {topic.name: topic for topic in (one, two, *more)})
    live.write_text(snapshot_text(state), encoding="utf-8")
    status = run(["adopt", str(manifests), "-c", f"prod=snapshot:{live}", "--all", "--write"])
    shown = capsys.readouterr().err
    assert (status, shown.count("not adopted: ")) == (Exit.DIFFERENT, 1)
    assert "not adopted: change partitions of a.one: prod: " in shown
    assert "7 differences, 6 kept; a plan then finds 1" in shown
    texts = "".join(file.read_text(encoding="utf-8") for file in manifests.iterdir())
    assert [topic.name for topic in more if f"name: {topic.name}" not in texts] == []


def test_what_one_cluster_lacks_goes_there_and_stays_on_the_others(tmp_path: Path) -> None:
    manifests, live = tmp_path / "m", tmp_path / "live.json"
    manifests.mkdir()
    heads = (_TWO.format(name=name).replace("{topics:", "{principals:") for name in ("dev", "prod"))
    clusters = "".join(heads).replace("prune: [topics], ", "").removesuffix("---\n")
    (manifests / "c.yaml").write_text(clusters, encoding="utf-8")
    document = "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: %s}\nspec:\n"
    document += (
        "  clusters: {matchLabels: {env: %s}}\n  principal: User:a\n  rules:\n    - {allow: READ, topics: [%s]}\n"
    )
    for env in ("dev", "prod"):
        (manifests / f"{env}.yaml").write_text(document % (env, env, "orders, paid"), encoding="utf-8")
    live.write_text(snapshot_text(ClusterState("demo", frozenset(LIVE[:1]))), encoding="utf-8")
    assert run(["adopt", str(manifests), "-c", f"prod=snapshot:{live}", "--all", "--write"]) == 0
    assert (manifests / "dev.yaml").read_text(encoding="utf-8") == document % ("dev", "dev", "orders, paid")
    assert (manifests / "prod.yaml").read_text(encoding="utf-8") == document % ("prod", "prod", "orders")
