"""Units that are worked on side by side, each within its time."""

import threading

from reconciler.parts.fleet.spark.session import in_time


def test_what_does_not_end_in_time_is_none_and_the_rest_is_done() -> None:
    stuck = threading.Event()

    def work(number: int) -> str:
        if number in {1, 2, 5}:
            stuck.wait(60)
        return str(number)

    try:
        found = list(in_time(range(7), work, 2, 0.5))
    finally:
        stuck.set()
    assert found == [(0, "0"), (1, None), (2, None), (3, "3"), (4, "4"), (5, None), (6, "6")]


def test_what_is_empty_stays_empty() -> None:
    assert list(in_time([], str, 4, 1.0)) == []
