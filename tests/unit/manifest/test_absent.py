"""What seems to be missing may be in a document that cannot be read: nothing is said of it until that one is mended."""

from typing import Final

import pytest

from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError

_HEAD: Final = "apiVersion: reconciler/v1\nkind: {}\nmetadata: {{name: {}{}}}\nspec: {}\n"


def document(kind: str, name: str, spec: str, labels: str = "") -> str:
    return _HEAD.format(kind, name, f", labels: {{{labels}}}" if labels else "", spec)


#: Who refers to something, the document that has it, and what is said where there is none.
CASES: Final = {
    "role": (
        document("Acls", "a", "{principal: User:a, rules: [{role: mine, topics: [t]}]}"),
        document("Role", "mine", "{parameters: [topics], rules: [{allow: READ, topics: $topics}]}"),
        "there is no role",
    ),
    "team": (
        document("Ownership", "o", "{consents: [{team: pay, to: pay, operations: [READ], topics: [t]}]}"),
        document("Ownership", "p", "{owners: [{team: pay, files: ['**'], topics: [t]}]}"),
        "there is no team",
    ),
    "wave": (
        document("Fleet", "f", "{waves: [{name: canary, clusters: {matchLabels: {ring: canary}}}]}"),
        document("Cluster", "c", "{}", "ring: canary"),
        "no declared cluster belongs to the wave",
    ),
}


def said(*texts: str) -> str:
    """All problems of these documents, a file each."""
    sources = [Source(f"{number}.yaml", text) for number, text in enumerate(texts)]
    try:
        problems = load(sources).warnings
    except ManifestError as error:
        problems = error.problems
    return "\n".join(problem.message for problem in problems)


@pytest.mark.parametrize(("refers", "target", "missing"), CASES.values(), ids=CASES)
def test_what_is_nowhere_is_said_and_what_may_be_in_a_broken_document_is_not(
    refers: str, target: str, missing: str
) -> None:
    broken = target.replace("spec: {", "spec: {bogus: 1, ").replace("bogus: 1, }", "bogus: 1}")
    assert "bogus" in said(refers, broken)
    assert missing in said(refers)
    assert not said(refers, target)
    assert missing not in said(refers, broken)
