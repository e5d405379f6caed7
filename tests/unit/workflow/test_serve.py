"""Rounds of a server on snapshot files: what it does by itself, what it does not, and what stops it."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.app.apply import Unattended
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import WorkflowError
from reconciler.apply.audit import AUDIT
from reconciler.apply.barrier import start_probe_acls
from reconciler.apply.lease import marker
from reconciler.parts.serve.rounds import DirectorySource, ServeOptions, git_source, run_round
from tests.unit.workflow.serving import ACLS, DENIED, LIVE, OVER, STAYS, World, git
from tests.worlds import binding


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_only_what_expired_goes(world: World) -> None:
    """Neither what nobody declared, nor a DENY whose end would give access, nor what is out of scope."""
    found = world.round()
    assert found.failure == ""
    assert (found.revoked, found.waiting, found.held_back) == (1, 0, ())
    assert world.bindings() == LIVE - {OVER}
    assert world.round().revoked == 0, "nothing is left to do"


def test_without_act_it_only_looks(world: World) -> None:
    found = world.round(act=False)
    assert (found.revoked, found.waiting) == (0, 1)
    assert found.drift is not None
    assert len(found.drift.steps) == 3
    assert world.bindings() == LIVE


@pytest.mark.parametrize("broken", ["kind: [", ACLS.replace("allow: READ", "allow: REED")])
def test_manifests_that_cannot_be_read_end_nothing(world: World, broken: str) -> None:
    world.declare(broken)
    found = world.round()
    assert "problem" in found.failure
    assert world.bindings() == LIVE


@pytest.mark.parametrize("advice", ["", "fetch it first"])
def test_what_to_do_about_a_failure_is_kept(world: World, advice: str) -> None:
    class Unreadable(DirectorySource):
        def checkout(self) -> Any:
            raise WorkflowError("no such\n  commit", advice)

    found = world.round(source=Unreadable(str(world.manifests)))
    assert (found.failure, found.advice) == ("no such commit", advice)


def test_a_cluster_that_cannot_be_read_loses_nothing(world: World) -> None:
    world.snapshot.write_text("{}", encoding="utf-8")
    assert "snapshot" in world.round().failure


def test_a_clock_that_is_not_believed_ends_nothing(world: World) -> None:
    found = world.round(doubt="the clock was set")
    assert found.held_back == ("the clock was set",)
    assert found.waiting == 1
    assert world.round(act=False, doubt="the clock was set").held_back == (), "where nothing would end, nothing waits"
    assert world.bindings() == LIVE


@pytest.mark.parametrize("default", ["true", None])
def test_the_last_binding_of_a_pattern_stays_where_that_may_open_it(world: World, default: str | None) -> None:
    """Under default-allow the end of one ALLOW would let everybody in: that is no narrowing."""
    text = "DEFAULT" if default is None else default
    world.declare(default=text)
    if default is None:
        file = world.manifests / "all.yaml"
        unstated = file.read_text(encoding="utf-8").replace("  allowEveryoneIfNoAclFound: DEFAULT\n", "")
        file.write_text(unstated, encoding="utf-8")
    world.live(frozenset({OVER, DENIED}))
    found = world.round()
    assert found.revoked == 0
    assert found.held_back
    assert world.bindings() == {OVER, DENIED}


def test_a_guard_holds_here_too(world: World) -> None:
    file = world.manifests / "all.yaml"
    protected = "  protect: [{topics: [team.orders]}]\n---\n"
    file.write_text(file.read_text(encoding="utf-8").replace("---\n", protected, 1), encoding="utf-8")
    found = world.round()
    assert found.revoked == 0
    assert "protected" in found.held_back[0]
    assert world.bindings() == LIVE


@pytest.mark.parametrize("why", ["opens", "protected"])
def test_what_has_to_stay_does_not_hold_up_the_rest(world: World, why: str) -> None:
    """Whoever can merge one expired rule would else prolong what others were given."""
    alone = binding("User:svc ALLOW READ on TOPIC team.alone")
    rule = "    - {allow: READ, topics: [team.alone], expires: 2026-01-31}\n"
    world.declare(ACLS + rule, default="DEFAULT" if why == "opens" else "false")
    file = world.manifests / "all.yaml"
    text = file.read_text(encoding="utf-8").replace("  allowEveryoneIfNoAclFound: DEFAULT\n", "")
    if why == "protected":
        text = text.replace("---\n", "  protect: [{topics: [team.alone]}]\n---\n", 1)
    file.write_text(text, encoding="utf-8")
    others = frozenset({binding("User:eve ALLOW READ on TOPIC team.alone")} if why == "protected" else ())
    world.live(LIVE | {alone} | others)
    found = world.round()
    assert (found.revoked, found.waiting) == (1, 1)
    (said,) = found.held_back
    assert said.startswith("1 expired binding stays: ")
    assert ("default-allow may open" if why == "opens" else "protected: ") in said
    assert world.bindings() == LIVE - {OVER} | {alone} | others


def test_many_that_have_to_stay_do_not_hide_the_rest(world: World) -> None:
    """However they are named: more than one round can judge, and before all others in any order of names."""
    kept = [binding(f"User:svc ALLOW READ on TOPIC team.a{number:02}") for number in range(20)]
    over = [binding(f"User:svc ALLOW READ on TOPIC team.z{number:02}") for number in range(20)]
    others = frozenset(binding(f"User:eve ALLOW READ on TOPIC {one.pattern.name}") for one in (*kept, *over))
    topics = ", ".join(one.pattern.name for one in (*kept, *over))
    world.declare(ACLS + f"    - {{allow: READ, topics: [{topics}], expires: 2026-01-31}}\n")
    file = world.manifests / "all.yaml"
    rules = "  protect: [{topics: {prefix: team.a}}]\n  deleteLimits: {maxDeletes: 1000, maxDeletePercent: 100}\n---\n"
    file.write_text(file.read_text(encoding="utf-8").replace("---\n", rules, 1), encoding="utf-8")
    world.live(LIVE | others | {*kept, *over})
    for _ in range(60):
        if world.round().waiting == len(kept):
            break
    assert world.bindings() == LIVE - {OVER} | others | set(kept)


def test_a_limit_on_deletions_holds_all_of_them(world: World) -> None:
    """A part that a limit lets pass would lead round it."""
    many = [binding(f"User:svc ALLOW READ on TOPIC team.t{number}") for number in range(3)]
    topics = ", ".join(one.pattern.name for one in many)
    world.declare(ACLS + f"    - {{allow: READ, topics: [{topics}], expires: 2026-01-31}}\n")
    file = world.manifests / "all.yaml"
    limited = "  deleteLimits: {maxDeletes: 2}\n---\n"
    file.write_text(file.read_text(encoding="utf-8").replace("---\n", limited, 1), encoding="utf-8")
    world.live(LIVE | frozenset(many))
    found = world.round()
    assert (found.revoked, found.waiting) == (0, 4)
    assert found.held_back[0].startswith("4 expired bindings stay: limit: ")
    assert world.bindings() == LIVE | frozenset(many)


@pytest.mark.parametrize(("holder", "revoked"), [("me", 1), ("somebody", 0)])
def test_a_lease_of_a_server_that_was_killed_does_not_hold_up_the_next_one(
    world: World, holder: str, revoked: int
) -> None:
    """The server is ``me``: it was killed while it held the lease. Whoever else holds it is at work."""
    until = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(seconds=150)
    held = marker(holder, "20261123T000000Z-dead", until)
    world.live(LIVE | {held})
    found = world.round()
    assert found.revoked == revoked, found.held_back
    assert world.bindings() == (LIVE - {OVER} if revoked else LIVE | {held})
    assert any("holds the lease" in one for one in found.held_back) is not bool(revoked)


def test_what_a_dead_run_left_goes_unless_it_is_a_bridge(world: World) -> None:
    dead = frozenset(start_probe_acls("20260101T000000Z-dead", "User:acl-probe"))
    young = frozenset(start_probe_acls(f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}-young", "User:acl-probe"))
    world.live(frozenset({STAYS}) | dead | young)
    found = world.round()
    assert found.removed == len(dead)
    assert world.bindings() == {STAYS} | young


def test_what_is_removed_of_a_dead_run_is_audited_or_stays(world: World, tmp_path: Path) -> None:
    dead = frozenset(start_probe_acls("20260101T000000Z-dead", "User:acl-probe"))
    world.live(frozenset({STAYS}) | dead)
    stays = world.round(audit=str(tmp_path / "away" / "audit.jsonl"))
    assert (stays.removed, world.bindings() == {STAYS} | dead) == (0, True)
    assert any("what dead runs left stays" in one for one in stays.held_back)
    log = tmp_path / "audit.jsonl"
    assert world.round(audit=str(log)).removed == len(dead)
    lines: list[Any] = [AUDIT.read(json.loads(line)).content for line in log.read_text(encoding="utf-8").splitlines()]
    assert [(one.action, set(one.bindings)) for one in lines] == [("remove", set(dead)), ("left", set())]


def test_a_reference_in_git_is_what_counts(world: World) -> None:
    """The files on disk may be anybody's work in progress; the branch is what was merged."""
    git(world.manifests, "init", "-q", "-b", "main")
    git(world.manifests, "add", ".")
    git(world.manifests, "commit", "-q", "-m", "declare")
    world.declare(ACLS.replace("2026-11-01", "2020-01-01").replace("allow: READ,", "allow: READ, expires: 2020-01-01,"))
    source = git_source(str(world.manifests), "refs/heads/main", None)
    found = world.round(source=source)
    assert world.bindings() == LIVE - {OVER}, "what is merely on disk ends nothing"
    assert found.drift is not None
    assert len(found.drift.source_commit or "") == 40
    assert "no/branch" in world.round(source=git_source(str(world.manifests), "refs/heads/no/branch", None)).failure


def test_a_server_asks_the_owners_of_its_base_too(world: World, tmp_path: Path) -> None:
    """The attacker's merge drops the Ownership document and declares an end of another team's access."""
    base = tmp_path / "base"
    base.mkdir()
    text = (world.manifests / "all.yaml").read_text(encoding="utf-8")
    owner = "{team: ledger, files: ledger.yaml, principals: ['User:svc'], topics: {prefix: team.}}"
    rules = f"---\napiVersion: reconciler/v1\nkind: Ownership\nmetadata: {{name: o}}\nspec: {{owners: [{owner}]}}\n"
    (base / "all.yaml").write_text(text + rules, encoding="utf-8")
    options = ServeOptions(world.cluster, act=True, guardrails=str(base))
    found = run_round(DirectorySource(str(world.manifests)), options, ConnectionOptions(), Unattended())
    assert (found.revoked, OVER in world.bindings()) == (0, True)
    assert any("may not declare it (Ownership)" in one for one in found.held_back)
    assert world.round().revoked == 1, "without a base"


@pytest.mark.parametrize("cluster", ["prod", "prod=snapshot:live.json"])
def test_rounds_are_called_by_the_name_of_the_cluster(cluster: str) -> None:
    assert ServeOptions(cluster).name == "prod"
