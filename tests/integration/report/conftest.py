"""Results of the examples, and of a cluster full of hostile names, each made once."""

from typing import Any

import pytest

from reconciler.show.reading import Report
from tests.integration.report.formats import report_of
from tests.integration.report.results import example_documents, hostile_documents


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the commands print on the examples, by command."""
    return example_documents(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="session")
def report(documents: dict[str, Any]) -> Report:
    """Plan, lint and test of the examples."""
    return report_of([documents["plan"], documents["lint"], documents["test"]])


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The same of a cluster whose principals attack whoever reads about them."""
    return report_of(hostile_documents(tmp_path_factory.mktemp("hostile")).values())
