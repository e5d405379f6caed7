"""The benchmarks that wait for words of a command's output, at sizes at which their seconds mean nothing."""

from collections.abc import Callable

import pytest

from benchmarks import cluster, topics

pytestmark = [pytest.mark.broker, pytest.mark.long]


@pytest.mark.parametrize(("measure", "rows"), [(lambda: cluster.main(20, 200), 3), (lambda: topics.main(20), 1)])
def test_each_row_is_printed(measure: Callable[[], None], rows: int, capsys: pytest.CaptureFixture[str]) -> None:
    measure()
    assert capsys.readouterr().out.count("processor time") == rows
