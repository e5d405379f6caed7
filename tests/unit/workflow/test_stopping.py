"""Signals that ask a run to stop: the batch in flight is finished, and nothing of the run's own is left behind."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from reconciler.app.apply import stoppable

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def _handled_by(number: signal.Signals, handler: signal.Handlers) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", ASKING)
def test_one_signal_asks_and_a_second_one_ends_at_once(number: signal.Signals) -> None:
    asked: list[str] = []
    # The tests themselves may run under nohup, where a hangup is ignored.
    with _handled_by(number, signal.SIG_DFL):
        with stoppable(lambda: asked.append("asked")) as stopped:
            assert not stopped()
            os.kill(os.getpid(), number)
            assert stopped()
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), number)
        assert asked == ["asked"]
        assert signal.getsignal(number) is signal.SIG_DFL


def test_a_run_under_nohup_survives_the_terminal() -> None:
    with _handled_by(signal.SIGHUP, signal.SIG_IGN), stoppable(lambda: None) as stopped:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stopped()
