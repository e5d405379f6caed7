"""The cluster behind proxies, started once for all scenarios and healed between them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.cluster import Cluster, three_brokers


@pytest.fixture(scope="session")
def _three(sandbox_root: Path) -> Iterator[Cluster]:
    with three_brokers(sandbox_root) as cluster:
        yield cluster


@pytest.fixture
def three(_three: Cluster) -> Iterator[Cluster]:
    """Three brokers and three controllers that are well when a test begins, and when it ends."""
    _three.heal()
    yield _three
    _three.heal()
