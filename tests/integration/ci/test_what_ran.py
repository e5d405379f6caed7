"""docs/ci.md says which event ran on which engine: a scene is there for each, and none is left out."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.integration.ci import test_gitlab_pipelines as gitlab
from tests.integration.ci import test_pull_request_story as github
from tests.integration.ci.act import Act
from tests.integration.ci.player import ROOT
from tests.security import test_pipeline_places as places

_AZURE = "Azure Pipelines, Bitbucket"
_PUSHES = places.test_a_push_of_several_commits_is_judged_by_what_was_applied_before
_STORY = github.test_from_a_proposal_to_the_fix_of_a_change_by_hand
_MERGE_REQUEST = gitlab.test_a_merge_request_is_planned_merged_applied_and_then_as_declared
_SCENES: dict[tuple[str, str], Callable[..., None]] = {
    ("pull request", "GitHub"): _STORY,
    ("pull request", "GitLab"): _MERGE_REQUEST,
    ("merge", "GitHub"): _STORY,
    ("merge", "GitLab"): _MERGE_REQUEST,
    ("merge", _AZURE): _PUSHES,
    ("merge", "Jenkins"): _PUSHES,
    ("push of several commits", "GitHub"): github.test_a_push_of_two_commits_is_judged_by_the_rules_before_both,
    ("push of several commits", "GitLab"): gitlab.test_a_push_of_two_commits_is_judged_by_the_rules_before_both,
    ("push of several commits", _AZURE): _PUSHES,
    ("push of several commits", "Jenkins"): _PUSHES,
    ("first push", "GitHub"): github.test_the_first_push_has_no_rules_before_it_and_says_what_to_do,
    ("first push", "GitLab"): gitlab.test_the_first_push_has_no_rules_before_it_and_says_what_to_do,
    ("first push", _AZURE): _PUSHES,
    ("first push", "Jenkins"): _PUSHES,
    ("merge queue", "GitHub"): github.test_another_merge_does_not_take_an_approval_away_and_a_queue_is_checked,
    ("manual run", "GitHub"): github.test_a_revert_is_red_until_somebody_lets_it_delete,
    ("manual run", "GitLab"): _MERGE_REQUEST,
    ("schedule", "GitHub"): _STORY,
    ("schedule", "GitLab"): _MERGE_REQUEST,
    ("schedule", _AZURE): places.test_a_schedule_is_red_while_the_cluster_differs,
    ("schedule", "Jenkins"): places.test_a_schedule_is_red_while_the_cluster_differs,
    ("fork", "GitHub"): github.test_a_fork_is_planned_against_the_snapshot_of_the_base_and_sees_no_secret,
    (
        "many clusters",
        "GitHub",
    ): github.test_of_many_clusters_those_that_a_change_touches_are_planned_and_the_others_named,
    ("fork", "GitLab"): gitlab.test_a_fork_is_checked_and_sees_no_secret,
    (
        "rerun of an apply that was cut short",
        "GitHub",
    ): github.test_an_apply_that_was_cut_short_is_finished_by_another_attempt,
    ("cancelled run", "GitHub"): github.test_a_cancelled_apply_keeps_its_journal_and_another_attempt_ends_it,
}


def _marks(scene: Callable[..., None]) -> Iterable[Any]:
    own = list(getattr(scene, "pytestmark", []))
    given = [one for mark in own if mark.name == "parametrize" for one in mark.args[1]]
    return [*own, *(mark for one in given if Act in getattr(one, "values", ()) for mark in one.marks)]


def test_the_table_says_ran_where_a_scene_runs_on_the_engine() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8").partition("## What ran\n")[2].partition("\n## ")[0]
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"
    ]
    said = {(row[0], engine): word for row in rows for engine, word in zip(head[1:], row[1:], strict=True)}
    assert set(said.values()) <= {"ran", "shell", "read", "none"}
    assert _SCENES.keys() == {where for where, word in said.items() if word not in ("read", "none")}
    for (event, engine), scene in _SCENES.items():
        in_a_shell = engine in (_AZURE, "Jenkins")
        assert said[event, engine] == ("shell" if in_a_shell else "ran")
        names = {mark.name for mark in (*_marks(scene), *([gitlab.pytestmark] if engine == "GitLab" else []))}
        assert ("engines" in names) is not in_a_shell, (event, engine)
