#!/usr/bin/env python3
"""Says results where GitHub shows them: a pull request's comment, code scanning, an issue. Standard library only.

    github.py comment FILE            posts FILE on pull request PULL_REQUEST, or replaces what was posted before
    github.py untouched RESULT        prints which clusters the change leaves alone, by the result of validate
    github.py leave RESULT            says that in the comments that an earlier commit has about them
    github.py approved CLUSTER        prints the change id of the comment when COMMIT's pull request was merged
    github.py parity CLUSTER RESULTS EARLIER
                                      leaves in RESULTS the plan that was approved, and prints its id: the one there, or
                                      the one in EARLIER that an earlier attempt of this run began; 4 if neither
    github.py applied CLUSTER WORKFLOW
                                      prints the newest commit of BRANCH that a run of the file WORKFLOW has applied
    github.py sarif FILE              uploads FILE for COMMIT and REF
    github.py issue FILE open|close   keeps one open issue for FILE's marker, or closes it
    github.py pull FILE open|close    keeps one pull request of BRANCH into BASE_BRANCH, or closes it

GITHUB_TOKEN, GITHUB_REPOSITORY and GITHUB_API_URL as Actions sets them. Only comments and issues of the bot are read or
changed: anybody can write a marker.
"""

import base64
import gzip
import json
import os
import re
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BOT = "github-actions[bot]"
LABEL = "kafka-drift"
#: Seconds: a job ends after ten minutes.
LONGEST_WAIT = 120
MARKER = re.compile(r"<!-- reconciler:[^\r\n]{1,300} -->")
CHANGE = re.compile(r"\bchange-[0-9a-f]{64}\b")
#: After this a report in Markdown has ids only; before it are names that anybody may have chosen, such as a plan's.
IDS = "<summary>Approve with --require-id</summary>"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another place."""

    def redirect_request(self, *arguments: Any, **others: Any) -> None:
        """Never."""


def call(method: str, path: str, body: object = None) -> Any:
    """One request of the REST API; ``path`` begins below the repository."""
    base = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    if not base.startswith(("https://", "http://127.0.0.1:")):
        raise SystemExit(f"error: GITHUB_API_URL is no https address: {base}")
    request = urllib.request.Request(  # noqa: S310 - the scheme is checked above
        f"{base}/repos/{os.environ['GITHUB_REPOSITORY']}{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    for last in (False, False, True):
        try:
            with urllib.request.build_opener(NoRedirect).open(request, timeout=60) as answer:
                text = answer.read()
            break
        except urllib.error.HTTPError as error:
            wait = limited(error)
            if last or wait is None:
                raise SystemExit(f"error: {method} {path}: {error.code} {error.reason}") from error
            print(f"GitHub limits the rate of requests: trying again in {wait} s", file=sys.stderr)
            time.sleep(wait)
    return json.loads(text) if text else None


def limited(error: urllib.error.HTTPError) -> int | None:
    """After how many seconds a request that a rate limit refused may be sent again; nothing was done of it.

    ``None`` if it was refused for another reason, or if the job would wait for too long.
    """
    if error.code not in (403, 429):
        return None
    after, reset = error.headers.get("Retry-After"), error.headers.get("X-RateLimit-Reset")
    if after is None and error.headers.get("X-RateLimit-Remaining") == "0" and reset is not None:
        after = str(max(1, int(reset) - int(time.time()) + 1))
    if after is None and error.code == 429:
        after = "60"
    return int(after) if after is not None and after.isdecimal() and int(after) <= LONGEST_WAIT else None


def pages(path: str, key: str = "") -> Iterator[dict[str, Any]]:
    """All items of a list, or of the list in a field."""
    number, found = 1, 100
    while found == 100:
        answer = call("GET", f"{path}{'&' if '?' in path else '?'}per_page=100&page={number}")
        items = answer[key] if key else answer
        yield from items
        number, found = number + 1, len(items)


def marker_of(text: str) -> str:
    """The hidden first line by which a report is found again."""
    found = MARKER.match(text)
    if found is None:
        raise SystemExit("error: the file does not begin with a marker: is it a report in Markdown?")
    return found[0]


def ours(items: Iterator[dict[str, Any]], marker: str) -> Iterator[dict[str, Any]]:
    """What the bot wrote under that marker."""
    return (item for item in items if item["user"]["login"] == BOT and (item["body"] or "").startswith(marker))


def comment(file: str) -> None:
    """Posts or replaces."""
    text = Path(file).read_text(encoding="utf-8")
    number = int(os.environ["PULL_REQUEST"])
    before = next(ours(pages(f"/issues/{number}/comments"), marker_of(text)), None)
    if before is None:
        call("POST", f"/issues/{number}/comments", {"body": text})
    else:
        call("PATCH", f"/issues/comments/{before['id']}", {"body": text})


def left_alone(file: str) -> list[str]:
    """The clusters that the change does not touch; none where that is not known."""
    result = json.loads(Path(file).read_text(encoding="utf-8"))
    touched = result.get("touched")
    return [] if touched is None else sorted(result["clusters"].keys() - set(touched))


def untouched(file: str) -> None:
    """In Markdown; nothing if the change touches every cluster."""
    names = left_alone(file)
    if names:
        print(f"\nNot planned, for the change does not touch them: {', '.join(f'`{name}`' for name in names)}\n")


def leave(file: str) -> None:
    """A plan that an earlier commit of the pull request showed is none of this one."""
    number = int(os.environ["PULL_REQUEST"])
    for name in left_alone(file):
        marker = f"<!-- reconciler:{name} -->"
        for before in ours(pages(f"/issues/{number}/comments"), marker):
            text = f"{marker}\n### Not planned: this change does not touch `{name}`\n"
            call("PATCH", f"/issues/comments/{before['id']}", {"body": text})


def approved(cluster: str) -> str:
    """The change id; empty where no pull request, or no comment with one plan, belongs to the commit.

    So it is where the comment was changed after the merge: nobody has reviewed what it says since. The id of the change
    and not of the plan: another merge, or an ACL that is none of this change's, makes another plan of the same change.
    """
    commit = os.environ["COMMIT"]
    for pull in pages(f"/commits/{commit}/pulls"):
        if pull.get("merge_commit_sha") == commit and pull.get("merged_at"):
            found = ours(pages(f"/issues/{pull['number']}/comments"), f"<!-- reconciler:{cluster} -->")
            seen = [item for item in found if item.get("updated_at", "") <= pull["merged_at"]]
            ids = {change for item in seen for change in CHANGE.findall(item["body"].rpartition(IDS)[2])}
            if len(ids) == 1 and all(IDS in item["body"] for item in seen):
                return str(ids.pop())
    return ""


def parity(cluster: str, results: str, earlier: str) -> None:
    """A plan without steps needs no approval; a cut apply goes on with the plan that it began with."""
    now, before = Path(results), Path(earlier)
    found = json.loads((now / "result.json").read_text(encoding="utf-8"))
    wanted = approved(cluster) if os.environ.get("PARITY", "true") == "true" else found["changeId"]
    if found["steps"] and found["changeId"] != wanted:
        plan = before / "plan.json"
        if not plan.is_file() or json.loads(plan.read_text(encoding="utf-8"))["changeId"] != wanted:
            shown = wanted or "no plan"
            print(
                f"::error::this commit plans to {found['changeId']}, its pull request showed {shown}: run the workflow "
                "by hand, and review the plan there",
                file=sys.stderr,
            )
            raise SystemExit(4)
        shutil.copyfile(plan, now / "plan.json")
        print("an earlier attempt began to apply what was approved: it goes on", file=sys.stderr)
    print(json.loads((now / "plan.json").read_text(encoding="utf-8"))["planId"])


def applied(cluster: str, workflow: str) -> str:
    """The commit; zeros where none of the last runs has applied.

    A push to the branch, and a run by hand there, run the branch's own file. A pull request from it runs the file of
    whoever opened it, and so does a fork's branch of that name. A tag may have the name too: so the commit has to be in
    the branch's history, which ``drift.sh`` asks.
    """
    branch, file = (urllib.parse.quote(text, safe="") for text in (os.environ["BRANCH"], workflow))
    runs = call("GET", f"/actions/workflows/{file}/runs?branch={branch}&per_page=100")["workflow_runs"]
    for run in runs:
        here = (run["head_repository"] or {}).get("full_name") == os.environ["GITHUB_REPOSITORY"]
        if not here or run["event"] not in ("push", "workflow_dispatch"):
            continue
        for job in pages(f"/actions/runs/{run['id']}/jobs?filter=all", "jobs"):
            done = (one["name"] for one in job["steps"] if one["conclusion"] == "success")
            if job["name"].endswith(f" / apply {cluster}") and "Applied" in done:
                return str(run["head_sha"])
    return "0" * 40


def sarif(file: str) -> None:
    """Uploads for code scanning."""
    packed = base64.b64encode(gzip.compress(Path(file).read_bytes(), mtime=0)).decode()
    body = {"commit_sha": os.environ["COMMIT"], "ref": os.environ["REF"], "sarif": packed, "tool_name": "reconciler"}
    call("POST", "/code-scanning/sarifs", body)


def issue(file: str, state: str) -> None:
    """One open issue a marker, while there is something to say."""
    text = Path(file).read_text(encoding="utf-8")
    marker = marker_of(text)
    found = next(ours(pages(f"/issues?state=open&labels={LABEL}"), marker), None)
    if state == "close":
        if found is not None:
            call("PATCH", f"/issues/{found['number']}", {"state": "closed", "body": text})
    elif found is not None:
        call("PATCH", f"/issues/{found['number']}", {"body": text})
    else:
        title = f"Kafka and manifests differ: {marker[16:-4]}"
        call("POST", "/issues", {"title": title, "body": text, "labels": [LABEL]})


def pull(file: str, state: str) -> None:
    """One open pull request of the bot's branch, while the branch has something to say."""
    text = Path(file).read_text(encoding="utf-8")
    marker = marker_of(text)
    branch, base = os.environ["BRANCH"], os.environ["BASE_BRANCH"]
    if not re.fullmatch(r"reconciler/[A-Za-z0-9._-]+", branch):
        raise SystemExit(f"error: BRANCH is no branch of edits: {branch}")
    repository = os.environ["GITHUB_REPOSITORY"]
    head = urllib.parse.quote(f"{repository.partition('/')[0]}:{branch}", safe="")
    into = urllib.parse.quote(base, safe="")
    pulls = pages(f"/pulls?state=open&head={head}&base={into}")
    # A fork of the same owner may have a branch of that name.
    here = (one for one in pulls if one["head"]["ref"] == branch and one["head"]["repo"]["full_name"] == repository)
    found = next(ours(here, marker), None)
    if found is not None:
        body = {"state": "closed"} if state == "close" else {"body": text}
        call("PATCH", f"/pulls/{found['number']}", body)
    elif state == "open":
        title = f"Kafka manifests: {branch.removeprefix('reconciler/')}"
        call("POST", "/pulls", {"title": title, "head": branch, "base": base, "body": text})


def main(arguments: list[str]) -> None:
    """One command a run."""
    match arguments:
        case ["comment", file]:
            comment(file)
        case ["untouched", file]:
            untouched(file)
        case ["leave", file]:
            leave(file)
        case ["approved", cluster]:
            sys.stdout.write(f"{found}\n" if (found := approved(cluster)) else "")
        case ["parity", cluster, results, earlier]:
            parity(cluster, results, earlier)
        case ["applied", cluster, workflow]:
            print(applied(cluster, workflow))
        case ["sarif", file]:
            sarif(file)
        case ["issue", file, ("open" | "close") as state]:
            issue(file, state)
        case ["pull", file, ("open" | "close") as state]:
            pull(file, state)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
