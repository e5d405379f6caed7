"""Globs mean what a backtracking matcher says, and end where that one does not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.scope import name_glob, path_glob

_LETTERS = st.text(alphabet="ab/*?.[", max_size=8)
_TEXTS = st.text(alphabet="ab/*.[\n", max_size=8)
_PATH_WORDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@given(_LETTERS, _TEXTS)
def test_a_name_glob_matches_as_its_regular_expression_does(glob: str, text: str) -> None:
    expected = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in glob)
    assert name_glob(glob)(text) is (re.fullmatch(expected, text, re.DOTALL) is not None)


@given(_LETTERS, _TEXTS)
def test_a_path_glob_matches_as_its_regular_expression_does(glob: str, text: str) -> None:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    expected = "".join(_PATH_WORDS.get(part) or re.escape(part) for part in parts)
    assert path_glob(glob)(text) is (re.fullmatch(expected, text, re.DOTALL) is not None)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("matcher", [name_glob, path_glob])
def test_a_glob_made_to_backtrack_ends(matcher: object) -> None:
    assert callable(matcher)
    assert not matcher("*a" * 60 + "zz")("a" * 5_000)
    assert not matcher("**a" * 60 + "zz")("a" * 5_000)


def test_half_a_surrogate_is_one_character_that_no_glob_names() -> None:
    assert name_glob("User:?")("User:\ud800")
    assert not name_glob("User:\ud800")("User:x")
