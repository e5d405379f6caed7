"""Manifests made to exhaust the reader, or to drown its reader in problems: each ends soon, and says a little."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.app.validate import validate
from reconciler.manifest.manifests import load
from reconciler.manifest.read import documents
from reconciler.manifest.read.findings import MOST_PROBLEMS as MOST_OF_A_FILE
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import MOST_PROBLEMS, ManifestError, Problem, problem_count

#: Processor seconds. Each takes less than 10 on a quiet machine, and took minutes, or had no end.
ENOUGH = 60
ACLS = "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n  principal: User:a\n  rules:\n"
TOPICS = "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: a}\nspec:\n  topics:\n"


def problems_of(*texts: str) -> tuple[Problem, ...]:
    """What is said of these files, after less work than would be noticed."""
    sources = [Source(f"f{number:05}.yaml", text) for number, text in enumerate(texts)]
    started = time.process_time()
    with pytest.raises(ManifestError) as refused:
        load(sources)
    assert len(str(refused.value)) < 1_000_000
    assert time.process_time() - started < ENOUGH
    return refused.value.problems


def test_zero_width_characters_are_one_problem() -> None:
    """0.9 MB of zero-width characters on one line: one problem that counts them."""
    (problem,) = problems_of("a: " + "\u200b" * 300_000)
    assert problem.code == "KR005"
    assert "300,000 invisible characters, U+200B ZERO WIDTH SPACE, are" in problem.message


def test_zero_width_characters_between_others_are_counted() -> None:
    """100,000 runs of them: a hundred are shown, the rest is a number."""
    *shown, last = problems_of("a: " + "x\u200b" * 100_000)
    assert len(shown) == MOST_OF_A_FILE
    assert last.message == "and 99,900 more problems in this file, which was not read to its end"


def test_escapes_of_zero_width_characters_are_one_problem() -> None:
    """A million escapes in one text: one problem."""
    found = problems_of('a: ["' + "\\u200b" * 1_000_000 + '"]')
    assert ["1,000,000 invisible characters" in problem.message for problem in found].count(True) == 1


def test_aliases_are_counted() -> None:
    """100,000 lines of `[*a,*a]`: a hundred are shown, the rest is a number."""
    *shown, last = problems_of("- [*a,*a]\n" * 100_000)
    assert len(shown) == MOST_OF_A_FILE
    assert last.code == "KR014"
    assert last.message == "and 199,900 more problems in this file, which was not read to its end"


def test_one_problem_of_many_clusters_is_counted_once(tmp_path: Path) -> None:
    """What is wrong for each of 20 clusters is wrong once: nobody hides one problem among 20 times as many."""
    head = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c%d}\nspec: {scope: {include: %s}}\n---\n"
    scopes = ["[{topics: [t0]}]" if number else "[{topics: [z]}]" for number in range(20)]
    clusters = "".join(head % item for item in enumerate(scopes))
    rules = "".join(f"    - {{allow: READ, topics: [t{number}]}}\n" for number in range(200))
    (tmp_path / "a.yaml").write_text(clusters + ACLS + rules, encoding="utf-8")
    found = validate(str(tmp_path)).problems
    # The message names the cluster, so each of the shown ones is a problem of its own; the count is of one cluster.
    *_, last = found
    assert last.code == "KR014"
    assert last.more <= 20 * MOST_OF_A_FILE + 200 - MOST_PROBLEMS


#: A tenth of the bounds, for floods of a tenth.
FEW = {"MAX_LINES": 100_000, "MAX_VALUES": 100_000, "MAX_DOCUMENTS": 10_000}


@pytest.mark.parametrize(
    ("flood", "message"),
    [
        (lambda: "---\n" * 100_000, "more than 100,000"),
        (lambda: "--- \n\n" * 40_000, "more than 10,000 documents"),
        (lambda: "".join(f"k{number}: v\n" for number in range(180_000)), "more than 100,000"),
        (lambda: "{" + "".join(f"k{number}: v," for number in range(180_000)) + "}", "100,000 values"),
        (lambda: ACLS + "    - {allow: READ, topics: [a]}\n" * 99_000, "more than 100,000 values"),
        (lambda: TOPICS + "    - {name: x, replicaAssignments: [" + "[1]," * 150_000 + "]}", "100,000 values"),
        (lambda: "[" * 1_000_000, "more than 32 levels of nesting"),
        (lambda: "a: 'x" + "\n" * 3_200_000 + "'", "lines, more than 100,000"),
    ],
    ids=["documents", "blank-documents", "keys", "flow-keys", "rules", "assignments", "depth", "lines"],
)
def test_a_file_of_too_many_things_is_too_large(
    flood: Callable[[], str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that holds more lines, documents or values than its bounds: read so far, and refused."""
    for name, bound in FEW.items():
        monkeypatch.setattr(documents, name, bound)
    (problem,) = problems_of(flood())
    assert message in problem.message


def test_a_file_of_millions_of_things_is_too_large() -> None:
    """Three million values, with the true bound."""
    (problem,) = problems_of("[" + "a," * 3_000_000 + "]")
    assert "more than 1,000,000 values" in problem.message


def test_more_assignments_than_a_controller_creates_are_refused() -> None:
    """A topic with more partitions than one request can create: refused with the bound."""
    (problem,) = problems_of(TOPICS + "    - {name: x, replicaAssignments: [" + "[1]," * 10_001 + "]}")
    assert problem.code == "KR076"
    assert problem.message == "10,001 partitions are assigned, and a controller creates at most 10,000 in one request"


def test_unknown_fields_are_counted() -> None:
    """60,000 fields that no kind has: a hundred are shown, and no words are sought for the rest."""
    *shown, last = problems_of(ACLS.replace("  rules:\n", "") + "".join(f"  k{n}: x\n" for n in range(60_000)))
    assert len(shown) == MOST_OF_A_FILE
    assert "more problems in this file" in last.message


def test_twenty_thousand_files_say_a_thousand_problems() -> None:
    """20,000 files of `a: b`: a thousand problems, and the number of the others."""
    found = problems_of(*["a: b\n"] * 20_000)
    assert len(found) == MOST_PROBLEMS + 1
    assert found[-1].message == "and 39,000 more problems in the manifests"
    assert problem_count(found) == 40_000


def test_a_flood_of_warnings_hides_no_error() -> None:
    """Thousands of warnings before one error: the error is shown, and decides."""
    topics = "".join(f"    - {{name: t{number}, configs: {{unknown.x: 1}}}}\n" for number in range(3_000))
    found = problems_of(TOPICS + topics + "    - {name: 'a b'}\n")
    assert [problem.code for problem in found if problem.severity == "error"] == ["KR043"]
    assert "and 2,900 more problems in this file" in [problem.message for problem in found]


def test_variables_in_hundreds_of_places_are_no_problem() -> None:
    """Many variables where numbers belong are checked for each cluster: none is counted as a problem."""
    topics = "".join(f"    - {{name: t{number}, partitions: '${{vars.p}}'}}\n" for number in range(300))
    assert load([Source("a.yaml", TOPICS + topics)]).warnings == ()
