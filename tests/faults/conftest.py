"""The cluster behind proxies, started once for all scenarios, healed between them and ended after the last."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.cluster import Cluster, three_brokers

_running: list[Cluster] = []


@pytest.fixture(scope="session")
def _until() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def _three(_until: ExitStack, sandbox_root: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Ended after the last file that asks for it: six idle nodes are a tenth of a processor to the end of the run.

    One controller does where no test kills it, and those that do are long.
    """
    asking = [item for item in request.session.items if isinstance(item, pytest.Function) and _asks(item)]
    if not _running:
        _until.callback(_running.clear)
        controllers = 3 if any(item.get_closest_marker("long") for item in asking) else 1
        _running.append(_until.enter_context(three_brokers(sandbox_root, controllers=controllers)))
    yield _running[0]
    if request.path == asking[-1].path:
        _until.close()


def _asks(item: pytest.Function) -> bool:
    return "_three" in item.fixturenames


@pytest.fixture
def three(_three: Cluster) -> Iterator[Cluster]:
    """Three brokers and three controllers that are well when a test begins, and when it ends."""
    _three.heal()
    yield _three
    _three.heal()
