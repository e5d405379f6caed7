"""Each case of ``*.yaml`` beside this, run as a person would: manifests, a cluster, commands, and what they come to."""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from reconciler.cli.main import run
from reconciler.kafka.cluster import KafkaCluster
from reconciler.model.acl import AclBinding
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus, ReadRequest
from reconciler.snapshot.document import BrokerFacts, parse_snapshot, snapshot_text
from tests.integration.main_job import connections_file, password_file
from tests.prepared import search_path
from tests.reports.cases import AREAS, PAGE, Case, read_cases, refreshed, spread
from tests.shared_brokers import EVERYTHING, await_topics, clear, opened
from tests.verbs import creations
from tests.worlds import binding

CASES: Final = read_cases()
#: Of what a case declares in a file of its own, where no other kind is.
_KINDS: Final = {"acls", "cluster", "quotas", "topics", "users"}
_DAY: Final = "2026-11-22"
#: Commands of the shell find the project, and git knows who commits.
_SHELL: Final = {
    "PROJECT": str(Path(__file__).parents[2]),
    **{f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def named(case: Case) -> str:
    return f"{case.source}: {case.situation[:60]}"


@pytest.mark.parametrize("case", [case for case in CASES if not case.on_broker], ids=named)
def test_on_a_snapshot(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    brokers = case.given.get("brokers")
    state = live_state(case.given.get("live") or {})
    facts = BrokerFacts(broker_ids=tuple(brokers) if brokers else None)
    Path("live.json").write_text(snapshot_text(state, facts), encoding="utf-8")
    write_files(case, {})
    Path("connections.yaml").write_text(
        "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\n"
        "spec: {allowEveryoneIfNoAclFound: false, barrier: {wait: 100ms}}\n",
        encoding="utf-8",
    )
    play(
        case,
        "c=snapshot:live.json",
        lambda _: parse_snapshot(Path("live.json").read_text(encoding="utf-8")),
        capsys,
    )


@pytest.fixture(scope="module")
def admin(broker: Sandbox) -> Iterator[KafkaCluster]:
    with opened(broker) as cluster:
        yield cluster


@pytest.mark.broker
@pytest.mark.parametrize("case", [case for case in CASES if case.on_broker], ids=named)
def test_on_a_broker(
    case: Case,
    broker: Sandbox,
    admin: KafkaCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for key, value in case.given.get("env", {}).items():
        monkeypatch.setenv(key, value)
    for user in ("admin", "bob"):
        password_file(tmp_path, user, broker.users[user])
    write_files(case, {"BOOTSTRAP": broker.bootstrap, "SECRETS": str(tmp_path / "secrets")})
    connections = connections_file(tmp_path / "connections.yaml", broker, "admin", name="c")
    with connections.open("a", encoding="utf-8") as file:
        more = {"superUsers": ["User:admin", "User:reconciler"], "allowEveryoneIfNoAclFound": False}
        more |= {"principal": "User:admin", "barrier": {"wait": "100ms"}, **case.given.get("operator", {})}
        file.write("".join(f"  {line}\n" for line in yaml.safe_dump(more).splitlines()))
    made = EVERYTHING
    try:
        make(admin, case.given.get("live") or {})
        play(case, "c", lambda kinds: without_own(admin.read(reading(kinds)), broker), capsys)
        made = makes(case)
    finally:
        clear(broker, admin, made)


def reading(kinds: Collection[str]) -> ReadRequest:
    """What is read of the kinds that a case calls so, and no other: each is a process of its own."""
    listings = [kind.KIND for name, kind in (("quotas", ClientQuota), ("users", ScramUser)) if name in kinds]
    return ReadRequest(acls="bindings" in kinds, all_topics="topics" in kinds, listings=listings)


def makes(case: Case) -> ReadRequest:
    """What a case can leave on a broker."""
    given = case.given
    files = given.get("files", {})
    declared = {kind.lower() for text in files.values() for kind in re.findall(r"kind: *(\w+)", text)}
    if any(name.startswith("manifests/") and "kind:" not in text for name, text in files.items()):
        return EVERYTHING
    # Topics go with every case: some commands make one, and a listing of them costs no process.
    kinds = {"topics", *given, *(given.get("live") or {}), *declared}
    if "acls" in kinds:
        kinds.add("bindings")
    return EVERYTHING if declared - _KINDS or "groups" in kinds else reading(kinds)


def play(
    case: Case, cluster: str, live: Callable[[Collection[str]], ClusterState], capsys: pytest.CaptureFixture[str]
) -> None:
    """Take each step of a case, and compare what comes of it."""
    where = f"manifests --cluster {cluster} --connections connections.yaml"
    for step in case.expect:
        if "live" in step:
            compare(live(step["live"].keys()), step["live"])
            continue
        if "sh" in step:
            command = ["bash", "-eu", "-c", step["sh"]]
            shell = os.environ | _SHELL | {"PATH": search_path()}
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=shell, check=False)
            status, heard = done.returncode, done.stdout + done.stderr
        else:
            words = shlex.split(step["run"].replace("CLUSTER", where))
            # A broker is read as it is now; what expires is judged on a snapshot.
            takes_a_day = not case.on_broker and words[0] in ("plan", "drift", "validate", "lint", "test")
            capsys.readouterr()
            status = run([*words, *(["--as-of", _DAY] if takes_a_day else [])])
            shown = capsys.readouterr()
            heard = shown.out + shown.err
        # As one line too, because a terminal's width decides where a message is broken.
        flat = f"{heard}\n{' '.join(heard.split())}"
        assert [text for text in step.get("says", ()) if text not in flat] == [], heard
        assert [text for text in step.get("never", ()) if text in flat] == [], heard
        assert status == step.get("exit", 0), heard


def write_files(case: Case, placeholders: Mapping[str, str]) -> None:
    """The manifests of a case, and its other files."""
    given = case.given
    # Like Kafka's own defaults: nothing is refused in a case that is not about it.
    documents: list[tuple[str, Any]] = [("Cluster", given.get("cluster", {}))]
    documents += [("Acls", {"principal": who, "rules": rules}) for who, rules in given.get("acls", {}).items()]
    for kind in ("topics", "quotas", "users", "groups"):
        if kind in given:
            documents.append((kind.capitalize(), {kind: list(spread(given[kind]))}))
    manifests = [
        {"apiVersion": "reconciler/v1", "kind": kind, "metadata": {"name": "c" if kind == "Cluster" else f"d{number}"}}
        | {"spec": spec}
        for number, (kind, spec) in enumerate(documents)
    ]
    files = {"manifests/case.yaml": yaml.safe_dump_all(manifests, sort_keys=False, allow_unicode=True)}
    for name, text in (files | given.get("files", {})).items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        for key, value in placeholders.items():
            text = text.replace(f"@{key}@", value)  # noqa: PLW2901 - one after the other
        path.write_bytes(text.encode())


def quota(item: Mapping[str, Any]) -> ClientQuota:
    """``{user: a, clientId: b, limits: {producer_byte_rate: 1}}``; an empty name is the default entity."""
    entity = QuotaEntity.of(item.get("user"), item.get("clientId"), item.get("ip"))
    return ClientQuota(entity, {key: float(value) for key, value in item["limits"].items()})


def live_state(live: Mapping[str, Any]) -> ClusterState:
    topics = {
        topic["name"]: Topic(
            topic["name"],
            topic.get("partitions", 1),
            topic.get("replicas", 1),
            topic.get("configs") or {},
            f"id-{topic['name']}",
            tuple(map(tuple, topic["assignments"])) if "assignments" in topic else None,
        )
        for topic in _topics(live)
    }
    listings: dict[str, Listing[Any]] = {
        ClientQuota.KIND: Listing(frozenset(map(quota, live.get("quotas", ()))), may_alter=True),
        ScramUser.KIND: Listing(
            frozenset(ScramUser(name, values) for name, values in live.get("users", {}).items()), may_alter=True
        ),
    }
    return ClusterState("cluster-of-the-case", _bindings(live), topics, listings=listings)


def _topics(live: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from spread({"name": name, **(topic or {})} for name, topic in live.get("topics", {}).items())


def _bindings(live: Mapping[str, Any]) -> frozenset[AclBinding]:
    return frozenset(map(binding, spread(live.get("bindings", ()))))


def make(admin: KafkaCluster, live: Mapping[str, Any]) -> None:
    """Bring a broker to where a case begins."""
    assert "users" not in live, "to set a password is a step of its own: apply"
    groups: list[list[Any]] = [
        [Topic(topic["name"], topic.get("partitions", 1), 1, topic.get("configs") or {}) for topic in _topics(live)],
        sorted(_bindings(live)),
        [quota(item) for item in live.get("quotas", ())],
    ]
    for items in filter(None, groups):
        answers = admin.send(creations(items))
        assert {answer.status for answer in answers} == {AnswerStatus.DONE}, answers
    if topics := {topic["name"]: topic.get("partitions", 1) for topic in _topics(live)}:
        await_topics(
            admin, lambda live: topics.items() <= {name: one.num_partitions for name, one in live.items()}.items()
        )


def without_own(state: ClusterState, broker: Sandbox) -> ClusterState:
    """Without the users that the sandbox itself has."""
    users = state.listing(ScramUser)
    kept = frozenset(user for user in users.items or () if user.name not in broker.users)
    return state.with_listing(ScramUser, Listing(kept, may_alter=users.may_alter))


def compare(found: ClusterState, wanted: Mapping[str, Any]) -> None:
    """Of topics those that are named, with ``null`` for one that is gone; of everything else all there is."""
    if "bindings" in wanted:
        assert set(found.bindings) == set(_bindings(wanted))
    if "quotas" in wanted:
        assert set(found.listing(ClientQuota).items or ()) == set(map(quota, wanted["quotas"]))
    if "users" in wanted:
        assert {user.name: dict(user.values) for user in found.listing(ScramUser).items or ()} == wanted["users"]
    for name, topic in wanted.get("topics", {}).items():
        live = found.topics.get(name)
        assert (live is None) == (topic is None), name
        if live is not None:
            assert topic.get("partitions", live.num_partitions) == live.num_partitions, name
            assert topic.get("configs", live.configs) == dict(live.configs), name


def test_every_case_says_what_where_and_of_which_versions() -> None:
    assert {case.area for case in CASES} == set(AREAS)
    for case in CASES:
        assert re.fullmatch(r"\S.* (#?\d+|[A-Z]+-\d+)", case.source) or case.project, case.source
        assert re.search(r"\w", case.versions), case.source
        assert any("run" in step or "says" in step or "exit" in step or "cmp" in str(step) for step in case.expect)
    assert len({named(case) for case in CASES}) == len(CASES)


def test_the_page_counts_the_cases_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == refreshed(page), "run: python -m tests.reports.cases"
