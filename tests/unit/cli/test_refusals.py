"""Every reason not to perform a plan, by the command line, on a snapshot: its status, its words, and nothing sent."""

import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Plan
from reconciler.plan.refusal import Guard, Judges
from reconciler.snapshot.document import snapshot_text
from tests.worlds import binding

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec:
  principal: User:us
  interBrokerPrincipals: [User:broker]
  allowEveryoneIfNoAclFound: false
  barrier: {wait: 10ms}
"""
OPERATOR = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false}
"""
OPERATORS = ("--connections", "operator.yaml")
RULES = "---\napiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: %s}\nspec:\n  principal: %s\n  rules:\n"
TOPICS = "---\napiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: t}\nspec:\n  topics:\n"
LIVE = ("User:a ALLOW READ on TOPIC old", "User:a DENY READ on TOPIC pay.secret")
TOPIC = Topic("grows", 1, 1, {"retention.ms": "1000"}, "id-grows")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str


@dataclass
class Place:
    """Manifests, and snapshots that stand for clusters, in one directory."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def write(self, text: str, facts: str = "") -> None:
        (self.root / "m" / "all.yaml").write_text(CLUSTER + facts + text)

    def open_by_default(self) -> None:
        for file in (self.root / "m" / "all.yaml", self.root / "operator.yaml"):
            file.write_text(file.read_text().replace("NoAclFound: false", "NoAclFound: true"))

    def live(self, *texts: str, topics: Sequence[Topic] = (TOPIC,), name: str = "live", cluster: str = "id") -> None:
        state = ClusterState(cluster, frozenset(map(binding, texts)), {topic.name: topic for topic in topics})
        (self.root / f"{name}.json").write_text(snapshot_text(state))

    def run(self, *words: str) -> Ended:
        self.capsys.readouterr()
        status = run(list(words))
        shown = self.capsys.readouterr()
        return Ended(status, shown.out, shown.err)

    def plan(self, *more: str, live: str = "live", out: str = "plan.json") -> Ended:
        cluster = f"c=snapshot:{live}.json"
        return self.run(
            "plan", "m", "--cluster", cluster, "--allow-deletes", "--expand", "--out", out, *OPERATORS, *more
        )

    def apply(self, *more: str, live: str = "live", plan: str = "plan.json") -> Ended:
        return self.run("apply", plan, "m", "--cluster", f"c=snapshot:{live}.json", "--yes", *OPERATORS, *more)

    def altered(self, change: Callable[[Plan], Plan]) -> None:
        """A plan that was changed by somebody who knows how its digest and its ids are made."""
        file = self.root / "plan.json"
        file.write_text(plan_text(change(parse_plan(file.read_text()))))

    def assert_refused(self, status: int, *words: str, live: str = "live") -> None:
        before = (self.root / f"{live}.json").read_bytes()
        ended = self.apply(live=live)
        assert ended.status == status, ended.err
        for word in words:
            assert word in ended.err
        assert (self.root / f"{live}.json").read_bytes() == before
        assert not (self.root / "plan.json.journal").exists(), "nothing was begun"


WISH = (
    RULES % ("a", "User:a")
    + "    - {allow: READ, topics: {prefix: pay.}}\n    - {deny: READ, topics: [pay.secret]}\n"
    + TOPICS
    + "    - {name: grows, partitions: 3, configs: {retention.ms: 2s}}\n"
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Place:
    """A saved plan that can be applied."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "m").mkdir()
    (tmp_path / "operator.yaml").write_text(OPERATOR)
    found = Place(tmp_path, capsys)
    found.write(WISH)
    found.live(*LIVE)
    planned = found.plan()
    assert planned.status == 0, planned.err
    return found


def test_the_plan_as_it_is_can_be_applied(place: Place) -> None:
    first = place.apply()
    assert first.status == 0
    assert "All of it: reconciler show plan.json" in first.err
    assert "1. create" not in first.err, "the plan was printed when it was made"
    assert "1. create" in place.apply("--expand").err
    again = place.apply()
    assert again.status == 0
    assert "4 already" in again.out


def test_a_saved_plan_alone_is_performed_on_the_manifests_of_this_directory(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.root / "m")
    alone = ["apply", "../plan.json", "--cluster", "c=snapshot:../live.json", "--yes"]
    alone += ["--connections", "../operator.yaml"]
    ended = place.run(*alone, "--allow-deletes")
    assert (ended.status, "performed as it was reviewed" in ended.err) == (64, True)
    ended = place.run(*alone)
    assert ended.status == 0, ended.err
    assert "4 done" in ended.out


@pytest.mark.parametrize("fresh", [True, False])
def test_nothing_to_do_is_a_document_too(place: Place, fresh: bool) -> None:
    assert place.apply().status == 0
    assert place.plan(out="nothing.json").status == 0
    saved = () if fresh else ("nothing.json",)
    ended = place.run("apply", *saved, "m", "--cluster", "c=snapshot:live.json", "--yes", "--output", "json")
    assert ended.status == 0
    told = json.loads(ended.out)
    assert (told["succeeded"], told["verified"], told["steps"]) == (True, True, [])


def test_a_changed_byte(place: Place) -> None:
    file = place.root / "plan.json"
    file.write_text(file.read_text().replace("User:a", "User:b", 1))
    place.assert_refused(4, "the file was altered")


def test_another_cluster(place: Place) -> None:
    place.live(*LIVE, name="other", cluster="another")
    place.assert_refused(4, "the plan is for cluster id, this is cluster another", live="other")


def test_steps_of_another_phase(place: Place) -> None:
    def early(plan: Plan) -> Plan:
        first = replace(plan.steps[-1], phase=Phase.CREATE_DENY)
        return replace(plan, steps=(first, *plan.steps[:-1]))

    place.altered(early)
    place.assert_refused(4, "not in the order that is safe")


def test_steps_in_another_order_in_the_file(place: Place) -> None:
    place.altered(lambda plan: replace(plan, steps=plan.steps[::-1]))
    place.assert_refused(4, "illegal order")


def test_a_topic_that_somebody_changed(place: Place) -> None:
    place.live(*LIVE, topics=[replace(TOPIC, num_partitions=2, configs={"retention.ms": "1500"})])
    place.assert_refused(
        4,
        "topic grows: expected 1 partitions, found 2 partitions",
        "topic grows: expected retention.ms=1000, found retention.ms=1500",
        "plan again; nothing was sent",
    )


def test_a_topic_that_was_made_anew(place: Place) -> None:
    place.live(*LIVE, topics=[replace(TOPIC, topic_id="id-new")])
    place.assert_refused(4, "topic grows: expected id id-grows, found another topic of that name, id id-new")


def test_a_grant_that_nobody_reviewed(place: Place) -> None:
    """The DENY that made the grant harmless is somebody else's, and went."""
    ignored = "  ignore: [{topics: [pay.secret]}]\n"
    place.write((RULES % ("a", "User:a")) + "    - {allow: READ, topics: {prefix: pay.}}\n", ignored)
    place.live(*LIVE)
    assert place.plan().status == 0
    place.live(LIVE[0])
    place.assert_refused(4, "would now grant access that was not reviewed", "User:a on", "such as pay.")


def test_a_binding_that_left_the_scope(place: Place) -> None:
    place.write(WISH, "  scope: {include: [{topics: {prefix: other.}}, {topics: [grows]}]}\n".replace("other.", "pay."))
    place.assert_refused(4, "the cluster's scope does not include", "TOPIC old: expected inside")


def test_a_topic_that_left_the_scope(place: Place) -> None:
    place.write(WISH.partition(TOPICS)[0], "  scope: {exclude: [{topics: [grows]}]}\n")
    place.assert_refused(4, "the cluster's scope does not include", "topic grows: expected inside")


def test_what_others_did_elsewhere_does_not_matter(place: Place) -> None:
    place.live(*LIVE, "User:b ALLOW READ on TOPIC elsewhere", topics=[TOPIC, Topic("more", 1, 1)])
    assert place.apply().status == 0


def test_what_somebody_did_already_is_recognised(place: Place) -> None:
    place.live(LIVE[1], topics=[replace(TOPIC, num_partitions=3)])
    ended = place.apply("--output", "json")
    assert ended.status == 0, ended.err
    assert {step["action"]: step["outcome"] for step in json.loads(ended.out)["steps"]} == {
        "CreateAcl": "done",
        "CreatePartitions": "already",
        "AlterConfigs": "done",
        "DeleteAcl": "already",
    }


def test_how_long_to_wait_is_the_declaration_s_word(place: Place) -> None:
    place.altered(lambda plan: replace(plan, terms=replace(plan.terms, barrier_wait=999.0, default_allow=True)))
    ended = place.apply()
    assert ended.status == 0, ended.err
    assert "waiting 0.01 s" in ended.err


@pytest.mark.parametrize("text", ["", "{}", "no plan", "\x00", "[" * 200_000])
def test_what_is_no_plan(place: Place, text: str) -> None:
    (place.root / "plan.json").write_text(text)
    place.assert_refused(4, "error: plan.json: ")


def _id(ended: Ended, kind: str) -> str:
    found = re.search(rf"\b{kind}-[0-9a-f]{{64}}\b", ended.out + ended.err)
    assert found is not None
    return found[0]


def test_only_the_plan_of_the_required_id(place: Place) -> None:
    planned = place.plan()
    documented = place.run("show", "plan.json", "--output", "json")
    ids = [_id(documented, "change"), _id(planned, "plan"), _id(place.run("show", "plan.json"), "file")]
    for kind in ("change", "plan", "file"):
        wrong = place.apply("--require-id", f"{kind}-{'0' * 64}")
        assert wrong.status == 4
        for known in ids:
            assert known in wrong.err
    for known in ids:
        place.live(*LIVE)
        assert place.apply("--require-id", known).status == 0, known


@pytest.mark.parametrize("ci", [False, True])
def test_a_person_may_write_the_beginning_of_an_id_and_a_pipeline_all_of_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, *, ci: bool
) -> None:
    known = _id(place.plan(), "plan")
    if ci:
        monkeypatch.setenv("CI", "true")
    short = known[: len("plan-") + 8]
    other = f"{short[:-1]}{'0' if short[-1] != '0' else '1'}"
    assert place.apply("--require-id", other).status == (64 if ci else 4)
    for wrong in (known[:-60], known.replace("plan-", "fleet-"), known[5:], f"{known}0", "plan-"):
        assert place.apply("--require-id", wrong).status == 64, wrong
    assert place.apply("--require-id", short).status == (64 if ci else 0)


def test_clusters_in_the_same_state_are_approved_by_one_change_id(place: Place) -> None:
    place.live(*LIVE, name="two", cluster="two")
    place.plan(), place.plan(live="two", out="two-plan.json")
    one, two = (place.run("show", file, "--output", "json") for file in ("plan.json", "two-plan.json"))
    assert _id(one, "change") == _id(two, "change")
    assert _id(one, "plan") != _id(two, "plan")
    approved = _id(one, "change")
    assert place.apply("--require-id", _id(one, "plan"), live="two", plan="two-plan.json").status == 4
    assert place.apply("--require-id", approved).status == 0
    assert place.apply("--require-id", approved, live="two", plan="two-plan.json").status == 0
    place.live(*LIVE, "User:a ALLOW READ on TOPIC older", name="three", cluster="three")
    place.plan(live="three", out="three-plan.json")
    three = place.run("show", "three-plan.json", "--output", "json")
    assert _id(three, "change") != approved


OLD = "User:a ALLOW READ on TOPIC old"
KEPT = (RULES % ("k", "User:k")) + "    - {allow: READ, topics: [kept]}\n"
OURS = "User:us ALLOW ALL on CLUSTER kafka-cluster"
GUARDED: dict[Guard, tuple[str, str, tuple[str, ...], tuple[Topic, ...]]] = {
    Guard.TOPIC_DELETE: ("", KEPT + TOPICS + "    - {name: gone, absent: true}\n", (), (Topic("gone", 1, 1),)),
    Guard.DATA_LOSS: ("", KEPT + TOPICS + "    - {name: grows, configs: {retention.ms: 1ms}}\n", (), (TOPIC,)),
    Guard.LIMIT: ("  deleteLimits: {maxDeletes: 0}\n", KEPT, (OLD,), ()),
    Guard.EMPTY_DESIRED: ("", "", (OLD,), ()),
    Guard.LOCKOUT: ("", KEPT, (OURS,), ()),
    Guard.PROTECTED: ("  protect: [{topics: [old]}]\n", KEPT, (OLD,), ()),
    Guard.CLUSTER_ALTER: ("", KEPT + "    - {allow: ALTER, cluster: true}\n", (), ()),
    Guard.BROKEN_BINDING: ("  ignore: [{topics: [odd]}]\n", KEPT, ("nobody ALLOW READ on TOPIC odd",), ()),
}


@pytest.mark.parametrize("guard", GUARDED)
def test_a_guard_refuses_until_its_object_is_named(place: Place, guard: Guard) -> None:
    facts, wish, live, topics = GUARDED[guard]
    place.write(wish, facts)
    place.live(*live, topics=topics)
    planned = place.plan()
    assert planned.status == 5
    refused = planned.out.partition("\nRefused (")[2]
    assert set(re.findall(r"^  ([a-z-]+): ", refused, re.MULTILINE)) == {str(guard)}, planned.out
    before = (place.root / "live.json").read_bytes()
    fresh = ["apply", "m", "--cluster", "snapshot:live.json", "--yes", "--allow-deletes", *OPERATORS]
    ended = place.run(*fresh)
    assert ended.status == 5
    if guard.judges is Judges.PLAN:
        assert (place.root / "live.json").read_bytes() == before
    else:
        assert "User:k" in (place.root / "live.json").read_text(), "the rest is done"
        assert "1 change refused, and not performed" in ended.out
        assert place.plan().status == 5
        assert place.plan("--detailed-exitcode").status == 5
        assert place.run(*fresh).status == 5, "as long as something is refused"
        place.live(*live, topics=topics)
    asked = re.findall(r"--accept \S.*$", planned.out, re.MULTILINE)
    assert place.run(*fresh, "--accept", f"{guard}=somebody else").status == 5, "no word lifts another object"
    assert place.run(*fresh, *(word for one in asked for word in shlex.split(one))).status == 0


@pytest.mark.parametrize("guard", GUARDED)
def test_an_exception_that_ended_since_the_plan_lets_nothing_pass(place: Place, guard: Guard) -> None:
    """Declared until a day, planned before it, applied after it; what a person accepted for this plan has no end."""
    facts, wish, live, topics = GUARDED[guard]
    place.write(wish, facts)
    place.live(*live, topics=topics)
    asked = re.findall(r"--accept (\S.*)$", place.plan().out, re.MULTILINE)
    named = [word.partition("=") for one in asked for word in shlex.split(one)]
    items = [
        f"{{check: {name}, object: {json.dumps(thing)}, reason: for a while, expires: 2026-01-31}}"
        for name, _, thing in named
    ]
    place.write(wish, f"{facts}  exceptions: [{', '.join(items)}]\n")
    planned = place.plan("--as-of", "2026-01-30")
    assert planned.status == 0, planned.out
    assert "`for a while`, until 2026-01-31" in planned.out
    place.assert_refused(5, f"{guard}: ", "its exception expired after 2026-01-31")


def test_a_listing_that_is_empty_where_it_was_not_is_no_reason_to_go_on(place: Place) -> None:
    place.live(OLD, name="baseline")
    place.live(topics=())
    place.write(KEPT)
    refused = place.plan("--baseline", "baseline.json")
    assert refused.status == 5
    assert "empty-live" in refused.out


def test_opening_by_default_is_named(place: Place) -> None:
    place.write(KEPT)
    place.open_by_default()
    place.live(OLD, "User:k ALLOW READ on TOPIC kept", topics=())
    refused = place.plan()
    assert refused.status == 5
    assert "open-by-default: the last binding on TOPIC old goes" in refused.out


def test_closing_what_somebody_may_use(place: Place) -> None:
    """A topic that exists and a group of which nothing is known; not a name that nobody can have used."""
    place.write(
        (RULES % ("a", "User:a") + "    - {allow: READ, topics: [grows, nobody.s], groups: [g]}\n"),
        "  scope: {include: [{topics: {any: true}}, {groups: {any: true}}]}\n",
    )
    place.open_by_default()
    place.live()
    refused = place.plan()
    assert refused.status == 5
    assert "closed-by-default: the first binding on TOPIC grows shuts out everyone else" in refused.out
    assert "nobody.s shuts out" not in refused.out
    accepted = place.plan("--accept", "closed-by-default=TOPIC grows", "--accept", "closed-by-default=GROUP g")
    assert accepted.status == 0, accepted.out


def test_every_guard_is_tripped_here() -> None:
    tried_above = {Guard.EMPTY_LIVE, Guard.OPEN_BY_DEFAULT, Guard.CLOSED_BY_DEFAULT}
    # A snapshot knows no racks and takes no passwords: tests/unit/apply/test_moving.py, tests/unit/plan/test_users.py.
    # The limits of logins have a table of their own: tests/unit/plan/test_quotas.py.
    elsewhere = {Guard.REPLICA_MOVE, Guard.USER_ENABLE, Guard.LOGIN_LIMIT, Guard.UNLOCK}
    assert set(Guard) == {*GUARDED, *tried_above, *elsewhere}


def test_a_grant_that_has_expired_since_is_not_made(place: Place) -> None:
    """Planned while it was wanted, applied when the manifests want it no more; what is done by then is no reason."""
    place.write(RULES % ("a", "User:a") + "    - {allow: READ, topics: [brief], expires: 2026-01-31}\n")
    place.live()
    planned = place.plan("--as-of", "2026-01-30")
    assert "[grant]  until 2026-01-31  " in planned.out
    place.assert_refused(
        4,
        "create User:a ALLOW READ on TOPIC brief: expected a grant that still holds, found one that ended",
    )
    place.live("User:a ALLOW READ on TOPIC brief")
    assert place.apply().status == 0
