"""Recipes, and what to do on call, work as shown: files are written, commands run, their lines appear in order."""

import datetime
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.app.manifests import desired, load
from reconciler.app.options import today
from reconciler.apply.environment import Outcome
from reconciler.apply.lease import marker
from reconciler.cli.main import run
from reconciler.cli.recipes import RECIPES
from reconciler.codec.kinds import LISTED
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.show.formats import prometheus
from reconciler.snapshot.document import BrokerFacts, parse_snapshot, snapshot_text
from tests.integration.fleet.test_usage import event, log
from tests.integration.test_tutorials import Step, steps_of
from tests.unit.history.world import read, run_records, store, write_log
from tests.worlds import binding, step_words

_ROOT = Path(__file__).parents[2]


def _sections(page: str) -> dict[str, str]:
    text = (_ROOT / "docs" / page).read_text(encoding="utf-8")
    return dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))


_RECIPES = _sections("how-to.md")
_ALARMS = _sections("on-call.md")
#: A recipe is read in a hurry.
_MOST_LINES = 15


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example's manifests, a cluster that has exactly what they declare, and logs of it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(_ROOT / "examples" / "acls", "manifests")
    shutil.copytree("manifests", "base")
    shutil.copytree(_ROOT / "examples" / "access", "access")
    shutil.copy(_ROOT / "examples" / "operator.yaml", "connections.yaml")
    wanted = desired(load("manifests"), "demo", today())
    topics = {name: item.topic for name, item in wanted.topics.items()}
    listings: dict[str, Listing[Any]] = dict.fromkeys(LISTED, Listing(frozenset()))
    _write_cluster(ClusterState("demo", frozenset(wanted.bindings), topics, listings=listings))
    Path("logs").mkdir()
    used = next(binding for binding in sorted(wanted.bindings) if binding.pattern.name == "payments.settled")
    Path("logs", "server.log").write_bytes(log(event("payments.settled", who=used.entry.principal, acl=used)))
    Path("acls.txt").write_text(
        "Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=a, patternType=LITERAL)`: \n"
        " \t(principal=User:a, host=*, operation=READ, permissionType=ALLOW)\n",
        encoding="utf-8",
    )
    environment = {"PATH": "manifests", "CLUSTER": "demo=snapshot:live.json", "CONNECTIONS": "connections.yaml"}
    for name, value in environment.items():
        monkeypatch.setenv(f"RECONCILER_{name}", value)
    return tmp_path


def _write_cluster(state: ClusterState) -> None:
    Path("live.json").write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))), encoding="utf-8")


def _add_topic(name: str) -> None:
    state = parse_snapshot(Path("live.json").read_text(encoding="utf-8"))
    _write_cluster(replace(state, topics={**state.topics, name: Topic(name, 3, 1)}))


def _add_binding(principal: str, topic: str) -> None:
    state = parse_snapshot(Path("live.json").read_text(encoding="utf-8"))
    entry = AccessControlEntry(principal, "*", AclOperation.READ, AclPermissionType.ALLOW)
    added = AclBinding(ResourcePattern(ResourceType.TOPIC, topic), entry)
    _write_cluster(replace(state, bindings=state.bindings | {added}))


def _keep_readings() -> None:
    """The readings and the audit log of three months in which a run gave somebody access."""
    entry = AccessControlEntry("User:svc-risk", "*", AclOperation.READ, AclPermissionType.ALLOW)
    given = AclBinding(ResourcePattern(ResourceType.TOPIC, "payments.settled"), entry)
    month = 30 * 86_400
    for time, bindings in ((0, []), (month, [given]), (3 * month, [given]), (3 * month + 3_600, [])):
        read(store(Path("readings")), bindings, time, cluster="demo")
    when = month - 7_200
    write_log(Path("audit.jsonl"), run_records("20260130T220000Z-7f3a", when, [(when, given, True, Outcome.DONE)]))


def _add_lease(holder: str) -> None:
    ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=5)
    state = parse_snapshot(Path("live.json").read_text(encoding="utf-8"))
    _write_cluster(replace(state, bindings=state.bindings | {marker(holder, "20261126T120000Z-0badcafe", ends)}))


@pytest.mark.parametrize("recipe", sorted(_RECIPES | _ALARMS))
def test_a_recipe_does_what_it_shows(
    recipe: str, world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if recipe == "Prove a plan to an auditor":
        shutil.copy(_ROOT / "check_plan.py", ".")
    if recipe == "Delete a topic":
        _add_topic("payments.old")
    if recipe in ("Keep what somebody changed on the cluster by hand", "A drift alarm"):
        _add_binding("User:svc-night", "payments.settled")
    if recipe == "Find out who could read a topic on a past day, and who approved it":
        _keep_readings()
    if recipe in ("Collect metrics of some clients", "Keep what a share group rejects"):
        cluster = Path("manifests", "cluster.yaml")
        scope = "- principals: {any: true}\n      - topics: {prefix: dlq.}"
        cluster.write_text(cluster.read_text(encoding="utf-8").replace('- principals: {prefix: "User:svc-"}', scope))
    if recipe == "The lease is held":
        _add_binding("User:svc-night", "payments.settled")
        assert run(["plan", "--allow-deletes", "--out", "plan.json"]) == 0
        _add_lease("ci@runner-7")
    if recipe == "Let owners confirm who has access":
        wanted = desired(load("access"), "bank", today())
        _write_cluster(ClusterState("bank", frozenset(wanted.bindings)))
        monkeypatch.setenv("RECONCILER_PATH", "access")
        monkeypatch.setenv("RECONCILER_CLUSTER", "bank=snapshot:live.json")
    for step in steps_of((_RECIPES | _ALARMS)[recipe]):
        if step.file:
            file = Path(world, step.file)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step.text, encoding="utf-8")
            assert file.suffix not in (".yaml", ".yml") or list(yaml.safe_load_all(step.text))
            continue
        status, shown = _ran(step, capsys)
        assert status == step.status, shown
        place = 0
        for line in step.shown:
            place = shown.find(line, place)
            assert place >= 0, f"{step.command} does not print {line!r}, but:\n{shown}"


_INCIDENT = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: incident-4711}
spec:
  principal: User:svc-orders
  rules:
    - {deny: ALL, topics: {any: true}, groups: {any: true}, transactionalIds: {any: true}, cluster: true, ticket: INC-1}
"""


@pytest.fixture(params=[("started/manifests", "my-cluster"), ("access", "bank")], ids=["init", "access"])
def owned(
    request: pytest.FixtureRequest, world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[str, str, str]:
    """Manifests with an Ownership, that of ``init`` or of the example; their cluster, and whom to cut off."""
    manifests, cluster = request.param
    for name in ("PATH", "CLUSTER", "CONNECTIONS"):
        monkeypatch.delenv(f"RECONCILER_{name}")
    assert run(["init", "started"]) == 0
    wanted = desired(load(manifests), cluster, today())
    topics = {name: item.topic for name, item in wanted.topics.items()}
    listings: dict[str, Listing[Any]] = dict.fromkeys(LISTED, Listing(frozenset()))
    _write_cluster(ClusterState(cluster, frozenset(wanted.bindings), topics, listings=listings))
    capsys.readouterr()
    return manifests, f"{cluster}=snapshot:live.json", "User:svc-payments" if cluster == "bank" else "User:svc-orders"


def test_a_principal_is_locked_where_teams_own_it_and_an_unrelated_merge_leaves_it(
    owned: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    manifests, cluster, victim = owned
    facts = f"metadata: {{name: {cluster.partition('=')[0]}}}\nspec: {{allowEveryoneIfNoAclFound: false}}\n"
    Path("facts.yaml").write_text(f"apiVersion: reconciler/v1\nkind: Cluster\n{facts}", encoding="utf-8")
    at = [manifests, "-c", cluster, "--connections", "facts.yaml"]
    assert run(["lock", victim, "-f", *at, "--reason", "key leaked", "--yes"]) == 0
    (file,) = (one for one in Path(manifests).rglob("*.yaml") if re.search("(?m)^kind: Cluster$", one.read_text()))
    file.write_text(file.read_text(encoding="utf-8") + "# unrelated\n", encoding="utf-8")
    assert run(["apply", *at, "--allow-deletes", "--yes"]) == 0
    capsys.readouterr()
    assert run(["can-i", victim, "DESCRIBE", "topic/*", "-f", *at]) == 3
    assert run(["locks", *at]) == 0
    assert f"{victim} since" in capsys.readouterr().out


def test_a_principal_is_cut_off_by_a_file_where_teams_own_it(
    owned: tuple[str, str, str], world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused nowhere but in another file than one with ``denyAny``."""
    manifests, cluster, victim = owned
    text = _INCIDENT.replace("User:svc-orders", victim)
    elsewhere, place = Path(world, manifests, "incident.yaml"), Path(world, manifests, "incidents", "4711.yaml")
    plan = ["plan", manifests, "-c", cluster, "--only", f"principals={victim}"]
    elsewhere.write_text(text, encoding="utf-8")
    assert run(["validate", manifests]) == 3
    elsewhere.unlink()
    place.parent.mkdir()
    place.write_text(text, encoding="utf-8")
    capsys.readouterr()
    assert run(plan) == 0
    assert step_words(binding(f"TOPIC:L:* {victim}@* DENY ALL")) in capsys.readouterr().out
    disable = f"kind: Users\nmetadata: {{name: off}}\nspec: {{users: [{{name: {victim[5:]}, disabled: true}}]}}\n"
    place.with_name("users.yaml").write_text(f"apiVersion: reconciler/v1\n{disable}", encoding="utf-8")
    assert run(["validate", manifests]) == 0
    place.with_name("users.yaml").unlink()
    assert run(["users", "disable", victim, "--path", manifests, "--ticket", "INC-4711", "--write"]) == 0
    capsys.readouterr()
    assert run(plan) == 0
    assert f"nobody knows the password of SCRAM user {victim[5:]} from then on" in capsys.readouterr().out


def _ran(step: Step, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    words = shlex.split(step.command)
    if words[0] != "reconciler":
        words = [sys.executable if word == "python3" else word for word in words]
        ended = subprocess.run(words, check=False, capture_output=True, text=True)
        return ended.returncode, ended.stdout + ended.stderr
    command, _, file = " ".join(map(shlex.quote, words[1:])).partition(" '>' ")
    capsys.readouterr()
    status = run(shlex.split(command))
    printed = capsys.readouterr()
    if file:
        Path(file).write_text(printed.out, encoding="utf-8")
    return status, printed.out + printed.err


@pytest.mark.parametrize("recipe", sorted(_RECIPES | _ALARMS))
def test_a_recipe_is_short(recipe: str) -> None:
    code = "".join(re.findall(r"^```[a-z]*\n(.*?)^```", (_RECIPES | _ALARMS)[recipe], re.MULTILINE | re.DOTALL))
    assert code.count("\n") <= _MOST_LINES


@pytest.mark.parametrize("recipe", [name for name in sorted(_RECIPES) if name.startswith("Run it in")])
def test_a_pipeline_takes_ten_lines_and_runs_a_script_that_is_there(recipe: str) -> None:
    (step,) = steps_of(_RECIPES[recipe])
    assert step.text.count("\n") <= 1 + 10
    scripts = re.findall(r"/opt/reconciler-source/(\S+\.sh)|reconciler/(\.github/\S+\.yml)@", step.text)
    assert scripts
    assert all((_ROOT / (script or workflow)).is_file() for script, workflow in scripts)


def test_help_names_every_recipe_by_its_heading() -> None:
    assert {heading for headings in RECIPES.values() for heading in headings} == set(_RECIPES)


def _metrics(text: str) -> Iterator[str]:
    yield from re.findall(r"\breconciler_[a-z_]+\b", text)


@pytest.mark.parametrize("file", ["rules.yml", "grafana.json"])
def test_alerts_and_boards_are_about_metrics_that_exist(file: str) -> None:
    text = (_ROOT / "examples" / "monitoring" / file).read_text(encoding="utf-8")
    assert yaml.safe_load(text)
    written = set(_metrics(Path(os.fspath(prometheus.__file__)).read_text(encoding="utf-8")))
    asked = set(_metrics(text))
    assert asked
    assert asked <= written
