"""The core in a copy of the package without its parts, where no engine can be imported: a contract that runs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

import reconciler
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text

_ROOT = Path(__file__).parents[2]
_ACLS = _ROOT / "examples" / "acls"
#: Runs the commands of its standard input one after the other, and prints how each ended and what it said.
_RUN = """\
import contextlib, io, json, sys
sys.path.insert(0, sys.argv.pop(1))
sys.modules.update(dict.fromkeys(("pyspark", "polars", "pyarrow")))
from reconciler.cli.main import run
ended = []
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(words)
    ended.append((status, out.getvalue(), err.getvalue()))
print(json.dumps(ended))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the package, manifests, a snapshot of nothing, and one that is as declared."""
    place = tmp_path_factory.mktemp("core")
    package = Path(reconciler.__file__).parent
    # With what is compiled of it, which is for files of these dates: to compile all of it again takes seconds.
    shutil.copytree(package, place / "reconciler")
    shutil.rmtree(place / "reconciler" / "parts")
    (place / "live.json").write_text(snapshot_text(ClusterState("demo")), encoding="utf-8")
    (place / "empty").mkdir()
    cluster = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\n"
    (place / "empty" / "cluster.yaml").write_text(cluster + "spec: {allowEveryoneIfNoAclFound: false}\n", "utf-8")
    return place


#: What one command compiles, the next finds.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class _Ended(NamedTuple):
    """How a command ended, and what it said."""

    status: int
    stdout: str
    stderr: str


def _ran(place: Path, *commands: list[str]) -> list[_Ended]:
    """Several commands in one process of the core: to import it takes longer than most of them."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(place)],
        input=json.dumps(commands),
        cwd=place,
        env=_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [_Ended(*ended) for ended in json.loads(done.stdout)]


def test_it_runs_what_continuous_integration_runs_with_its_dependencies_alone(place: Path) -> None:
    job = yaml.safe_load((_ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))["jobs"]["core"]
    install, run = [step["run"].splitlines() for step in job["steps"] if "run" in step]
    assert install == ["rm -r reconciler/parts", "python -m pip install ."]
    commands = [line.removeprefix("reconciler ") for line in run if line.startswith("reconciler ")]
    assert {line.split()[0] for line in commands} >= {"plan", "apply", "lint", "test", "report"}
    ran = _ran(place, *(line.replace("examples/acls", str(_ACLS)).split() for line in commands))
    assert [ended.stdout + ended.stderr for ended in ran if ended.status] == []


def test_it_plans_and_reports(place: Path) -> None:
    planning = ["plan", str(_ACLS), "--cluster", "snapshot:live.json", "--out", "plan.json", "-o", "json"]
    forms = ("text", "markdown", "html", "sarif", "junit", "json")
    reports = [["report", "plan.json", "-o", form] for form in forms]
    plan, shown, *reported = _ran(place, planning, ["show", "plan.json"], *reports)
    assert json.loads(plan.stdout)["planId"].startswith("plan-")
    assert "plan-" in shown.stdout
    assert all(ended.status == 0 and ended.stdout for ended in reported)


def test_help_names_each_part_with_the_line_that_installs_it(place: Path) -> None:
    (shown,) = _ran(place, ["--help"])
    text = " ".join(shown.stdout.split())
    assert "Plan and apply: validate" in text
    for part, extra in (
        ("edit", "./reconciler"),
        ("fleet", "'./reconciler[fleet]'"),
        ("local", "'./reconciler[sandbox]'"),
    ):
        assert f"{part} " in text
        assert f"pip install {extra} beside your clone" in text
    assert "Edit manifests:" not in text


def test_what_a_part_would_do_is_refused_with_that_line(place: Path) -> None:
    granting, fixing = _ran(place, ["grant", "User:a", "READ", "topic/t"], ["lint", str(_ACLS), "--fix"])
    assert (granting.status, fixing.status) == (64, 64)
    assert "edit: pip install ./reconciler beside your clone" in granting.stderr
    assert "lint --fix needs the part edit, which is not installed" in fixing.stderr
    assert "pip install ./reconciler beside your clone" in fixing.stderr
