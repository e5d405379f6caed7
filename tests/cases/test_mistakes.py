"""The mistakes of ``mistakes/*.txt``: each is answered by what is wrong, where, and what to do."""

import pytest

from tests.cases.mistakes.cases import FILES, Mistake, answers, read_mistakes

MISTAKES = [mistake for file in FILES for mistake in read_mistakes(file)]


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.title for mistake in MISTAKES])
def test_a_mistake_is_answered(mistake: Mistake) -> None:
    assert answers(mistake) == [command.expected for command in mistake.commands]
