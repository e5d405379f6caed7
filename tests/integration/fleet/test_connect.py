"""Commands on Spark Connect, by DataFrames alone, and SQL on a store in S3: the same answers as in this process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fleet.spark_cluster import connect_server
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text
from tests.integration.fleet.platforms import BUCKET, installed, s3_server, s3a_arguments
from tests.worlds import binding

pytestmark = [pytest.mark.spark, pytest.mark.long]  # a server of its own, and a client: a minute

ROOT = Path(__file__).resolve().parents[3]
_MANIFESTS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules: [{allow: READ, topics: [orders]}]
"""
_CLUSTER = """\
---
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: c{number}}}
spec: {{principal: User:us, superUsers: [User:us], allowEveryoneIfNoAclFound: false}}
"""
_COUNT = 5
_QUESTIONS = {
    "snapshot": ["snapshot", "manifests", "--store", "store", "--snapshots", "live"],
    "drift": ["drift", "manifests", "--store", "store"],
    "outliers": ["query", "outliers", "--path", "manifests", "--store", "store"],
    "who-can": ["query", "who-can", "READ", "topic/orders", "--path", "manifests", "--store", "store"],
    "sql": [
        *("query", "sql", "select cluster, principal, name from bindings order by all", "--path", "manifests"),
        *("--store", "store"),
    ],
    "plan": ["plan", "manifests", "--out", "plans", "--snapshots", "live", "--allow-deletes"],
}
#: The commands one after another, in one session; then what an apply asks of it, and what is said of a failure.
_CLIENT = """
import contextlib, io, json, sys, time
from reconciler.app.reasons import WorkflowError
from reconciler.cli.main import run
from reconciler.parts.fleet.app.engines import EngineName, EngineOptions, chosen_engine

master, questions = sys.argv[1], json.loads(sys.argv[2])
answers = {}

def fails(units, attempt):
    raise FileNotFoundError("no such bucket")

def some_seconds(units, attempt):
    time.sleep(0.1 if units == ["a", "b"] else 7)
    return units

heard = []
with chosen_engine(EngineOptions(EngineName.AUTO, master), watch=lambda *told: heard.append(told)) as choice:
    engine = choice()
    engine.run([["a", "b"], ["c", "d", "e"]], some_seconds, "wait", tally=lambda line: {"lines": 1})
    answers["heard"] = sorted({told[:3] for told in heard})
    answers["session"] = type(engine.session).__module__
    engine.refuse_copies()
    with engine.ending("group"):
        answers["once"] = engine.run([["a"]], lambda units, _: units, "apply", "group", lambda units, _: ["again"])
    try:
        engine.run([["a"]], fails, "fail")
    except WorkflowError as error:
        answers["failure"] = error.message
    for name, words in questions.items():
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = run(["fleet", *words, "--output", "json"])
        answers[name] = [status, json.loads(out.getvalue())]
print(json.dumps(answers))
"""


def prepared(root: Path) -> None:
    (root / "manifests").mkdir(parents=True)
    (root / "live").mkdir()
    text = _MANIFESTS + "".join(_CLUSTER.format(number=number) for number in range(_COUNT))
    (root / "manifests" / "all.yaml").write_text(text, encoding="utf-8")
    for number in range(_COUNT):
        own = binding(f"User:old{number} ALLOW WRITE on TOPIC payments")
        wanted = binding("User:svc ALLOW READ on TOPIC orders")
        state = ClusterState(f"id{number}", frozenset({own, *([wanted] if number else [])}))
        (root / "live" / f"c{number}.json").write_text(snapshot_text(state), encoding="utf-8")


def without_times(answer: Any) -> Any:
    """What two runs of the same have in common."""
    if isinstance(answer, dict):
        own = ("run", "taken", "as_of", "asOf", "fleetId", "plan_id", "digest", "bytesRead")
        return {key: without_times(value) for key, value in answer.items() if key not in own}
    return [without_times(item) for item in answer] if isinstance(answer, list) else answer


def test_commands_on_spark_connect_answer_as_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("connect", "local"):
        prepared(tmp_path / name)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    words = {
        name: [
            str(tmp_path / "connect" / word) if word in ("manifests", "store", "live", "plans") else word for word in q
        ]
        for name, q in _QUESTIONS.items()
    }
    with connect_server(tmp_path) as address:
        # `--master` is given to the session; the commands find it.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), installed()))}
        command = [sys.executable, "-W", "ignore", "-c", _CLIENT, address, json.dumps(words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    assert answers.pop("session").startswith("pyspark.sql.connect")
    # The first task ends at once: at the least two units have, whichever they are.
    assert ["wait", 2, 5] in answers.pop("heard")
    assert answers.pop("once") == ["a"]
    assert answers.pop("failure") == "Spark failed: FileNotFoundError: no such bucket"
    rows = answers["sql"][1]["rows"]
    assert len(rows) == 2 * _COUNT - 1
    assert ["c0", "User:old0", "payments"] in rows
    monkeypatch.chdir(tmp_path / "local")
    for name, own in _QUESTIONS.items():
        if name == "sql":
            continue
        status = run(["fleet", *own, "--engine", "local", "--output", "json"])
        here = json.loads(capsys.readouterr().out)
        assert answers[name][0] == status, (name, done.stderr)
        assert without_times(answers[name][1]) == without_times(here), name


def test_sql_on_a_store_in_s3_answers_as_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With ``hadoop-aws``, and the login of AWS's own variables, which Spark's JVM gets for this store."""
    prepared(tmp_path)
    monkeypatch.chdir(tmp_path)
    with s3_server() as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "CI": "true",
            "PYSPARK_SUBMIT_ARGS": s3a_arguments(variables["AWS_ENDPOINT_URL"]),
        }
        store = ["--store", f"s3a://{BUCKET}/{tmp_path.name}"]
        words = ["fleet", *_QUESTIONS["snapshot"][:2], *store, "--snapshots", "live", "--engine", "local"]
        assert run(words) == 0, capsys.readouterr().err
        words = [sys.executable, "-m", "reconciler", "fleet", *_QUESTIONS["sql"][:-2], *store, "--output", "json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert len(rows) == 2 * _COUNT - 1
    assert ["c0", "User:old0", "payments"] in rows
