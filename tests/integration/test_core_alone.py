"""The core in a copy of the package without its parts, where no engine can be imported: a contract that runs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import reconciler
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text

_ROOT = Path(__file__).parents[2]
_ACLS = _ROOT / "examples" / "acls"
_RUN = """\
import sys
sys.path.insert(0, sys.argv.pop(1))
sys.modules.update(dict.fromkeys(("pyspark", "polars", "pyarrow")))
from reconciler.cli.main import main
main()
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


def _ran(place: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _RUN, str(place), *words]
    done = subprocess.run(
        command, cwd=place, env=_ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_it_runs_what_continuous_integration_runs_with_its_dependencies_alone(place: Path) -> None:
    job = yaml.safe_load((_ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))["jobs"]["core"]
    install, run = [step["run"].splitlines() for step in job["steps"] if "run" in step]
    assert install == ["rm -r reconciler/parts", "python -m pip install ."]
    commands = [line.removeprefix("reconciler ") for line in run if line.startswith("reconciler ")]
    assert {line.split()[0] for line in commands} >= {"plan", "apply", "lint", "test", "report"}
    for line in commands:
        _ran(place, *line.replace("examples/acls", str(_ACLS)).split())


def test_it_plans_and_reports(place: Path) -> None:
    plan = _ran(place, "plan", str(_ACLS), "--cluster", "snapshot:live.json", "--out", "plan.json", "-o", "json").stdout
    assert json.loads(plan)["planId"].startswith("plan-")
    assert "plan-" in _ran(place, "show", "plan.json").stdout
    for form in ("text", "markdown", "html", "sarif", "junit", "json"):
        assert _ran(place, "report", "plan.json", "-o", form).stdout


def test_help_names_each_part_with_the_line_that_installs_it(place: Path) -> None:
    text = " ".join(_ran(place, "--help").stdout.split())
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
    shown = _ran(place, "grant", "User:a", "READ", "topic/t", status=64).stderr
    assert "edit: pip install ./reconciler beside your clone" in shown
    shown = _ran(place, "lint", str(_ACLS), "--fix", status=64).stderr
    assert "lint --fix needs the part edit, which is not installed" in shown
    assert "pip install ./reconciler beside your clone" in shown
