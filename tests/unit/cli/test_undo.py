"""Undo by the command line, on a snapshot: it sees what any other plan sees."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.app.options import PlanOptions
from reconciler.app.undo import undo
from reconciler.cli.main import run
from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicUse
from reconciler.plan.file import parse_plan, plan_id, plan_text
from reconciler.plan.review.access_change import DataOwners
from reconciler.policy.owners import Agreement
from reconciler.ports import Answer
from reconciler.snapshot.document import snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.plan_files import plan_id_of
from tests.worlds import binding, step_words

MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec:
  principal: User:us
  superUsers: [User:us]
  allowEveryoneIfNoAclFound: true
  ignoreConfigs: [compression.type]
  barrier: {wait: 1ms}
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: t}
spec:
  topics:
    - {name: kept, partitions: 1, replicationFactor: 1, configs: {compression.type: lz4}}
    - {name: born, partitions: 1, replicationFactor: 1}
    - {name: too, partitions: 1, replicationFactor: 1}
"""


@pytest.fixture
def applied(tmp_path: Path) -> Path:
    """A directory in which ``plan.json`` was applied to ``live.json``: a topic opened, one made, one altered."""
    live = ClusterState(
        "id",
        frozenset({binding("User:a ALLOW READ on TOPIC used"), binding("User:a ALLOW READ on TOPIC kept")}),
        {name: Topic(name, 1, 1, {}, f"id-{name}") for name in ("used", "kept")},
    )
    (tmp_path / "live.json").write_text(snapshot_text(live), encoding="utf-8")
    kept = "---\napiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n  principal: User:a\n"
    (tmp_path / "m.yaml").write_text(MANIFESTS + kept + "  rules: [{allow: READ, topics: [kept]}]\n", encoding="utf-8")
    cluster, saved = f"c=snapshot:{tmp_path / 'live.json'}", tmp_path / "plan.json"
    accept = ("--allow-deletes", "--accept", "open-by-default=TOPIC used")
    manifests = str(tmp_path / "m.yaml")
    assert run(["plan", manifests, "--cluster", cluster, *accept, "--out", str(saved)]) == 0
    assert run(["apply", str(saved), manifests, "--cluster", cluster, "--yes"]) == 0
    redirect(saved, cluster)
    return tmp_path


def redirect(saved: Path, cluster: str) -> None:
    """Undo goes where the plan says: to that name, here to the snapshot. The plan has another id then."""
    plan = parse_plan(saved.read_text(encoding="utf-8"))
    other = replace(plan, terms=replace(plan.terms, cluster=cluster))
    saved.write_text(plan_text(other), encoding="utf-8")
    journal = Path(f"{saved}.journal")
    journal.write_text(journal.read_text(encoding="utf-8").replace(plan_id(plan), plan_id(other)), encoding="utf-8")


def test_undo_sees_every_topic_and_what_the_manifests_leave_alone(
    applied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    asked = ["undo", str(applied / "plan.json"), str(applied / "m.yaml"), "--allow-deletes"]
    assert run([*asked, "--accept", "topic-delete=born", "--accept", "topic-delete=too"]) == 5
    told = capsys.readouterr().out
    assert told.splitlines()[-1].endswith(", 4 topics")
    assert "closed-by-default: the first binding on TOPIC used shuts out everyone else who uses it now" in told
    assert "compression.type: lz4 → broker default" in told, "whoever set it may take it back"
    assert "a snapshot does not say what a topic contains" in told, "whatever deletes a topic says what it holds"


def test_a_cluster_of_that_name_that_is_another_one_is_left_alone(
    applied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the run did elsewhere is no reason to delete anything here."""
    live = applied / "live.json"
    live.write_text(live.read_text(encoding="utf-8").replace('"id"', '"other"'), encoding="utf-8")
    asked = ["undo", str(applied / "plan.json"), str(applied / "m.yaml"), "--allow-deletes"]
    capsys.readouterr()
    assert run(asked) == 4
    assert "the plan is for cluster id, this is cluster other" in capsys.readouterr().err


def test_what_a_guard_refuses_stays_and_the_rest_is_undone(applied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, manifests = str(applied / "undo.json"), str(applied / "m.yaml")
    asked = ["undo", str(applied / "plan.json"), manifests, "--allow-deletes", "--out", out]
    assert run([*asked, "--accept", "closed-by-default=TOPIC used"]) == 5
    plan = parse_plan(Path(out).read_text("utf-8"))
    assert sorted(one.subject for one in plan.refused) == ["delete topic born", "delete topic too"]
    assert plan.steps
    capsys.readouterr()
    cluster = f"c=snapshot:{applied / 'live.json'}"
    _redirect_to(Path(out), "c")
    assert run(["apply", out, manifests, "--cluster", cluster, "--require-id", plan_id_of(out)]) == 5
    assert "2 changes refused, and not performed" in capsys.readouterr().out
    live = (applied / "live.json").read_text(encoding="utf-8")
    assert '"born"' in live
    assert "compression.type" not in live


def _redirect_to(saved: Path, cluster: str) -> None:
    plan = parse_plan(saved.read_text(encoding="utf-8"))
    saved.write_text(plan_text(replace(plan, terms=replace(plan.terms, cluster=cluster))), encoding="utf-8")


def test_one_word_that_names_their_number_is_enough_for_empty_topics_that_the_run_created(
    applied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["undo", str(applied / "plan.json"), str(applied / "m.yaml"), "--allow-deletes"]
    asked += ["--accept", "closed-by-default=TOPIC used"]
    written = dict.fromkeys(("born", "too"), 0)

    def uses(_: SnapshotCluster, names: Collection[str]) -> dict[str, TopicUse]:
        return {name: TopicUse(records=written[name], groups=(), written=written[name]) for name in names}

    monkeypatch.setattr(SnapshotCluster, "topic_uses", uses)
    capsys.readouterr()
    assert run(asked) == 5
    assert "topic-delete=created:2" in capsys.readouterr().out
    out = str(applied / "undo.json")
    assert run([*asked, "--accept", "topic-delete=created:3"]) == 5, "another number is another plan"
    assert run([*asked, "--accept", "topic-delete=created:2", "--out", out]) == 0
    assert {"born", "too"} <= {one.object for one in parse_plan(Path(out).read_text("utf-8")).accepted}
    written["too"] = 7
    where = ("--cluster", f"c=snapshot:{applied / 'live.json'}", "--require-id", plan_id_of(out))
    assert run(["apply", out, str(applied / "m.yaml"), *where]) == 1, "a record came after the undo was planned"
    told = capsys.readouterr()
    assert "topic too: it was empty when the plan was made, and 7 records were written since" in told.out + told.err
    capsys.readouterr()
    assert run([*asked, "--accept", "topic-delete=born"]) == 0
    assert "topic too stays: somebody has written to it since, 7 records" in capsys.readouterr().out


def test_a_forged_commit_does_not_steer_the_terminal(applied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = applied / "plan.json"
    plan = parse_plan(file.read_text(encoding="utf-8"))
    file.write_text(plan_text(replace(plan, source_commit="\x1b[2J")), encoding="utf-8")
    accept = ("--accept", "closed-by-default=TOPIC used")
    assert run(["undo", str(file), str(applied / "m.yaml"), *accept]) == 0
    told = capsys.readouterr().err
    assert "git revert" in told
    assert "\x1b" not in told


def test_what_a_broken_run_performed_is_undone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = binding("User:a ALLOW READ on TOPIC first"), binding("User:a ALLOW READ on TOPIC last")
    (tmp_path / "live.json").write_text(snapshot_text(ClusterState("id", frozenset({last}))), encoding="utf-8")
    rules = "---\napiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n  principal: User:a\n"
    cluster, saved, manifests = f"c=snapshot:{tmp_path / 'live.json'}", tmp_path / "plan.json", tmp_path / "m.yaml"
    text = MANIFESTS.partition("---\n")[0] + rules + "  rules: [{allow: READ, topics: [first]}]\n"
    manifests.write_text(text.replace("AclFound: true", "AclFound: false"), encoding="utf-8")
    assert run(["plan", str(manifests), "--cluster", cluster, "--allow-deletes", "--out", str(saved)]) == 0
    send, requests = SnapshotCluster.send, 0

    def broken(self: SnapshotCluster, changes: Sequence[Change]) -> list[Answer]:
        nonlocal requests
        requests += 1
        if requests == 2:
            raise TypeError("broken")
        return send(self, changes)

    with monkeypatch.context() as patched:
        patched.setattr(SnapshotCluster, "send", broken)
        capsys.readouterr()
        assert run(["apply", str(saved), str(manifests), "--cluster", cluster, "--yes"]) == 1
    told = capsys.readouterr().out
    assert "TypeError: broken" in told
    redirect(saved, cluster)
    assert run(["undo", str(saved), str(manifests), "--allow-deletes"]) == 0
    told = capsys.readouterr().out
    assert step_words(first) in told
    assert step_words(last) not in told, "it was never deleted"


def test_whose_data_is_given_back_and_whether_they_agree(tmp_path: Path) -> None:
    last = binding("User:a ALLOW READ on TOPIC last")
    (tmp_path / "live.json").write_text(snapshot_text(ClusterState("id", frozenset({last}))), encoding="utf-8")
    rules = "---\napiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n  principal: User:a\n"
    cluster, saved, manifests = f"c=snapshot:{tmp_path / 'live.json'}", tmp_path / "plan.json", tmp_path / "m.yaml"
    text = MANIFESTS.partition("---\n")[0].replace("AclFound: true", "AclFound: false") + rules
    manifests.write_text(f"{text}  rules: [{{allow: READ, topics: [first]}}]\n", encoding="utf-8")
    assert run(["plan", str(manifests), "--cluster", cluster, "--allow-deletes", "--out", str(saved)]) == 0
    assert run(["apply", str(saved), str(manifests), "--cluster", cluster, "--yes"]) == 0
    redirect(saved, cluster)
    owners = "---\napiVersion: reconciler/v1\nkind: Ownership\nmetadata: {name: o}\nspec:\n  owners:\n"
    owners += "    - {team: pay, files: [FILES], principals: ['User:a'], topics: [last]}\n"
    for files, topics, agreement in (
        ("pay.yaml", "first", Agreement.MISSING),
        ("m.yaml", "first", Agreement.MISSING),
        ("m.yaml", "first, last", Agreement.OWN),
    ):
        declared = f"{text}  rules: [{{allow: READ, topics: [{topics}]}}]\n{owners.replace('FILES', files)}"
        manifests.write_text(declared, encoding="utf-8")
        back = undo(str(saved), str(manifests), PlanOptions(allow_deletes=True))[0].plan
        rows = (
            row
            for row in back.access.access_changes
            if row.principal == "User:a" and row.resources.names.text == "last"
        )
        assert DataOwners(("pay",), agreement) in {row.owners for row in rows if row.gained}
