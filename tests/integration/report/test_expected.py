"""Every format of the same results, byte for byte as it was looked at."""

from typing import Any

import pytest

from reconciler.report.results import Report
from tests.integration.report.formats import FORMATS, report_of
from tests.integration.report.written import EXPECTED, written


@pytest.mark.parametrize("name", FORMATS)
def test_the_examples(name: str, report: Report) -> None:
    assert written(name, report) == _expected("example", name)


@pytest.mark.parametrize("name", FORMATS)
def test_drift_and_validation(name: str, documents: dict[str, Any]) -> None:
    assert written(name, report_of([documents["drift"], documents["validate"]])) == _expected("drift", name)


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_names(name: str, hostile: Report) -> None:
    assert written(name, hostile) == _expected("hostile", name)


def _expected(kind: str, name: str) -> str:
    """Written again by: python -m tests.integration.report.written."""
    return (EXPECTED / kind / name).read_text(encoding="utf-8")
