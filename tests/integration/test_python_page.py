"""The examples of docs/python.md on a real broker, and on Spark."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.parts.local.sandbox.state import Sandbox
from tests.integration.main_job import connections_file
from tests.unit.workflow.python_page import prepare, run_section

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.broker
def test_a_real_cluster_is_planned_for(
    broker: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    connections_file(tmp_path / "connections.yaml", broker, "reconciler", name="prod")
    names: dict[str, Any] = {}
    run_section("Clusters", names)
    run_section("Validate", names)
    run_section("Plan", {**names, "api": names["api"]})
    exec("from reconciler.plan.kinds import describe\nfrom reconciler.api import PlanOptions", names)  # noqa: S102
    run_section("A real cluster", names)
    shown = capsys.readouterr().out
    assert "create topic python-page.orders" in shown
    assert "2 2" in shown


@pytest.mark.spark
def test_the_drift_of_a_fleet(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    run_section("Clusters", names)
    run_section("The drift of a fleet", names)
    shown = capsys.readouterr().out
    assert "prod 1 to create, 1 to delete" in shown
    assert "['cluster', 'bindings'] [['prod', 1]] not known: []" in shown
