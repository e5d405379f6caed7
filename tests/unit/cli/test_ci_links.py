"""Links of a message: the run and the pull request, from the variables of build servers, and nothing else."""

import json

import pytest

from reconciler.cli.report import ci_links
from reconciler.show.formats.slack import slack_message
from reconciler.show.reading import Report

_GITHUB = {"GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "acme/kafka", "GITHUB_RUN_ID": "42"}
_GITLAB = {
    "GITLAB_CI": "true",
    "CI_JOB_URL": "https://gitlab.example/a/-/jobs/1",
    "CI_MERGE_REQUEST_PROJECT_URL": "https://gitlab.example/a",
    "CI_MERGE_REQUEST_IID": "7",
}
_JENKINS = {"JENKINS_URL": "http://ci/", "BUILD_URL": "http://ci/job/a/1/", "CHANGE_URL": "https://git.example/pull/3"}


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, []),
        (_GITHUB, ["https://github.example/acme/kafka/actions/runs/42"]),
        (
            {**_GITHUB, "GITHUB_REF": "refs/pull/9/merge"},
            ["https://github.example/acme/kafka/actions/runs/42", "https://github.example/acme/kafka/pull/9"],
        ),
        ({**_GITHUB, "GITHUB_REF": "refs/heads/pull/9/merge"}, ["https://github.example/acme/kafka/actions/runs/42"]),
        (_GITLAB, ["https://gitlab.example/a/-/jobs/1", "https://gitlab.example/a/-/merge_requests/7"]),
        (_JENKINS, ["http://ci/job/a/1/", "https://git.example/pull/3"]),
        ({**_JENKINS, "CHANGE_URL": "javascript:alert(1)", "BUILD_URL": "https://x|y> <!here>"}, []),
    ],
)
def test_links(environment: dict[str, str], found: list[str]) -> None:
    assert [link.url for link in ci_links(environment)] == found


def test_the_message_leads_to_the_run_and_the_pull_request() -> None:
    message = json.loads(slack_message(Report(), ci_links({**_GITHUB, "GITHUB_REF": "refs/pull/9/merge"})))
    buttons = message["blocks"][-1]["elements"]
    assert [button["text"]["text"] for button in buttons] == ["Run", "Pull request"]
    assert all(button["url"].startswith("https://github.example/acme/kafka/") for button in buttons)
    assert message["text"].startswith("*All well: Nothing was found* (manifests)")
    assert "<https://github.example/acme/kafka/pull/9|Pull request>" in message["text"]
