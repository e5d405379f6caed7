"""Brokers of other makes, and readers of the chart; each test needs Go and is marked ``compat``, for its own run."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.kafka.cluster import connect
from tests.compat.deviations import DEVIATIONS
from tests.compat.kfake import build, login_settings, running
from tests.contract import subject as contract
from tests.contract.subject import Subject


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if not item.path.is_relative_to(here):
            continue
        item.add_marker(pytest.mark.compat)
        deviation = DEVIATIONS.get(item.name) or DEVIATIONS.get(item.name.partition("[")[0])
        if deviation is not None and item.path.name.startswith("test_contract_"):
            # Strict: a deviation that is gone has to leave the table.
            item.add_marker(pytest.mark.xfail(reason=deviation, strict=True))


@pytest.fixture(scope="session")
def kfake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program."""
    return build(tmp_path_factory.mktemp("kfake"))


@pytest.fixture(scope="session")
def contract_cluster(kfake: Path) -> Iterator[Subject]:
    """Kfake as it is, except that its handshake names the mechanisms, so that both clients log in."""
    with running(kfake, "-login", "-mechanisms") as servers, connect(login_settings(servers)) as cluster:
        yield Subject(cluster, (4, 4))


@pytest.fixture
def subject(contract_cluster: Subject, monkeypatch: pytest.MonkeyPatch) -> Subject:
    # kfake shows each change at once: what does not show now never will.
    monkeypatch.setattr(contract, "_PATIENCE_SECONDS", 1.0)
    return contract_cluster


@pytest.fixture
def own() -> str:
    """A text that only this test uses."""
    return f"c{secrets.token_hex(6)}"
