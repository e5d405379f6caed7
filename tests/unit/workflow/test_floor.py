"""Exit statuses, click and the spelling of options belong to the command line alone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import reconciler
from reconciler.app import reasons
from reconciler.app.reasons import WorkflowError
from reconciler.cli.console import Exit, command_error, status_of
from reconciler.show.claims import Checks

PACKAGE = Path(reconciler.__file__).parent
_OF_THE_COMMAND_LINE = {"Exit", "CommandError"}
_OPTION = re.compile(r"(?<![\w-])--[a-z]|`reconciler ")


def _trees(words: str, *folders: str) -> Iterator[tuple[Path, ast.Module]]:
    """The files in which a regular expression finds something: to parse all takes seconds."""
    for folder in folders:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if re.search(words, text):
                yield path.relative_to(PACKAGE), ast.parse(text)


def _texts(tree: ast.Module) -> Iterator[str]:
    """Every text but docstrings."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    docstrings = {id(node.value) for node in nodes}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_no_other_floor_knows_exit_statuses() -> None:
    floors = [
        path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name not in ("cli", "parts", "__pycache__")
    ]
    assert "app" in floors
    found = [
        str(path)
        for path, tree in _trees(rf"\b({'|'.join(_OF_THE_COMMAND_LINE)})\b|reconciler\.cli", *floors)
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and node.id in _OF_THE_COMMAND_LINE)
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("reconciler.cli"))
    ]
    assert found == []


_OF_GIT = ("--porcelain", "--no-patch", "--format=%ae", "--end-of-options")


def test_no_use_case_speaks_of_options() -> None:
    found = [
        f"{path}: {text}"
        for path, tree in _trees("--|`reconciler ", "app")
        for text in _texts(tree)
        if _OPTION.search(text) and text not in _OF_GIT
    ]
    assert found == []


def test_every_plan_is_made_where_its_rows_get_their_owners() -> None:
    """A way in of its own would show a review that does not say whose the data is."""
    makers = {
        str(path)
        for path, tree in _trees(r"reconciler\.plan\.propose\b", ".")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "reconciler.plan.propose"
        if "propose" in [one.name for one in node.names]
    }
    # The other one plans nothing: it says what `apply` would ask of a cluster.
    assert makers == {"app/planning.py", "app/probe.py"}


def _kinds(kind: type[WorkflowError] = WorkflowError) -> Iterator[type[WorkflowError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


def test_every_reason_has_a_status_and_words() -> None:
    given: dict[type[WorkflowError], WorkflowError] = {
        reasons.AmbiguousClusterError: reasons.AmbiguousClusterError(("a", "b"), snapshot=True),
        reasons.UnsavedPlanError: reasons.UnsavedPlanError("unsaved"),
        reasons.UnvouchedPlanError: reasons.UnvouchedPlanError("unvouched"),
        reasons.ManifestAccessError: reasons.ManifestAccessError("declared"),
        reasons.LongerAccessError: reasons.LongerAccessError("longer"),
        reasons.InvalidManifestsError: reasons.InvalidManifestsError(()),
        reasons.UndeclaredClusterError: reasons.UndeclaredClusterError("prd", ("prod",)),
        reasons.FailedChecksError: reasons.FailedChecksError("it fails", Checks()),
        reasons.NotApprovedError: reasons.NotApprovedError(2, ("a",), ("b.sig: it is of nobody",)),
        reasons.RecordsError: reasons.RecordsError("it fails", "audit"),
        reasons.TooMuchAccessError: reasons.TooMuchAccessError(1_000),
        reasons.PastClusterError: reasons.PastClusterError(),
        reasons.PastStoreError: reasons.PastStoreError(),
    }
    expected = {
        reasons.RequestError: Exit.USAGE,
        reasons.StaleError: Exit.STALE,
        reasons.PlanRefusedError: Exit.REFUSED,
        reasons.NotApprovedError: Exit.REFUSED,
        reasons.FailedChecksError: Exit.FAILED_CHECK,
        reasons.HeldError: Exit.LOCKED,
        reasons.DeclinedError: Exit.INTERRUPTED,
    }
    for kind in _kinds():
        error = given.get(kind) or kind("it fails")
        ended = command_error(error)
        status = next((status for known, status in expected.items() if isinstance(error, known)), Exit.ERROR)
        assert (ended.status, bool(ended.message)) == (status, True), kind
    assert (status_of(""), status_of(reasons.INTERRUPTED), status_of("unknown")) == (
        Exit.OK,
        Exit.INTERRUPTED,
        Exit.ERROR,
    )
