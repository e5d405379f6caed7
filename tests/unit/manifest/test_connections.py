"""Connections from a file of the operator's."""

import pytest

from reconciler.manifest.connections import connections
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError, Problem
from reconciler.model.desired import Origin

TEXT = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: dev}
spec:
  bootstrapServers: [localhost:9092]
  client:
    security.protocol: PLAINTEXT
  principal: User:reconciler
"""


def test_the_probe_has_settings_of_its_own() -> None:
    found = connections([Source("c.yaml", TEXT + "  barrier: {client: {sasl.username: probe}}\n")])
    assert dict(found["dev"].barrier_client) == {"sasl.username": "probe"}


def test_connection_and_facts_are_read() -> None:
    found = connections([Source("c.yaml", TEXT)])
    assert list(found) == ["dev"]
    assert found["dev"].bootstrap_servers == ("localhost:9092",)
    assert dict(found["dev"].client) == {"security.protocol": "PLAINTEXT"}
    assert found["dev"].facts.principal == "User:reconciler"
    assert dict(found["dev"].origins) == {"security.protocol": Origin("c.yaml", 7, 5)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TEXT.replace("User:reconciler", "not even a principal"), ["KR040"]),
        (TEXT.replace("localhost:9092", "localhost"), ["KR084"]),
        (TEXT + "  barrier: {client: [a]}\n", ["KR027"]),
        (TEXT + "---\n" + TEXT, ["KR024"]),
        (TEXT.replace("Cluster", "Acls"), ["KR022"]),
        ("a: [", ["KR006"]),
        ("apiVersion: reconciler/v1\nkind: Cluster\n", ["KR025", "KR025"]),
        # Without names, nothing is called alike.
        ("apiVersion: reconciler/v1\nkind: Cluster\n---\napiVersion: reconciler/v1\nkind: Cluster\n", ["KR025"] * 4),
    ],
)
def test_problems(text: str, expected: list[str]) -> None:
    with pytest.raises(ManifestError) as caught:
        connections([Source("c.yaml", text)])
    assert [problem.code for problem in caught.value.problems] == expected


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        ("{envPrefixes: [KAFKA_USER_], directories: [/run/secrets, /run/../etc/kafka]}", []),
        ("{envPrefixes: [KAFKA_USER_, '', ' ']}", [44, 48]),
        ("{directories: [/, /run/secrets, //, /., relative, ./run, '']}", [31, 48, 52, 56, 66, 73]),
        ("{directories: [/run/.., /run/../etc/.././]}", [31, 40]),
    ],
)
def test_a_permit_of_everything_is_none(given: str, columns: list[int]) -> None:
    """However it is written: an operator who permits every file permits those of every other login."""
    line = f"  userSecrets: {given}"
    try:
        connections([Source("c.yaml", f"{TEXT}{line}\n")])
        found: tuple[Problem, ...] = ()
    except ManifestError as error:
        found = error.problems
    assert [(problem.code, problem.origin.column) for problem in found] == [("KR028", column) for column in columns]
