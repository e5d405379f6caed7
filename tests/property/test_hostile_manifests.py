"""Two thousand spoilt manifests, and texts made to exhaust a reader: problems with their places, or what they say."""

import datetime
import json
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError, render_problem
from reconciler.model.state import ClusterState
from reconciler.plan.file import seal
from reconciler.snapshot.document import snapshot_text
from tests.integration.hostile import HOSTILE, assert_harmless
from tests.prepared import prepared

_DAY = datetime.date(2026, 1, 1)
_TEXTS = [path.read_text(encoding="utf-8") for path in sorted(Path("examples").rglob("*.yaml"))]
_TOKENS = [
    *HOSTILE,
    "\ud800",
    "9" * 5_000,
    "1e999999999",
    "${vars.x}",
    "${env:HOME}",
    "*alias",
    "&anchor ",
    "!!python/name:os.system ",
    "<<: ",
    "? ",
    "- " * 40,
    "[" * 40,
    "{a: " * 40,
    "---\n",
    "...\n",
    "%YAML 9.9\n",
    "# ",
    '"',
    "'",
    "|\n",
    "\t",
    ": ",
    "null",
    "../../etc/passwd",
    "x" * 3_000,
]


def _spoilt(text: str, random: Random) -> str:
    for _ in range(random.randint(1, 4)):
        lines = text.split("\n")
        start, end = sorted((random.randrange(len(text) + 1), random.randrange(len(text) + 1)))
        match random.randrange(6):
            case 0:
                text = text[:start] + random.choice(_TOKENS) + text[start:]
            case 1:
                text = text[:start] + text[min(end, start + 40) :]
            case 2:
                text = text[:start]
            case 3:
                first, second = random.randrange(len(lines)), random.randrange(len(lines))
                lines[first], lines[second] = lines[second], lines[first]
                text = "\n".join(lines)
            case 4:
                text = re.sub(r"(?<=: )[^\s{[].*$", random.choice(_TOKENS).replace("\\", ""), text, count=1, flags=re.M)
            case _:
                text = text[:start] + text[start:end] * 2 + text[end:]
    return text


def _corpus() -> Iterator[str]:
    random = Random(11)
    for number in range(2_000):
        yield _spoilt(_TEXTS[number % len(_TEXTS)], random)


def test_spoilt_manifests_are_refused_or_read() -> None:
    refused = 0
    for text in _corpus():
        try:
            manifests = load([Source("a.yaml", text)])
            for name in manifests.clusters:
                desired_state(manifests, name, _DAY)
        except ManifestError as error:
            refused += 1
            shown = "\n\n".join(render_problem(problem) for problem in error.problems)
            assert shown.startswith("a.yaml:")
            assert_harmless(shown.replace("\t", " "), repr(text[:200]))
    assert refused > 1_000


_ACLS = "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: t}\nspec:\n  principal: User:svc\n  rules:\n"
_TOPICS = "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: t}\nspec:\n  topics:\n"
_CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {allowEveryoneIfNoAclFound: false}\n"


def _laughs() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]" for n in range(20)]
    return "\n".join(lines)


#: Each is small beside what a careless reader would make of it, or as long as somebody cares to send.
MANIFESTS = {
    "deep lists": "a: " + "[" * 100_000,
    "deep mappings": "{a: " * 50_000,
    "deep blocks": "\n".join(" " * depth + "a:" for depth in range(1_500)),
    "deep items": "- " * 100_000,
    "a billion laughs": _laughs(),
    "a number without end": _ACLS + f"    - {{allow: READ, topics: [x], x: {'9' * 2_000_000}}}",
    "partitions without end": _TOPICS + f"    - {{name: x, partitions: {'9' * 1_000_000}}}",
    "a duration without end": _TOPICS + f"    - {{name: x, configs: {{retention.ms: {'9' * 1_000_000}d}}}}",
    "a line without end": "a: " + "x" * 20_000_000,
    "documents without end": "---\n" * 300_000,
    "keys without end": "".join(f"k{number}: 1\n" for number in range(50_000)),
    "a rule that multiplies": _ACLS.replace(
        "principal: User:svc", f"principals: [{', '.join(f'User:{n}' for n in range(3_000))}]"
    )
    + f"    - {{allow: [READ, WRITE, ALTER], topics: [{', '.join(f't{n}' for n in range(5_000))}]}}",
    "a tag that runs": "!!python/object/apply:os.system ['true']",
}


def _limited(*words: str, place: Path) -> "subprocess.CompletedProcess[str]":
    """A command that may use 1 GiB of memory and a minute of a processor."""

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))

    line = [str(prepared().programs / "reconciler"), *words]
    return subprocess.run(line, cwd=place, capture_output=True, text=True, check=False, preexec_fn=limits)


@pytest.mark.parametrize("text", MANIFESTS.values(), ids=MANIFESTS.keys())
def test_a_manifest_cannot_exhaust_a_machine(tmp_path: Path, text: str) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "cluster.yaml").write_text(_CLUSTER)
    (tmp_path / "m" / "team.yaml").write_text(text)
    ended = _limited("validate", "m", place=tmp_path)
    assert "Traceback" not in ended.stderr
    assert ended.stderr == "" or "team.yaml:" in ended.stderr
    assert ended.returncode == (0 if ended.stderr == "" else 1)


PLANS = {
    "deep": seal('{"steps":' + "[" * 2_000_000),
    "never closed": seal('{"steps":"' + "x" * 20_000_000),
    "a number without end": seal('{"formatVersion":"1.0","asOf":' + "9" * 5_000_000),
    "an exponent without end": seal('{"formatVersion":"1.0","estimatedSeconds":1e999999999'),
    "no line": "x" * 10_000_000,
    "digests without end": ',\n"digest":"sha256:' + "0" * 64 + '"\n}\n' * 500_000,
}
JOURNALS = {
    "deep": "[" * 2_000_000 + "\n",
    "no line": "x" * 10_000_000,
    "lines without end": "{}\n" * 300_000,
    "a number without end": '{"record":"run","format":' + "9" * 1_000_000 + "}\n",
}
SNAPSHOTS = {
    "deep": "[" * 2_000_000,
    "a number without end": '{"formatVersion":"1.0","clusterId":' + "9" * 5_000_000 + "}",
    "no text": "x" * 10_000_000,
}


@pytest.mark.parametrize("text", PLANS.values(), ids=PLANS.keys())
def test_a_plan_cannot_exhaust_a_machine(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    ended = _limited("show", "plan.json", place=tmp_path)
    assert ended.returncode == 4
    assert ended.stderr.startswith("error: plan.json: ")
    assert len(ended.stderr) < 2_000


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan that could be applied, if its journal could be read."""
    place = tmp_path_factory.mktemp("planned")
    (place / "m").mkdir()
    (place / "m" / "all.yaml").write_text(_CLUSTER + "---\n" + _ACLS + "    - {allow: READ, topics: [x]}\n")
    (place / "live.json").write_text(snapshot_text(ClusterState("id")))
    done = _limited("plan", "m", "--cluster", "snapshot:live.json", "--out", "plan.json", place=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def saved(planned: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(planned, tmp_path, dirs_exist_ok=True))


@pytest.mark.parametrize("text", JOURNALS.values(), ids=JOURNALS.keys())
def test_a_journal_cannot_exhaust_a_machine(saved: Path, text: str) -> None:
    (saved / "plan.json.journal").write_text(text)
    for command in (
        ["apply", "plan.json", "m", "--cluster", "snapshot:live.json", "--yes"],
        ["undo", "plan.json", "m"],
    ):
        ended = _limited(*command, place=saved)
        assert ended.returncode in (1, 64), ended.stderr[:500]
        assert "journal" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert len(ended.stderr) < 5_000


@pytest.mark.parametrize("text", SNAPSHOTS.values(), ids=SNAPSHOTS.keys())
def test_a_snapshot_cannot_exhaust_a_machine(saved: Path, text: str) -> None:
    (saved / "live.json").write_text(text)
    ended = _limited("plan", "m", "--cluster", "snapshot:live.json", "--output", "json", place=saved)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr) < 2_000


def test_the_plan_that_the_others_spoil_can_be_applied(saved: Path) -> None:
    ended = _limited(
        "apply", "plan.json", "m", "--cluster", "snapshot:live.json", "--yes", "--output", "json", place=saved
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["counts"]["done"] == 1
