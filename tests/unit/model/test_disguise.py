"""Characters that nobody sees: shown by their code wherever something is printed, refused in manifests."""

import unicodedata

import pytest

from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.model.characters import escape_invisible, escape_invisible_json

#: Invisible for readers, of every kind that Unicode has; most are "default ignorable", one is a blank in braille.
HIDDEN = "\u200b\u202e\u2060\u2800\u3164\ufe0f\U00013437\U0001bca0\U0001d173\U000e0041"
MANIFEST = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c, labels: {team: a%s}}\nspec: {}\n"


@pytest.mark.parametrize("character", HIDDEN, ids=unicodedata.name)
def test_what_nobody_sees_is_shown_and_refused(character: str) -> None:
    assert character not in escape_invisible(f"User:admin{character}")
    assert character not in escape_invisible_json(f"User:admin{character}")
    with pytest.raises(ManifestError) as error:
        load([Source("a.yaml", MANIFEST % character)])
    assert [problem.code for problem in error.value.problems] == ["KR005"]
