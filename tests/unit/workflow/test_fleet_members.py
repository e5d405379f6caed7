"""How the command line names the clusters that snapshot files stand for."""

import pytest

from reconciler.parts.fleet.app.members import file_readers


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("prod=live.json", "prod"),
        ("live/prod.json", "prod"),
        ("env=live/prod.json", "env"),
        ("live/env=eu/a.json", "a"),
    ],
)
def test_a_file_is_of_the_cluster_that_is_named_or_of_its_stem(text: str, name: str) -> None:
    assert [source.cluster for source in file_readers(None, [text])] == [name]
