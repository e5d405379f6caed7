"""Configs of many topics are asked for by two connections: each group once, and nothing is lost where one fails."""

import threading
import warnings
from collections import deque
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pytest

with warnings.catch_warnings(action="ignore"):  # kafka-python reads its schemas by a deprecated function
    messages: Any = import_module("reconciler.kafka.config_messages")

GROUPS = [([f"{number}-a", f"{number}-b"], number % 2) for number in range(20)]
NAMES = sorted(name for group, _ in GROUPS for name in group)
FIRST, SECOND = "first", "second"


class Asked:
    """Answers of two connections; the first waits until the second has been asked something, or cannot be made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, second: str | None, broken: str = "") -> None:
        self.seen: list[tuple[str, str]] = []
        self._second, self._broken, self._come = second, broken, threading.Event()
        monkeypatch.setattr(messages, "_asked", self._ask)
        monkeypatch.setattr(messages, "_second_client", self._beside)

    def _beside(self, client: str) -> str | None:
        assert client == FIRST
        if self._second is None:
            self._come.set()
        return self._second

    def _ask(self, client: str, names: Sequence[str], broker: int) -> list[tuple[str, int, str | None, Any]]:
        assert broker == int(names[0][:-2]) % 2
        if client == SECOND:
            self._come.set()
        assert self._come.wait(30)
        if client == self._broken:
            raise IndexError("of its own")
        self.seen.extend((client, name) for name in names)
        return [(name, 0, None, [("retention.ms", name, messages.OWN, [])]) for name in names]


@pytest.mark.parametrize("second", [SECOND, None])
def test_each_group_is_asked_for_once(monkeypatch: pytest.MonkeyPatch, second: str | None) -> None:
    asked = Asked(monkeypatch, second)
    assert messages._answers_of(FIRST, deque(GROUPS), 2) == {name: {"retention.ms": name} for name in NAMES}
    assert sorted(name for _, name in asked.seen) == NAMES
    assert {client for client, _ in asked.seen} == {FIRST, second} - {None}


@pytest.mark.parametrize("broken", [FIRST, SECOND])
def test_where_one_fails_no_part_is_taken_for_all(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    Asked(monkeypatch, SECOND, broken)
    with pytest.raises(IndexError, match="of its own"):
        messages._answers_of(FIRST, deque(GROUPS), 2)


def test_few_groups_need_no_second_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, None)
    asked._come.set()
    monkeypatch.setattr(messages, "_second_client", lambda _: pytest.fail("it is not asked for"))
    messages._answers_of(FIRST, deque(GROUPS[:2]), 2)
    assert len(asked.seen) == 4
