"""The hostile corpus, mutated: the reader ends with manifests or with problems, soon, and shows nothing raw."""

import datetime
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import MOST_PROBLEMS, ManifestError
from reconciler.model.characters import is_visible

CORPUS = {path.name: path.read_bytes().decode("utf-8") for path in sorted((Path(__file__).parent / "corpus").iterdir())}
TEXTS = tuple(CORPUS.values())
DAY = datetime.date(2026, 1, 1)
#: Processor seconds for a file of some kilobytes; it takes milliseconds.
ENOUGH = 20
#: What means something to YAML, to variables, to secrets, or to a reader's eye.
TOKENS = [
    *("\u200b", "\u202e", "\U0001d159", "\u0301", "\u0430", "\r", "\t", "\0", "\ufeff", "\ud800", "\U0010ffff"),
    *("*a", "&a ", "!!str ", "<<: ", "? ", "- ", "[", "]", "{", "}", '"', "'", "|\n", "---\n", "...\n", ": ", "# "),
    *("${vars.x}", "${env:HOME}", "password: 'x", "\\u200b", "\\", "*" * 30, "9" * 400, "a" * 3_000, "[" * 40),
]


@st.composite
def hostile(draw: st.DrawFn) -> str:
    """A file of the corpus after some edits: a token put in, a part left out, doubled, or taken from another file."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(0, 5))):
        start, end = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        other = draw(st.sampled_from(TEXTS))
        part = draw(
            st.one_of(
                st.sampled_from(TOKENS),
                st.builds(lambda token, times: token * times, st.sampled_from(TOKENS), st.integers(1, 300)),
                st.just(""),
                st.just(text[start:end] * 2),
                st.just(other[: draw(st.integers(0, len(other)))]),
            )
        )
        text = text[:start] + part + text[draw(st.sampled_from([start, end])) :]
    return text


def ended(text: str) -> None:
    """Fails where anything comes of it but manifests or problems that can be shown, or where it takes long."""
    started = time.process_time()
    refused: ManifestError | None = None
    try:
        manifests = load([Source("a.yaml", text)])
        for cluster in manifests.clusters:
            desired_state(manifests, cluster, DAY)
    except ManifestError as error:
        refused = error
    assert time.process_time() - started < ENOUGH
    if refused is not None:
        assert 0 < len(refused.problems) <= MOST_PROBLEMS + 1
        assert all(is_visible(line.replace("\t", " ")) for line in str(refused).split("\n"))


@pytest.mark.parametrize("name", CORPUS)
def test_a_hostile_file_is_read_or_refused(name: str) -> None:
    """Each file of the corpus as it is: an answer, and no exception."""
    ended(CORPUS[name])


@given(hostile())
@settings(
    max_examples=8 * settings().max_examples,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_mutated_hostile_file_is_read_or_refused(text: str) -> None:
    """Any file that comes of the corpus by edits: an answer, within the bound."""
    ended(text)
