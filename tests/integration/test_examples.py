"""Every example is valid, plans on an empty cluster, applies, and then plans to nothing."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.codec.kinds import LISTED
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.parts.local.sandbox.layout import SandboxSpec
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.snapshot.document import BrokerFacts, snapshot_text

_ROOT = Path(__file__).parents[2] / "examples"
# How pipelines, alerts, packages and servers run is no directory of manifests: tests/integration/ci,
# tests/integration/test_how_to.py, tests/integration/test_plugins.py, tests/integration/test_serve_examples.py.
_NO_MANIFESTS = ("ci", "monitoring", "plugins", "serve")
_EXAMPLES = sorted(path for path in _ROOT.iterdir() if path.is_dir() and path.name not in _NO_MANIFESTS)


def _clusters(example: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert run(["validate", str(example), "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    # One example has a rule that has expired, to show what becomes of it.
    assert [problem for problem in document["problems"] if problem["code"] != "KR052"] == []
    return list(document["clusters"])


@pytest.mark.parametrize("example", _EXAMPLES, ids=lambda path: path.name)
def test_an_example_turns_an_empty_cluster_into_what_it_declares(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clusters = _clusters(example, capsys)
    assert clusters
    for name in clusters:
        file = tmp_path / f"{name}.json"
        empty = ClusterState(name, listings=dict.fromkeys(LISTED, Listing(frozenset())))
        file.write_text(snapshot_text(empty, BrokerFacts(broker_ids=(1, 2, 3))), encoding="utf-8")
        cluster = ["--cluster", f"{name}=snapshot:{file}"]
        assert run(["plan", str(example), *cluster, "--detailed-exitcode"]) == 2
        assert run(["apply", str(example), *cluster, "--yes"]) == 0
        capsys.readouterr()
        assert run(["plan", str(example), *cluster, "--allow-deletes", "--detailed-exitcode"]) == 0
        assert "Nothing to do." in capsys.readouterr().out
        assert run(["drift", str(example), *cluster]) == 0


#: What an extra installs that a plain install does not have, by what Python calls it.
_MODULES = {
    "aws-msk-iam-sasl-signer-python": "aws_msk_iam_sasl_signer",
    "cel-expr-python": "cel_expr_python",
    "python-hcl2": "hcl2",
}
#: A new Python in which these modules cannot be imported validates directories.
_WITHOUT = """\
import sys
sys.modules.update(dict.fromkeys({}, None))
from reconciler.cli.main import run
sys.exit(max(int(run(["validate", path])) for path in sys.argv[1:]))
"""
_ROW = re.compile(r"^\| \[(?P<name>\w+)\]\(\w+\) \|.*\| (?:`(?P<extra>[a-z-]+)` )?\|$", re.MULTILINE)


def _extras() -> dict[str, set[str]]:
    """The modules of each extra."""
    project = tomllib.loads((_ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {
        extra: [re.split(r"[>=<\[]", requirement)[0] for requirement in required]
        for extra, required in project["optional-dependencies"].items()
    }
    return {extra: {_MODULES.get(name, name) for name in found} for extra, found in names.items() if extra != "all"}


def test_every_example_is_documented_and_works_with_the_extra_that_is_named_there(tmp_path: Path) -> None:
    rows = {row["name"]: row["extra"] for row in _ROW.finditer((_ROOT / "README.md").read_text(encoding="utf-8"))}
    assert sorted(rows) == [example.name for example in _EXAMPLES]
    for extra in set(rows.values()):
        done = _validated_with(extra, *(name for name, needed in rows.items() if needed == extra), directory=tmp_path)
        assert done.returncode == 0, (extra, done.stdout, done.stderr)


def test_an_example_without_its_extra_says_how_to_install_it(tmp_path: Path) -> None:
    done = _validated_with(None, "policies", directory=tmp_path)
    assert done.returncode == 1
    assert "pip install './reconciler[policy]' beside your clone" in done.stderr


def _validated_with(extra: str | None, *examples: str, directory: Path) -> subprocess.CompletedProcess[str]:
    missing = sorted(set().union(*(modules for name, modules in _extras().items() if name != extra)))
    paths = [str(_ROOT / name) for name in examples]
    command = [sys.executable, "-c", _WITHOUT.format(missing), *paths]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=directory, timeout=120)


@pytest.fixture(scope="module")
def demo(sandbox_root: Path) -> Iterator[Sandbox]:
    with running(SandboxSpec(name="demo"), root=sandbox_root) as sandbox:
        yield sandbox


@pytest.mark.broker
@pytest.mark.long
def test_the_first_example_applies_on_a_real_broker(demo: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    reach = ["--cluster", "demo", "--connections", str(demo.connections)]
    assert run(["apply", str(_ROOT / "acls"), *reach, "--yes"]) == 0
    assert "Applied and verified" in capsys.readouterr().out
    assert run(["drift", str(_ROOT / "acls"), *reach]) == 0
