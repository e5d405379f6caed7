"""The run and the pull request that a command runs for, as build servers tell it in their variables."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from reconciler.report.formats.slack import Link

#: What ends a link, or begins something else in a message, is in no address of a build server.
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&'()*+,;=%\[\]-]{1,1000}")
_PULL_REQUEST: Final = re.compile(r"refs/pull/([0-9]+)/(?:merge|head)")


def ci_links(environment: Mapping[str, str]) -> tuple[Link, ...]:
    """Of GitHub Actions, GitLab CI or Jenkins; empty elsewhere, and without what is not an address."""
    return tuple(Link(words, url) for words, url in _found(environment) if _ADDRESS.fullmatch(url))


def _found(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    get = environment.get
    if repository := get("GITHUB_REPOSITORY"):
        base = f"{get('GITHUB_SERVER_URL', 'https://github.com')}/{repository}"
        yield "Run", f"{base}/actions/runs/{get('GITHUB_RUN_ID', '')}" if get("GITHUB_RUN_ID") else ""
        pull = _PULL_REQUEST.fullmatch(get("GITHUB_REF", ""))
        yield "Pull request", f"{base}/pull/{pull[1]}" if pull else ""
    elif get("GITLAB_CI"):
        yield "Run", get("CI_JOB_URL", "") or get("CI_PIPELINE_URL", "")
        project, number = get("CI_MERGE_REQUEST_PROJECT_URL", ""), get("CI_MERGE_REQUEST_IID", "")
        yield "Merge request", f"{project}/-/merge_requests/{number}" if project and number.isdecimal() else ""
    elif get("JENKINS_URL"):
        yield "Run", get("RUN_DISPLAY_URL", "") or get("BUILD_URL", "")
        yield "Pull request", get("CHANGE_URL", "")
