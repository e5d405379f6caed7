"""The example and the tour of the fleet."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reconciler.cli.fleet_tour import prepare, tour
from reconciler.cli.main import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
EXAMPLE = Path(__file__).parents[3] / "examples" / "fleet"


def test_the_tour_shows_what_it_says(spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(EXAMPLE, tmp_path / "live")
    shown = []
    for _, arguments in tour(EXAMPLE, tmp_path):
        status = run(arguments)
        shown.append((arguments[1], int(status), capsys.readouterr().out))
    # One cluster cannot be read, which every command but a question ends with.
    assert [item[:2] for item in shown] == [("snapshot", 1), ("drift", 1), ("query", 0), ("query", 0), ("plan", 1)]
    assert "test-eu: not known" in shown[1][2]
    assert "User:intern" in shown[2][2]
    assert "User:intern" in shown[3][2]
    assert "2 clusters to change" in shown[4][2]
