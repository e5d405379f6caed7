"""``init`` leaves a directory that validates and plans at once, whatever it is told."""

import io
import sys
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.manifest.connections import connections
from reconciler.manifest.read.findings import Source
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import BrokerFacts, snapshot_text

TOLD = [
    *(
        "--cluster",
        "prod-eu",
        "--bootstrap-servers",
        "b-1.example:9093, b-2.example:9093",
        "--team",
        "pay=User:it's pay",
    ),
    *("--principal", "User:CN=reconciler, O=Example", "--security-protocol", "SSL"),
]


class Terminal(io.StringIO):
    """A person's answers."""

    def isatty(self) -> bool:
        return True


def _empty(tmp_path: Path) -> str:
    file = tmp_path / "live.json"
    file.write_text(snapshot_text(ClusterState("c"), BrokerFacts(broker_ids=(1,))), "utf-8")
    return f"snapshot:{file}"


@pytest.mark.parametrize("told", [[], TOLD], ids=["nothing", "everything"])
def test_what_it_leaves_validates_and_plans(
    told: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "new"
    assert run(["init", str(directory), *told]) == 0
    written = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
    team = "pay" if told else "orders"
    assert written == {
        ".gitignore",
        "connections.yaml",
        "manifests/cluster.yaml",
        "manifests/ownership.yaml",
        "reconciler.yaml",
        f"manifests/teams/{team}/access.yaml",
        f"manifests/teams/{team}/topics.yaml",
    }
    manifests, operators = str(directory / "manifests"), str(directory / "connections.yaml")
    capsys.readouterr()
    assert run(["validate", manifests, "--expand"]) == 0
    assert f"READ on GROUP PREFIXED {team}." in capsys.readouterr().out
    assert run(["lint", manifests, "--fail-on", "warning"]) == 0
    assert run(["plan", manifests, "--cluster", _empty(tmp_path), "--connections", operators]) == 0
    assert f"topic {team}.events: 3 partitions" in capsys.readouterr().out


def test_in_the_directory_commands_need_no_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(tmp_path), *TOLD]) == 0
    monkeypatch.chdir(tmp_path)
    assert run(["validate"]) == 0
    assert "cluster prod-eu: 7 ACLs, 1 topic declared" in capsys.readouterr().out


def test_the_connections_file_says_what_was_told(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path), *TOLD]) == 0
    text = (tmp_path / "connections.yaml").read_text("utf-8")
    found = connections([Source("connections.yaml", text)])["prod-eu"]
    assert found.bootstrap_servers == ("b-1.example:9093", "b-2.example:9093")
    assert found.facts.principal == "User:CN=reconciler, O=Example"


def test_a_login_is_a_reference_that_git_never_sees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(tmp_path), "--bootstrap-servers", "b-1.example:9093"]) == 0
    assert "sasl.password: ${env:KAFKA_PASSWORD}\n" in (tmp_path / "connections.yaml").read_text("utf-8")
    assert "/connections.yaml\n" in (tmp_path / ".gitignore").read_text("utf-8")
    assert "--allow-env KAFKA_PASSWORD" in capsys.readouterr().err


def test_a_second_team_is_added_to_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(tmp_path), *TOLD]) == 0
    manifests = tmp_path / "manifests"
    cluster = (manifests / "cluster.yaml").read_text("utf-8")
    assert run(["init", str(tmp_path), "--team", "log=User:it's log"]) == 0
    changed = (manifests / "cluster.yaml").read_text("utf-8").splitlines()
    assert [line for line in changed if line not in cluster.splitlines()] == [
        "      - principals: [User:it's log]",
        "      - topics: {prefix: log.}",
    ]
    owners = (manifests / "ownership.yaml").read_text("utf-8")
    assert (
        "      principals: [User:it's pay]\n    log: {prefix: log., principals: [User:it's log]}\n  owners:\n" in owners
    )
    assert (manifests / "teams/log/access.yaml").exists()
    capsys.readouterr()
    assert run(["validate", str(manifests)]) == 0
    assert "cluster prod-eu: 14 ACLs, 2 topics declared" in capsys.readouterr().out
    before = {path: path.read_text("utf-8") for path in manifests.rglob("*.yaml")}
    assert run(["init", str(tmp_path), "--team", "log"]) == 1
    assert before == {path: path.read_text("utf-8") for path in manifests.rglob("*.yaml")}
    (manifests / "cluster.yaml").write_text("a: [", "utf-8")
    assert run(["init", str(tmp_path), "--team", "web"]) == 1
    assert not (manifests / "teams/web").exists()


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "connections.yaml").write_text("mine", "utf-8")
    assert run(["init", str(tmp_path)]) == 1
    assert "connections.yaml" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["connections.yaml"]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--bootstrap-servers", "broker", "is not host:port"),
        ("--principal", "reconciler", "is not a principal"),
        ("--team", "pay=User:*", "is not a wildcard here"),
        ("--team", "../x", "is not a valid document name"),
        ("--team", "x" * 101, "at most 100 characters"),
    ],
)
def test_what_no_manifest_can_hold_is_refused(
    option: str, value: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(tmp_path / "new"), option, value]) == 64
    assert said in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_it_asks_at_a_terminal_for_what_is_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(sys, "stdin", Terminal("nowhere\nb-1.example:9093\n\n\nbilling\n\n"))
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda stream: True)
    assert run(["init", str(tmp_path), "--cluster", "prod"]) == 0
    asked = capsys.readouterr()
    assert "is not host:port" in asked.err + asked.out
    text = (tmp_path / "connections.yaml").read_text("utf-8")
    assert "security.protocol: SASL_SSL" in text
    assert "principal: User:reconciler" in text
    assert "User:svc-billing" in (tmp_path / "manifests/teams/billing/access.yaml").read_text("utf-8")
