"""Wheel and sdist: built, complete, and at work in an environment that has nothing of this one."""

import email
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from reconciler.model.state import ClusterState
from reconciler.parts.local.sandbox.layout import cache_directory
from reconciler.snapshot.document import snapshot_text
from tests.integration.commands_page import every_command
from tests.integration.test_readme import tried, without_ids

_ROOT = Path(__file__).parents[3]
_BIN = Path(sys.executable).parent
_LOCK = _ROOT / "requirements-runtime.lock"


def _ran(*command: str, status: int = 0, **variables: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8", **variables}
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that is built from it."""
    directory = tmp_path_factory.mktemp("dist")
    _ran(str(_BIN / "pyproject-build"), "--no-isolation", "--outdir", str(directory))
    return directory


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    [found] = dist.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def locked() -> Path:
    """A directory with the wheels of the lock, fetched once.

    Of an index, pip compares each file of each version with what this Python runs: of 40 packages 47,000, and six
    seconds of a processor. ``make setup`` takes the same versions from an index by the same hashes.
    """
    runs_on = f"{sys.implementation.cache_tag} {sysconfig.get_platform()}"
    name = hashlib.sha256(_LOCK.read_bytes() + runs_on.encode()).hexdigest()[:16]
    place = cache_directory() / "tests" / f"wheels-{name}"
    if not place.exists():
        fetched = place.with_name(f".{place.name}.{os.getpid()}")
        words = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--dest", str(fetched), "-r", str(_LOCK)]
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *words], check=True)
        try:
            fetched.rename(place)
        except OSError:  # another process was first
            shutil.rmtree(fetched)
    return place


@pytest.fixture(scope="module")
def clean(wheel: Path, locked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and the locked dependencies, made by the script that pipelines use."""
    environment = tmp_path_factory.mktemp("clean") / "environment"
    path = tmp_path_factory.mktemp("github") / "path"
    _ran(
        str(_ROOT / "action" / "install.sh"),
        str(wheel),
        PATH=f"{_BIN}{os.pathsep}{os.environ['PATH']}",  # the Python that the wheels are for
        RECONCILER_ENVIRONMENT=str(environment),
        GITHUB_PATH=str(path),
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(locked),
    )
    assert path.read_text(encoding="utf-8") == f"{environment}/bin\n"
    return environment


def test_the_wheel_holds_the_package_and_what_it_needs_as_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = [name for name in names if name.endswith("METADATA")]
        head = email.message_from_bytes(archive.read(metadata))
    packaged = {name for name in names if ".dist-info/" not in name and ".data/" not in name}
    tracked = {str(path.relative_to(_ROOT)) for path in _ROOT.glob("reconciler/**/*") if path.suffix != ".pyc"}
    data = {f"reconciler/cli/examples/{path.name}" for path in (_ROOT / "examples" / "acls").glob("*.yaml")}
    assert packaged == {name for name in tracked if (_ROOT / name).is_file()} | data
    assert {"reconciler/py.typed", "reconciler/cli/starting/access.yaml"} <= packaged
    assert (head["Name"], head["License-Expression"]) == ("kafka-reconciler", "Apache-2.0")
    assert head["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in head.get_all("Classifier", [])
    assert "# Reconciler" in head.get_payload()


@pytest.mark.long
def test_uvx_and_pipx_run_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """As somebody tries it, or keeps it in an environment of its own: with dependencies as PyPI resolves them."""
    tool = (str(_BIN / "uvx"), "--system-certs", "--python", sys.executable)
    version = _ran(*tool, "--from", str(wheel), "reconciler", "--version")
    home, programs, pages = (str(tmp_path / name) for name in ("pipx", "bin", "man"))
    command = (*tool, "pipx@1.18.4", "install", "--python", sys.executable, str(wheel))
    _ran(*command, PIPX_HOME=home, PIPX_BIN_DIR=programs, PIPX_MAN_DIR=pages)
    assert _ran(str(tmp_path / "bin" / "reconciler"), "--version") == version
    assert (tmp_path / "man" / "man1" / "reconciler.1").exists()


def test_the_wheel_has_a_man_page_for_each_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        pages = {
            name.rpartition("/")[2].removesuffix(".1"): archive.read(name).decode()
            for name in archive.namelist()
            if ".data/data/share/man/man1/" in name
        }
    assert pages.keys() == {f"reconciler {command}".strip().replace(" ", "-") for command in every_command()}
    for name, page in pages.items():
        assert re.findall(r"^\.SH (.*)$", page, re.MULTILINE)[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"]
        assert f"\n.SH NAME\n{name}".replace("-", "\\-") in page
        known = re.compile(r"\.(TH|SH|TP|B|PP|nf|fi)\b")
        assert all(known.match(line) for line in page.splitlines() if line.startswith((".", "'"))), name
    plan = pages["reconciler-plan"]
    assert ".B \\-c, \\-\\-cluster NAME\nA declared cluster, or snapshot:FILE" in plan
    assert ".TP\n.B 130\n" in plan


def test_the_sdist_holds_what_a_build_needs_and_nothing_private(dist: Path) -> None:
    [sdist] = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "reconciler/py.typed", "examples/acls/cluster.yaml"} <= names
    assert not {name for name in names if name.startswith((".venv", ".git/", "tests/", "dist/"))}


def test_the_wheel_works_where_nothing_of_development_is(clean: Path, tmp_path: Path) -> None:
    program = str(clean / "bin" / "reconciler")
    shutil.copytree(_ROOT / "examples" / "acls", tmp_path / "manifests")
    assert _ran(program, "--version").startswith("reconciler, version ")
    assert "valid" in _ran(program, "validate", str(tmp_path / "manifests"))
    snapshot = tmp_path / "live.json"
    snapshot.write_text(snapshot_text(ClusterState("demo")), encoding="utf-8")
    plan = _ran(program, "plan", str(tmp_path / "manifests"), "--cluster", f"snapshot:{snapshot}", "--output", "json")
    assert json.loads(plan)["planId"].startswith("plan-")
    _ran(program, "init", str(tmp_path / "started"))
    assert "valid" in _ran(program, "validate", str(tmp_path / "started" / "manifests"))
    foreign = "import importlib.util as u, sys; sys.exit(any(map(u.find_spec, ('pytest', 'hypothesis', 'mypy'))))"
    _ran(str(clean / "bin" / "python"), "-c", foreign)
    _ran(str(clean / "bin" / "python"), "-m", "pip", "check")


def test_the_readmes_first_command_works_from_the_wheel(clean: Path) -> None:
    """By the name of the distribution, which ``uvx`` and ``pipx run`` look for."""
    arguments, quoted = tried()
    day = re.search(r"as of ([\d:TZ-]+)", quoted)
    assert day
    printed = _ran(str(clean / "bin" / "kafka-reconciler"), *arguments, "--as-of", day[1])
    assert without_ids(printed) == without_ids(quoted)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("fleet snapshot --help", "fleet"),
        ("history --help", "history"),
        ("who-can READ topic/t --store readings --as-of 2026-01-01", "history"),
    ],
)
def test_commands_that_need_an_extra_say_which(clean: Path, words: str, extra: str) -> None:
    done = subprocess.run(
        [str(clean / "bin" / "reconciler"), *words.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert f"pip install './reconciler[{extra}]' beside your clone" in done.stderr
    assert "Traceback" not in done.stderr


def _pins(lock: str) -> dict[str, str]:
    lines = (_ROOT / lock).read_text(encoding="utf-8").splitlines()
    pairs = [line.split(" ")[0].split("==") for line in lines if "==" in line and not line.startswith((" ", "#"))]
    return dict(pairs)


@pytest.mark.parametrize("lock", ["requirements-runtime.lock", "requirements-fleet.lock"])
def test_what_is_installed_for_users_is_what_is_tested_here(lock: str) -> None:
    development, pins = _pins("requirements.lock"), _pins(lock)
    assert pins["click"]
    assert pins.items() <= development.items()
    assert ("pyspark" in pins) is ("fleet" in lock)


def test_the_bill_of_materials_names_every_dependency_with_its_hashes(tmp_path: Path) -> None:
    file = tmp_path / "bom.json"
    options = ["--pyproject", "pyproject.toml", "--output-reproducible", "--validate", "--output-file", str(file)]
    _ran(str(_BIN / "cyclonedx-py"), "requirements", *options, "requirements-runtime.lock")
    bom = json.loads(file.read_text(encoding="utf-8"))
    assert bom["bomFormat"] == "CycloneDX"
    assert bom["metadata"]["component"]["name"] == "kafka-reconciler"
    assert {one["name"]: one["version"] for one in bom["components"]} == _pins("requirements-runtime.lock")
    assert all(one["externalReferences"][0]["hashes"] for one in bom["components"])


def test_make_dist_does_the_same() -> None:
    makefile = (_ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile[makefile.index("\ndist:") : makefile.index("\n\n", makefile.index("\ndist:"))]
    for word in ("pyproject-build --no-isolation", "cyclonedx-py requirements", "requirements-runtime.lock"):
        assert word in recipe
