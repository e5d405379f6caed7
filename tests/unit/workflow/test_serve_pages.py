"""What a server shows of its rounds."""

import datetime
import threading
import urllib.request
from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError

import pytest

from reconciler.parts.serve.http import ServePages, status_server
from reconciler.show.rounds import HISTORY, Round, RoundHistory
from tests.unit.workflow.serving import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


WATCHED = datetime.timedelta(minutes=5)


def test_a_history_stays_small(world: World) -> None:
    history = RoundHistory(("prod",))
    first = world.round(act=False)
    for _ in range(3 * HISTORY):
        history.add(first)
    assert len(history.past) == HISTORY
    assert [one.drift for one in history.latest.values()] == [None], "one plan a cluster is kept, not one a round"


def _get(address: str, path: str, host: str | None = None, method: str = "GET") -> tuple[int, str]:
    request = urllib.request.Request(f"{address}{path}", method=method, headers={} if host is None else {"Host": host})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_pages_show_what_rounds_saw(world: World) -> None:
    history, wake = RoundHistory(("prod", "<b>other</b>")), threading.Event()
    pages = ServePages(history, wake, WATCHED)
    with status_server("127.0.0.1", 0, pages.answer) as address:
        assert _get(address, "/healthz")[0] == 200
        assert _get(address, "/readyz") == (503, "not read lately: prod, <b>other</b>\n")
        assert _get(address, "/clusters/prod")[0] == 404
        found = world.round()
        history.add(found)
        assert found.drift is not None
        other = replace(found.drift, terms=replace(found.drift.terms, cluster="<b>other</b>"))
        history.add(replace(found, cluster="<b>other</b>", drift=other))
        assert _get(address, "/readyz") == (200, "ready\n")
        status, metrics = _get(address, "/metrics")
        assert status == 200
        assert 'reconciler_serve_revoked{cluster="prod"} 1.0' in metrics
        assert 'reconciler_drift{cluster="prod",difference="undeclared",kind="acl"} 3.0' in metrics
        assert metrics.count("# TYPE reconciler_drift gauge") == 1
        assert "revoked 1 expired binding" in _get(address, "/")[1]
        assert "<b>" not in _get(address, "/")[1]
        assert "&lt;b&gt;other&lt;/b&gt;, undeclared: 3</title>" in _get(address, "/")[1], "the heat map"
        assert "User:eve" in _get(address, "/clusters/prod")[1]
        assert _get(address, "/nothing")[0] == 404
        assert _get(address, "/", host="attacker.example")[0] == 403
        assert not wake.is_set()
        assert _get(address, "/reload", method="POST")[0] == 202
        assert wake.is_set()


def test_a_failure_is_one_line_whatever_a_broker_says() -> None:
    failed = Round("c", datetime.datetime.now(datetime.UTC), failure="no\nroute")
    assert failed.words().splitlines() == [failed.words()]
