"""The page for users lists where kfake differs from Apache Kafka."""

from pathlib import Path

from tests.compat.deviations import DEVIATIONS


def test_every_deviation_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "compatibility.md").read_text(encoding="utf-8")
    assert [reason for reason in set(DEVIATIONS.values()) if f"- {reason}\n" not in page] == []
