"""Against the base, old findings are counted and folded; what differs in anything but its line is new."""

import json
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.manifest import guardrail_set
from reconciler.model.state import ClusterState
from reconciler.results.findings import OF_GUARDRAILS, Check, CheckStatus, Finding, Level, matter
from reconciler.show.reading import Report, join, read_result
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.integration.report.formats import FORMATS

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {allowEveryoneIfNoAclFound: false, superUsers: [User:admin], kafkaVersion: "4.3"}
"""
ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: pay}
spec:
  principal: User:pay
  rules:
    - {allow: READ, topics: [a, b]}
    - {allow: READ, topics: {prefix: a}}
    - {deny: WRITE, topics: [a, c]}
"""
TESTS = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: t}
spec:
  tests:
    - name: only admins
      onlyReaders: [User:other]
      topics: [a]
  exceptions: [{check: only admins, reason: until the move, expires: 2099-01-01}]
"""


class _Proposal:
    """A base and a proposal that begins as its copy; reported as a pipeline does."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self._capsys = root, capsys
        for directory in (root / "base", root / "new"):
            directory.mkdir()
            for name, text in (("cluster", CLUSTER), ("acls", ACLS), ("tests", TESTS)):
                (directory / f"{name}.yaml").write_text(text, encoding="utf-8")

    def edit(self, name: str, old: str, new: str, directory: str = "new") -> None:
        file = self.root / directory / f"{name}.yaml"
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")

    def report(self, *, rails: bool = True) -> Report:
        new, base = str(self.root / "new"), str(self.root / "base")
        judged = ["--guardrails", base] if rails else []
        found = []
        for words in (["validate", new, *judged, *(["--base", base] if rails else [])], ["lint", new, *judged]):
            assert run([*words, "--output", "json"]) in (Exit.OK, Exit.FAILED_CHECK)
            found.append(read_result(json.loads(self._capsys.readouterr().out)))
        return join(found)


@pytest.fixture
def proposal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> _Proposal:
    return _Proposal(tmp_path, capsys)


def test_what_the_base_has_is_counted_and_folded(proposal: _Proposal) -> None:
    proposal.edit("acls", "spec:", "# a comment moves every line\n\nspec:")
    proposal.edit("tests", "spec:", "\nspec:")
    report = proposal.report()
    known, new = report.compared
    assert known > 2
    assert new == 0
    said = f"{known} known, 0 new"
    folded = f"Known, as in the base ({known})"
    for name, listed in (("comment.md", folded), ("page.html", folded), ("text.txt", "  known: ")):
        text = FORMATS[name](report)
        assert said in text, name
        assert listed in text, name
    assert FORMATS["comment.md"](report).index(said) < FORMATS["comment.md"](report).index("<details>")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("acls", "topics: [a, b]", "topics: [a, b, ab]"),
        ("acls", "[a, c]", "[a, d]"),
        ("acls", "User:pay", "User:pay2"),
        ("tests", "2099-01-01", "2099-01-02"),
        ("tests", "until the move", "until the next move"),
    ],
)
def test_another_subject_or_another_end_is_new(proposal: _Proposal, name: str, old: str, new: str) -> None:
    proposal.edit(name, old, new)
    assert proposal.report().compared[1] > 0


def test_without_a_base_that_can_be_read_all_is_new(proposal: _Proposal) -> None:
    alone = proposal.report(rails=False)
    assert alone.known is None
    assert "known" not in FORMATS["text.txt"](alone)
    proposal.edit("acls", "principal:", "principall:", "base")
    for words in (["lint"], ["validate", "--base", str(proposal.root / "base")]):
        status = run([*words[:1], str(proposal.root / "new"), *words[1:], "--output", "json"])
        assert status in (Exit.OK, Exit.FAILED_CHECK, Exit.ERROR)


def _finding(**other: object) -> Finding:
    said: dict[str, object] = {"cluster": "c", "subject": "User:a", "details": ("by ACL x",)}
    return Finding("KA001", "x", Level.WARNING, "m", **{**said, **other})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "other",
    [
        _finding(subject="User:b"),
        _finding(cluster="d"),
        _finding(details=("by ACL y",)),
        _finding(excepted="accepted until 2027-01-01"),
        Finding("KA002", "x", Level.WARNING, "m", cluster="c", subject="User:a", details=("by ACL x",)),
        Finding("KA001", "x", Level.NOTE, "m", cluster="c", subject="User:a", details=("by ACL x",)),
        Finding("KA001", "x", Level.WARNING, "n", cluster="c", subject="User:a", details=("by ACL x",)),
    ],
)
def test_each_field_but_the_line_makes_another_matter(other: Finding) -> None:
    assert matter(_finding()) != matter(other)
    report = Report(findings=(other,), known={matter(_finding()): 1})
    assert report.compared == (0, 1)


@pytest.mark.parametrize("standing", [CheckStatus.FAILED, CheckStatus.UNDECIDED])
def test_what_stops_is_never_known(standing: CheckStatus) -> None:
    """A base that fails already folds no failure of a proposal."""
    check = Check("AccessTests", "t", "c", standing, "m")
    error = Finding("KA001", "x", Level.ERROR, "m")
    report = Report(findings=(error,), checks=(check,), known={matter(check): 1, matter(error): 1})
    assert report.broken_checks == (check,)
    assert report.other_findings == (error,)


def test_as_many_are_known_as_the_base_has() -> None:
    first, second = _finding(), _finding(advice="remove it")
    assert matter(first) == matter(second)
    assert Report(findings=(first, second), known={matter(first): 1}).compared == (1, 1)


def test_a_file_of_the_guardrails_is_called_as_manifests_call_it() -> None:
    assert OF_GUARDRAILS == guardrail_set.PREFIX


def test_texts_of_commands_fold_as_reports_do(proposal: _Proposal, capsys: pytest.CaptureFixture[str]) -> None:
    """``lint`` and ``plan`` with the base: what it has as well is counted, warnings of the plan too."""
    new, base, live = (str(proposal.root / name) for name in ("new", "base", "live.json"))
    Path(live).write_text(snapshot_text(ClusterState("id"), BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    proposal.edit("acls", "topics: [a, b]", "topics: [a, b, a.x]")
    assert run(["lint", new, "--guardrails", base]) in (Exit.OK, Exit.FAILED_CHECK)
    shown = capsys.readouterr().out
    assert shown.endswith("\n2 findings; against the base: 7 known, 2 new\n")
    assert "TOPIC a.x" in shown
    assert "TOPIC b" not in shown
    reach = ("--cluster", f"snapshot:{live}")
    run(["plan", new, *reach])
    assert "only the manifests state" in capsys.readouterr().out
    run(["plan", new, *reach, "--guardrails", base, "--base", base])
    shown = capsys.readouterr().out
    assert "only the manifests state superUsers" not in shown
    assert "Against the base: " in shown
    run(["plan", new, *reach, "--guardrails", base, "--base", base, "--output", "json"])
    document = json.loads(capsys.readouterr().out)
    (warning,) = document["warnings"]
    report = read_result(document)
    assert warning in [finding.message for finding in report.known_findings]
    assert not report.plans[0].warnings
    # The id is that of the whole plan.
    for form in ("comment.md", "text.txt", "page.html"):
        assert document["planId"] in FORMATS[form](report), form
    # A warning that the base does not give is new.
    proposal.edit("cluster", "superUsers: [User:admin]", "superUsers: [User:admin, User:b]")
    run(["plan", new, *reach, "--base", base])
    assert "only the manifests state superUsers (User:admin, User:b)" in capsys.readouterr().out
