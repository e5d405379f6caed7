"""Every problem, as a person reads it. The cases are in ``problems/*.txt``."""

import datetime
import re
from pathlib import Path

import pytest

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.problem import CODES, Code, ManifestError, Problem, render_problem
from reconciler.manifest.safeguards import cluster_warnings
from tests.unit.manifest.case_files import Case, read_cases

CASES = [case for file in sorted((Path(__file__).parent / "problems").glob("*.txt")) for case in read_cases(file)]
#: Told by ``tests/unit/adapters/test_manifest_files.py``: they are about files.
OF_FILES = {"KR001", "KR002", "KR003", "KR004", "KR016"}
#: Told by ``tests/unit/policy/test_topic_expressions.py``: expressions are compiled where a policy is decided.
OF_EXPRESSIONS = {"KR095"}
#: Told by ``tests/unit/manifest/test_size.py`` and ``tests/security/test_reader_floods.py``: theirs are made.
OF_SIZE = {"KR014", "KR051"}
#: Told by ``tests/cases/mistakes/rules.txt``: what has expired depends on what is wanted of a cluster.
OF_DESIRED = {"KR052"}
#: Between a manifest and the operator's file (``test_operator.py``).
OF_OPERATORS = {"KR086"}
#: Told by ``tests/unit/workflow/test_client_connections.py``: what a connection can use is for the client to say.
OF_CLIENTS = {"KR102"}


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
    assert {
        str(code) for code in CODES
    } - told == OF_FILES | OF_EXPRESSIONS | OF_SIZE | OF_DESIRED | OF_OPERATORS | OF_CLIENTS


def test_every_code_is_documented_with_its_title() -> None:
    assert set(CODES) == set(Code)
    text = Path("docs/manifests/problems.md").read_text(encoding="utf-8")
    assert [code for code, title in CODES.items() if f"## {code}: {title}\n" not in text] == []


def test_every_problem_says_what_to_do() -> None:
    silent = [(case.name, p.message) for case in CASES for p in problems_of(case) if not (p.advice or p.more)]
    assert silent == []


def test_the_documents_say_of_each_code_what_to_do_and_know_no_other() -> None:
    text = Path("docs/manifests/problems.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## (KR[0-9]{3}): .*$", text, flags=re.MULTILINE)
    documented = dict(zip(parts[::2], parts[1::2], strict=True))
    assert sorted(documented) == sorted(CODES)
    assert [code for code, words in documented.items() if "*Fix:* " not in words] == []
