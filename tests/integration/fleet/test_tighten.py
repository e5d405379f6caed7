"""A fleet tightened on Spark: as each cluster alone; and what several clusters share only where all of them agree."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.parts.evidence.app.tighten import Tightening, TightenOptions, tighten
from reconciler.parts.evidence.suggestion import Held, HeldReason, Narrowing
from reconciler.parts.fleet.app.runs import stored_run, wanted
from reconciler.parts.fleet.app.tighten import FleetTightening, log_parts, tighten_fleet
from reconciler.parts.fleet.tables import store_at
from reconciler.show.reading import read_result
from reconciler.snapshot.document import snapshot_text
from tests.unit.workflow.test_tightening import ALL_AGES, FACTS, HEAD, TODAY, each_day
from tests.worlds import binding

if TYPE_CHECKING:
    from reconciler.parts.fleet.engine import Engine


CLUSTERS = ("east", "west", "south")
KEPT = (HeldReason.KEEP, "disaster")


class Fleet:
    """Three clusters, ``south`` with a label of its own, a rule file for all, and a directory of logs."""

    def __init__(self, place: Path, engine: "Engine") -> None:
        self.place, self.engine = place, engine
        for name in ("m", *(f"logs/{name}" for name in CLUSTERS)):
            (place / name).mkdir(parents=True)
        self.facts = place / "facts.yaml"
        self.facts.write_text("---\n".join(FACTS.replace("demo", name) for name in CLUSTERS), encoding="utf-8")
        self.seen: dict[str, list[str]] = {name: [] for name in CLUSTERS}

    def declare(self, *rules: str, more: str = "") -> None:
        clusters = "---\n".join(
            f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: {name}, labels: {{at: {name}}}}}\n"
            f"spec: {{bootstrapServers: ['b:1'], vars: {{at: {name}}}}}\n"
            for name in CLUSTERS
        )
        text = clusters + HEAD + "".join(f"    - {rule}\n" for rule in rules) + more
        (self.place / "m" / "all.yaml").write_text(text, encoding="utf-8")

    def saw(self, cluster: str, *accesses: tuple[str, ...]) -> None:
        self.seen[cluster] += [line for access in accesses for line in each_day(*access)]
        self.log(cluster).write_text("".join(sorted(self.seen[cluster])), encoding="utf-8")

    def log(self, cluster: str) -> Path:
        return self.place / "logs" / cluster / "a.log"

    @property
    def connection(self) -> ConnectionOptions:
        return ConnectionOptions(connections=str(self.facts))

    def tighten(self, options: TightenOptions = ALL_AGES, *, live: bool = False) -> FleetTightening:
        given = wanted(str(self.place / "m"), None, TODAY, self.connection)
        store, logs = store_at(str(self.place / "store")), log_parts([str(self.place / "logs")], CLUSTERS)
        read = stored_run(store) if live else None
        return tighten_fleet(
            self.engine, store, given, logs, options, self.connection, path=str(self.place / "m"), run=read
        )

    def alone(self, cluster: str) -> Tightening:
        request = StateRequest(str(self.place / "m"), cluster, offline=True, as_of=TODAY)
        return tighten(request, [str(self.log(cluster))], ALL_AGES, self.connection)


@pytest.fixture
def fleet(tmp_path: Path, engine: "Engine") -> Fleet:
    return Fleet(tmp_path, engine)


def rules(found: FleetTightening) -> list[object]:
    """All rules as the edit leaves them."""
    documents = yaml.safe_load_all("---\n".join(found.edit.after.values()))
    return [rule for one in documents if one["kind"] == "Acls" for rule in one["spec"]["rules"]]


def held(found: FleetTightening, cluster: str) -> Mapping[str, tuple[HeldReason, str]]:
    (one,) = (one for one in found.clusters if one.cluster == cluster)
    return {each.binding.pattern.name: (each.reason, each.detail) for each in one.held}


def of_one(name: str, *rules: str) -> str:
    head = HEAD.replace("{name: a}", f"{{name: of-{name}}}").replace(
        "spec:\n", f"spec:\n  clusters: {{matchLabels: {{at: {name}}}}}\n"
    )
    return head + "".join(f"    - {rule}\n" for rule in rules)


def own(name: str) -> str:
    """Rules that no other cluster has: to be narrowed, removed, held, of a role."""
    return of_one(
        name,
        f"{{allow: [READ, WRITE], topics: {{prefix: {name}-p.}}, reason: why}}",
        f"{{role: consumer, topics: [{name}-x, {name}-y], groups: {{prefix: {name}-g}}}}",
        f"{{allow: READ, topics: [{name}-kept], keep: disaster}}",
        f"{{allow: WRITE, topics: [{name}-gone]}}",
    )


def owned(found: Sequence[Narrowing | Held], cluster: str) -> list[Narrowing | Held]:
    """Those that are about rules of :func:`own`."""
    bindings = [one.first if isinstance(one, Narrowing) else one.binding for one in found]
    return [one for one, binding in zip(found, bindings, strict=True) if binding.pattern.name.startswith(f"{cluster}-")]


def test_what_clusters_share_goes_only_where_all_of_them_agree(fleet: Fleet) -> None:
    """Used by one of them, demanded by the access test of one, narrowed to what any used; a template goes whole.

    Of what no other cluster has, the answer is that of one process on the same logs.
    """
    test = (
        "---\napiVersion: reconciler/v1\nkind: AccessTests\nmetadata: {name: t}\nspec:\n"
        "  clusters: {matchLabels: {at: west}}\n  tests:\n"
        "    - {name: recovery, principals: [User:a], must: READ, topics: [tested]}\n"
    )
    fleet.declare(
        "{allow: READ, topics: [x, gone, used-in-west, tested]}",
        "{allow: READ, topics: {prefix: p.}}",
        "{allow: READ, topics: ['${vars.at}.a', '${vars.at}.b']}",
        more=test + "".join(map(own, CLUSTERS)),
    )
    for name in CLUSTERS:
        fleet.saw(name, ("READ", "x"), ("READ", "p.1"), ("READ", f"{name}-p.a"), ("READ", f"{name}-x"))
        fleet.saw(name, ("READ", f"{name}-g-1", "Group"))
    fleet.saw("west", ("READ", "used-in-west"), ("READ", "p.2"), ("READ", "west.b"))
    fleet.saw("west", ("WRITE", "west-p.b"), ("WRITE", "west-gone"))
    found = fleet.tighten()
    for one in found.clusters:
        alone = fleet.alone(one.cluster)
        assert (one.period, one.decisions, one.basis) == (alone.period, alone.decisions, alone.basis)
        assert one.summary._replace(by_file=alone.summary.by_file) == alone.summary
        assert owned(one.narrowings, one.cluster) == owned(alone.narrowings, one.cluster)
        assert owned(one.held, one.cluster) == owned(alone.held, one.cluster)
        assert len(owned(one.narrowings, one.cluster)) == (4 if one.cluster == "west" else 5)
    assert rules(found)[:3] == [
        {"allow": "READ", "topics": ["x", "used-in-west", "tested"]},
        {"allow": "READ", "topics": ["${vars.at}.b"]},
        {"allow": "READ", "topics": ["p.1", "p.2"]},
    ]
    shared = (HeldReason.SHARED, "west")
    for name in ("east", "south"):
        assert held(found, name) == {"tested": shared, f"{name}.b": shared, f"{name}-kept": KEPT}
    assert held(found, "west") == {"tested": (HeldReason.UNPROVEN, ""), "west-kept": KEPT}


def test_the_command_says_it_and_writes_one_edit(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    """On snapshots, one of which is missing: what that cluster shares stays, and the status says so."""
    fleet.declare("{allow: READ, topics: [x, gone]}", more=of_one("east", "{allow: READ, topics: [here]}"))
    for name in CLUSTERS:
        fleet.saw(name, ("READ", "x"))
    live = [binding(f"User:a ALLOW READ on TOPIC {name}") for name in ("x", "gone", "here")]
    for name in ("east", "south"):
        (fleet.place / f"{name}.json").write_text(snapshot_text(ClusterState(name, frozenset(live))), encoding="utf-8")
    where = [str(fleet.place / "m"), "--store", str(fleet.place / "store")]
    run(["fleet", "snapshot", *where, "--snapshots", str(fleet.place)])
    capsys.readouterr()
    words = ["--logs", str(fleet.place / "logs"), "--connections", str(fleet.facts), "--as-of", str(TODAY)]
    command = ["fleet", "tighten", *where, *words, "--policy", "any-age", "--write", "--output", "json"]
    assert run(command) == 1
    said = capsys.readouterr()
    document: dict[str, Any] = json.loads(said.out)
    report = read_result(document)
    assert {(one.rule, one.cluster) for one in report.findings} == {
        ("not-judged", "west"),
        ("unused-right", "east"),
        ("held-right", "east"),
        ("held-right", "south"),
    }
    assert "1 with narrower rights" in said.err
    assert "here" not in (fleet.place / "m" / "all.yaml").read_text(encoding="utf-8")
