"""What an operator sets for Spark, as spark-submit reads it, and what counts of it in a session of ours."""

from pathlib import Path

import pytest

from reconciler.parts.fleet.spark.jvm import _options, operator_settings
from reconciler.parts.fleet.spark.session import _FIXED, _ONCE, _USUAL, _Settings


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "spark-defaults.conf").write_text(
        "# spark.ui.enabled true\n\n  spark.app.name   nightly fleet  \nspark.speculation=true\n"
        "spark.eventLog.dir: hdfs://logs/a b\nspark.driver.extraJavaOptions -Dtrust=a=b\nother thing\n",
        encoding="utf-8",
    )
    return tmp_path


def test_settings_are_those_of_the_file_and_then_of_the_variable(conf: Path) -> None:
    file = {
        "spark.app.name": "nightly fleet",
        "spark.speculation": "true",
        "spark.eventLog.dir": "hdfs://logs/a b",
        "spark.driver.extraJavaOptions": "-Dtrust=a=b",
    }
    environment = {"SPARK_CONF_DIR": str(conf)}
    assert operator_settings(environment) == file
    words = "--name 'by hand' --conf spark.speculation=false -c 'spark.a=b c' --conf=spark.d=e=f pyspark-shell"
    assert operator_settings({**environment, "PYSPARK_SUBMIT_ARGS": words}) == {
        **file,
        "spark.app.name": "by hand",
        "spark.speculation": "false",
        "spark.a": "b c",
        "spark.d": "e=f",
    }
    other = f"--properties-file {conf / 'none'} --driver-java-options '-Da -Db' pyspark-shell"
    found = operator_settings({**environment, "PYSPARK_SUBMIT_ARGS": other})
    assert found == {"spark.driver.extraJavaOptions": "-Da -Db"}


@pytest.mark.parametrize("name", _USUAL)
def test_an_operator_may_set_otherwise_what_is_usual(name: str) -> None:
    told: list[str] = []
    own = _Settings(_USUAL, {**_FIXED, **_ONCE}, told.append)
    assert name not in own.beside({name: "theirs"})
    own.tell_overridden({name: "theirs"})
    assert told == []


@pytest.mark.parametrize("name", [*_FIXED, *_ONCE])
def test_what_fences_effects_and_results_counts_and_is_said(name: str) -> None:
    told: list[str] = []
    own = _Settings(_USUAL, {**_FIXED, **_ONCE}, told.append)
    fixed = {**_FIXED, **_ONCE}[name]
    assert own.beside({name: "theirs"})[name] == fixed
    own.tell_overridden({name: "theirs"})
    assert told == [f"Spark's setting {name} is {fixed} here, not theirs as it is configured"]


def test_a_collector_that_the_operator_names_is_the_only_one(tmp_path: Path) -> None:
    assert "-XX:+UseSerialGC" in _options("-Dtrust=store", tmp_path)
    assert "-XX:+UseSerialGC" not in _options("-XX:+UseG1GC", tmp_path)
