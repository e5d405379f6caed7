"""Cluster tests decided on what brokers tell: what none tells never counts as held, and each that differs is named."""

import datetime
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.app import states
from reconciler.app.cluster_checks import decided, declared_tests
from reconciler.app.session import Target
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.manifest.manifests import Manifests, load
from reconciler.manifest.read.findings import Source
from reconciler.model.state import BrokerConfig, BrokerSettings, ClusterState, ConfigOrigin
from reconciler.ports import NO_AUTHORIZER, ClusterError, ReadRequest
from reconciler.results.findings import ClaimStatus, ClusterTestResult
from reconciler.show.claims import cluster_test_lines
from reconciler.snapshot.file import MemoryCluster

DAY = datetime.date(2026, 11, 23)
_AUTO = "{auto.create.topics.enable: 'false'}"


def told(values: Mapping[int, str | None], key: str = "auto.create.topics.enable", **more: Any) -> BrokerSettings:
    """Brokers with one config each."""
    configs = {broker: {key: BrokerConfig(value, ConfigOrigin.FILE)} for broker, value in values.items()}
    return BrokerSettings(configs, **more)


def decide(test: str, settings: BrokerSettings, cluster: str = "{}", *, exceptions: str = "") -> ClusterTestResult:
    """The only claim of a test, on what brokers tell."""
    text = (
        f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: c}}\nspec: {cluster}\n---\n"
        "apiVersion: reconciler/v1\nkind: ClusterTests\nmetadata: {name: brokers}\nspec:\n  tests:\n"
        f"    - {{name: t, {test}}}\n{exceptions}"
    )
    manifests = load([Source("m.yaml", text)])
    (result,) = decided(declared_tests(manifests, "c"), settings, DAY, manifests.clusters["c"])
    return result


def lines(result: ClusterTestResult) -> list[str]:
    """The lines of a result but for its head and the counts."""
    return [line.strip() for line in cluster_test_lines([result])][2:-1]


@pytest.mark.parametrize(
    ("asked", "key", "value", "standing"),
    [
        (_AUTO, "auto.create.topics.enable", "false", "passed"),
        ("{auto.create.topics.enable: 'FALSE'}", "auto.create.topics.enable", "false", "passed"),
        (_AUTO, "auto.create.topics.enable", "true", "failed"),
        ("{min.insync.replicas: {min: 2}}", "min.insync.replicas", "2", "passed"),
        ("{min.insync.replicas: {min: 2}}", "min.insync.replicas", "1", "failed"),
        ("{log.retention.ms: {max: 7d}}", "log.retention.ms", "604800000", "passed"),
        ("{log.retention.ms: {max: 7d}}", "log.retention.ms", "604800001", "failed"),
        # Without a limit: no number, whichever side is asked.
        ("{log.retention.ms: {max: 7d}}", "log.retention.ms", "-1", "undecided"),
        ("{log.retention.ms: {min: 7d}}", "log.retention.ms", None, "undecided"),
        ("{log.retention.ms: -1}", "log.retention.ms", "-1", "passed"),
        ("{log.retention.ms: {allowed: [7d, -1]}}", "log.retention.ms", "604800000", "passed"),
        ("{log.segment.bytes: {min: 1GiB, max: 1GiB}}", "log.segment.bytes", "1073741824", "passed"),
        ("{a: {allowed: [x, '']}}", "a", "", "passed"),
        ("{a: x}", "a", None, "failed"),
        ("{a: X}", "a", "x", "failed"),
        ("{a: 'x,y'}", "a", "y,x", "failed"),
    ],
)
def test_a_value_is_held_against_what_is_asked(asked: str, key: str, value: str | None, standing: str) -> None:
    assert decide(f"configs: {asked}", told({1: value}, key)).standing.value == standing


def test_every_broker_that_differs_is_named_with_what_it_has() -> None:
    settings = told({1: "false", 2: "true", 3: "true"}, silent={4: "CLUSTER_AUTHORIZATION_FAILED: not authorized"})
    result = decide(f"configs: {_AUTO}", settings, "{brokers: [1, 2, 3, 4, 5]}")
    assert lines(result) == [
        "but brokers 2, 3: true (from its file)",
        "could not be found out: broker 4: it does not tell its configs: CLUSTER_AUTHORIZATION_FAILED: not authorized",
        "could not be found out: broker 5: it is declared, and the cluster does not name it",
    ]
    assert result.standing is ClaimStatus.FAILED


@pytest.mark.parametrize(
    ("settings", "doubt"),
    [
        (BrokerSettings(gap="a snapshot holds no configs"), "a snapshot holds no configs"),
        (BrokerSettings(), "the cluster names no broker"),
        (BrokerSettings({1: {}}), "broker 1: it has no config of that name, or nobody set it"),
        (
            BrokerSettings({1: {"auto.create.topics.enable": BrokerConfig(None, hidden=True)}}),
            "broker 1: it hides the value",
        ),
        (BrokerSettings(silent={1: "TIMED_OUT: x"}), "broker 1: it does not tell its configs: TIMED_OUT: x"),
    ],
)
def test_what_cannot_be_read_is_undecided_and_stops(settings: BrokerSettings, doubt: str) -> None:
    result = decide(f"configs: {_AUTO}", settings)
    assert (result.standing, result.stops) == (ClaimStatus.UNDECIDED, True)
    assert lines(result) == [f"could not be found out: {doubt}"]


@pytest.mark.parametrize(
    ("least", "features", "standing"),
    [
        ("4.1", {"metadata.version": 26}, "passed"),
        ("4.1", {"metadata.version": 25}, "failed"),
        ("26", {"metadata.version": 26}, "passed"),
        ("4.1", {}, "failed"),
        ("4.1", None, "undecided"),
    ],
)
def test_a_feature_has_at_least_a_level(least: str, features: Mapping[str, int] | None, standing: str) -> None:
    result = decide(f"features: {{metadata.version: {{min: {least}}}}}", BrokerSettings(features=features))
    assert result.standing.value == standing


def test_what_is_stated_of_the_authorizer_is_shown_and_decides_nothing() -> None:
    hidden = BrokerSettings({1: {"allow.everyone.if.no.acl.found": BrokerConfig(None, hidden=True)}})
    result = decide("configs: {allow.everyone.if.no.acl.found: 'false'}", hidden, "{allowEveryoneIfNoAclFound: false}")
    assert result.standing is ClaimStatus.UNDECIDED
    assert lines(result)[-1] == "the manifests say false; no broker confirms it"
    # Where brokers of another make tell it, their word counts, whatever is stated.
    says = told({1: "true"}, "allow.everyone.if.no.acl.found")
    result = decide("configs: {allow.everyone.if.no.acl.found: 'false'}", says, "{allowEveryoneIfNoAclFound: false}")
    assert (result.standing, result.note) == (ClaimStatus.FAILED, "")


@pytest.mark.parametrize(
    ("expires", "severity", "standing", "stops"),
    [
        ("2026-11-23", "error", "excepted", False),
        ("2026-11-22", "error", "failed", True),
        ("2026-11-22", "warning", "failed", False),
    ],
)
def test_an_exception_accepts_a_failure_through_its_last_day(
    expires: str, severity: str, standing: str, stops: bool
) -> None:
    exception = f"exceptions: [{{check: t, reason: r, expires: {expires}}}]"
    result = decide(f"configs: {_AUTO}, severity: {severity}", told({1: "true"}), exceptions=f"  {exception}\n")
    assert (result.standing.value, result.stops) == (standing, stops)


_ANSWERS = st.sampled_from(["false", "true", "hidden", "absent", "silent"])


@given(st.dictionaries(st.integers(0, 6), _ANSWERS), st.frozensets(st.integers(0, 6)))
def test_only_what_every_broker_tells_is_held(answers: dict[int, str], declared: frozenset[int]) -> None:
    configs: dict[int, dict[str, BrokerConfig]] = {
        broker: {}
        if answer == "absent"
        else {
            "auto.create.topics.enable": BrokerConfig(None if answer == "hidden" else answer, hidden=answer == "hidden")
        }
        for broker, answer in answers.items()
        if answer != "silent"
    }
    silent = {broker: "TIMED_OUT" for broker, answer in answers.items() if answer == "silent"}
    listed = f"{{brokers: [{', '.join(map(str, sorted(declared)))}]}}" if declared else "{}"
    result = decide(f"configs: {_AUTO}", BrokerSettings(configs, silent), listed)
    whole = bool(answers) and declared <= answers.keys()
    assert (result.standing is ClaimStatus.PASSED) == (whole and set(answers.values()) == {"false"})
    assert (result.standing is ClaimStatus.FAILED) == ("true" in answers.values())


_BOTH = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c, labels: {env: prod}}
spec: {allowEveryoneIfNoAclFound: false}
---
apiVersion: reconciler/v1
kind: ClusterTests
metadata: {name: brokers}
spec:
  clusters: {matchLabels: {env: ENV}}
  tests:
    - {name: auto, configs: {auto.create.topics.enable: 'false'}}
"""
_ACCESS = """\
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: access}
spec:
  tests:
    - {name: nobody, principals: ["User:*"], mustNot: [READ], topics: [t]}
"""


class _Open(MemoryCluster):
    """A cluster without an authorizer, whose brokers have configs."""

    def read(self, request: ReadRequest) -> ClusterState:
        if request.acls:
            raise ClusterError(NO_AUTHORIZER, "this cluster has no authorizer, so it has no ACLs")
        return super().read(request)

    def broker_settings(self, configs: Collection[str], *, features: bool) -> BrokerSettings:
        return told({1: "false"})


@pytest.mark.parametrize(("more", "status"), [("", Exit.OK), (_ACCESS, Exit.FAILED_CHECK)])
def test_without_an_authorizer_cluster_tests_are_decided_and_nothing_about_access_is(
    more: str, status: Exit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = tmp_path / "m.yaml"
    manifests.write_text(_BOTH.replace("ENV", "prod") + more)

    @contextmanager
    def opened(*_: object) -> Iterator[tuple[Manifests, Target]]:
        found = load([Source("m.yaml", manifests.read_text())])
        yield found, Target("c", _Open(ClusterState("id")), found.clusters["c"])

    monkeypatch.setattr(states, "open_any", opened)
    assert run(["test", str(manifests), "--cluster", "c", "--all"]) == status
    out = capsys.readouterr().out
    assert "1 claim about brokers and features: 1 passed" in out
    assert ("undecided: SECURITY_DISABLED: this cluster has no authorizer" in out) == bool(more)
    assert "state superUsers" not in out
    # Without a claim about brokers there is nothing to decide: it is the error that it was.
    manifests.write_text(_BOTH.replace("ENV", "test") + more)
    assert run(["test", str(manifests), "--cluster", "c"]) == Exit.ERROR


@pytest.mark.parametrize("command", ["validate", "test"])
def test_cluster_tests_that_apply_to_no_cluster(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = tmp_path / "m.yaml"
    for labels, told_so in (("test", True), ("prod", False)):
        manifests.write_text(_BOTH.replace("ENV", labels))
        assert run([command, str(manifests)]) == Exit.OK
        assert ("warning 0 ClusterTests apply to c" in capsys.readouterr().out) is told_so
