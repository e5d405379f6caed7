"""What ``kafka-configs --describe`` prints of quotas: an entity counts only if it is one that Kafka has."""

from pathlib import Path

import pytest

from reconciler.model.kinds.quota import ClientQuota
from reconciler.parts.convert.files import STDIN, SourceFiles
from reconciler.parts.convert.recognition import convert


def converted(entity: str) -> tuple[list[str], int]:
    """The quotas, and how many lines are not understood."""
    text = f"Quota configs for {entity} are consumer_byte_rate=2.0\n"
    found = convert("kafka-describe", SourceFiles(Path(), (STDIN,), stdin=text))
    return [item.subject for item in found.listed.get(ClientQuota.KIND, ())], len(found.skipped)


@pytest.mark.parametrize(
    ("entity", "quotas"),
    [
        ("user-principal 'a'", ["quota of user a"]),
        ("user-principal 'a', client-id 'b'", ["quota of user a, client-id b"]),
        ("the default user-principal, client-id 'b'", ["quota of default user, client-id b"]),
        ("user-principal 'a', user-principal 'b'", []),
        ("client-id 'a', client-id 'b'", []),
        ("the default user-principal 'a'", []),
        ("user-principal", []),
        ("user-principal 'a' and more", []),
    ],
)
def test_a_line_is_the_quota_of_one_entity(entity: str, quotas: list[str]) -> None:
    assert converted(entity) == (quotas, int(not quotas))
