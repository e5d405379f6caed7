"""Every problem, as a person reads it. The cases are in ``problems/*.txt``."""

import datetime
from pathlib import Path

import pytest

from reconciler.manifest import CODES, ManifestError, Problem, cluster_warnings, desired_state, load, render_problem
from tests.unit.manifest.case_files import Case, read_cases

CASES = [case for file in sorted((Path(__file__).parent / "problems").glob("*.txt")) for case in read_cases(file)]
#: Told by ``tests/unit/adapters/test_manifest_files.py``: they are about files.
OF_FILES = {"KR001", "KR002", "KR003", "KR004"}
#: Told by ``tests/unit/policy/test_topic_expressions.py``: expressions are compiled where a policy is decided.
OF_EXPRESSIONS = {"KR095"}
#: Told by ``tests/unit/manifest/test_size.py``: its manifests are made, not written.
OF_SIZE = {"KR051"}


def problems_of(case: Case) -> tuple[Problem, ...]:
    try:
        manifests = load(case.sources)
        match case.question:
            case ("desired", cluster, day):
                desired_state(manifests, cluster, datetime.date.fromisoformat(day))
            case ("warnings", cluster, day):
                return cluster_warnings(manifests, cluster, datetime.date.fromisoformat(day))
    except ManifestError as error:
        return error.problems
    return manifests.warnings


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_problems_read_as_written(case: Case) -> None:
    assert "\n\n".join(map(render_problem, problems_of(case))) == case.expected


def test_every_code_has_a_case() -> None:
    told = {problem.code for case in CASES for problem in problems_of(case)}
    assert {str(code) for code in CODES} - told == OF_FILES | OF_EXPRESSIONS | OF_SIZE


def test_every_code_is_documented_with_its_title() -> None:
    text = Path("docs/manifests.md").read_text(encoding="utf-8")
    assert [code for code, title in CODES.items() if f"### {code}: {title}\n" not in text] == []
