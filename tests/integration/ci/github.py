"""As much of GitHub's REST API as the action uses, on loopback, with what it keeps to look at.

Each request and each answer is held against GitHub's own description of its API, from npm: a path, a parameter or a
field that GitHub does not know is refused with 422, and so is what its limits refuse.
"""

import base64
import functools
import gzip
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema

from tests.browser.npm import Package, script

BOT = "github-actions[bot]"
TOKEN = "ghs_token-of-a-job"
#: Of a comment, an issue and a pull request.
LONGEST_BODY = 65_536
DESCRIPTION = Package(
    "@octokit/openapi",
    "23.0.2",
    "pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
)
_REPOSITORY = "/repos/{owner}/{repo}"
_SARIF = Path(__file__).parents[2] / "schemas" / "sarif-2.1.0.json"


@functools.cache
def _described() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(script(DESCRIPTION, "generated/api.github.com.json"))
    return found


@functools.cache
def _schema(*place: str) -> Any:
    """What a place of the description refers to, to its end; ``None`` if there is no such place."""
    found: Any = _described()
    for name in place:
        found = found.get(name) if isinstance(found, dict) else None
        while isinstance(found, dict) and "$ref" in found:
            found = _schema(*found["$ref"].removeprefix("#/").split("/"))
    return found


def _properties(schema: Any) -> set[str]:
    """The fields of an object, whichever of the forms it has."""
    while "$ref" in schema:
        schema = _schema(*schema["$ref"].removeprefix("#/").split("/"))
    forms = (form for word in ("oneOf", "anyOf", "allOf") for form in schema.get(word, ()))
    return set(schema.get("properties", {})).union(*map(_properties, forms))


def _template(path: str) -> str:
    """The description's name of a path, the one with most literal parts; empty if it knows none."""
    parts = path.split("/")

    def fits(template: str) -> bool:
        names = template.split("/")
        return len(names) == len(parts) and all(
            name == part or name[:1] == "{" for name, part in zip(names, parts, strict=True)
        )

    known = [template for template in _described()["paths"] if template.startswith(_REPOSITORY) and fits(template)]
    return min(known, key=lambda template: template.count("{"), default="")


def problems(method: str, path: str, query: str, body: Any) -> list[str]:
    """What GitHub's description says against a request."""
    template = _template(f"/repos/team/kafka/{path}")
    operation = _schema("paths", template, method.lower())
    if operation is None:
        return [f"{method} {path} is no part of the API"]
    place = ("paths", template, method.lower(), "parameters")
    listed = [one if "name" in one else _schema(*one["$ref"].removeprefix("#/").split("/")) for one in _schema(*place)]
    given, known = _words(query), {one["name"] for one in listed if one["in"] == "query"}
    found = [f"{name} is no parameter of {template}" for name in sorted(given.keys() - known)]
    schema = _schema("paths", template, method.lower(), "requestBody", "content", "application/json", "schema")
    if schema is None or body is None:
        return [*found, f"{template} takes no body"] if body is not None else found
    found += [f"{name} is no field of {template}" for name in sorted(body.keys() - _properties(schema))]
    return found + [error.message for error in jsonschema.Draft7Validator(_whole(schema)).iter_errors(body)]


def _whole(schema: Any) -> Any:
    """With what it refers to in its place: requests refer to nothing that refers to itself."""
    if isinstance(schema, list):
        return [_whole(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = _schema(*schema["$ref"].removeprefix("#/").split("/")) if "$ref" in schema else schema
    return {name: _whole(one) for name, one in found.items()}


def unknown_fields(method: str, path: str, status: int, answer: Any) -> set[str]:
    """What an answer of this server has and GitHub's has not; all of it if GitHub answers with no such status."""
    place = ("paths", _template(f"/repos/team/kafka/{path}"), method.lower(), "responses", str(status))
    schema = _schema(*place, "content", "application/json", "schema")
    items = answer if isinstance(answer, list) else [answer]
    if schema is None:
        return {str(status)}
    if schema.get("type") == "array":
        schema = schema["items"]
    return {name for item in items for name in item} - _properties(schema)


def sarif_problem(body: dict[str, Any]) -> str:
    """Why code scanning refuses an upload; empty if it does not."""
    text = gzip.decompress(base64.b64decode(body["sarif"], validate=True))
    if len(body["sarif"]) > 10_000_000:
        return "more than 10 MB"
    schema = jsonschema.Draft4Validator(json.loads(_SARIF.read_text(encoding="utf-8")))
    return next((error.message for error in schema.iter_errors(json.loads(text))), "")


@dataclass
class GitHub:
    """One repository's pull requests, comments, issues and alerts; ``rights`` are those of the job that asks."""

    url: str = ""
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    merged: dict[str, int] = field(default_factory=dict)
    issues: list[dict[str, Any]] = field(default_factory=list)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    sarif: list[dict[str, Any]] = field(default_factory=list)
    #: Of workflows, the newest first, each with its ``jobs``.
    runs: list[dict[str, Any]] = field(default_factory=list)
    rights: dict[str, str] = field(default_factory=dict)
    #: Who has another token, by it: they may write comments, and nothing else.
    people: dict[str, str] = field(default_factory=dict)
    #: Answers before any other: ``(429, {"Retry-After": "1"})``.
    refusals: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    now: str = "2026-11-20T12:00:00Z"

    def described(self, method: str, path: str, query: str, body: Any, login: str) -> tuple[int, Any]:
        """Status and body, as far as GitHub's description and limits go."""
        wrong = problems(method, path, query, body)
        if body is not None and len(body.get("body") or "") > LONGEST_BODY:
            wrong.append(f"body is too long (maximum is {LONGEST_BODY} characters)")
        if path == "code-scanning/sarifs" and not wrong and (problem := sarif_problem(body)):
            return 400, {"message": f"invalid SARIF: {problem}"}
        if wrong:
            return 422, {"message": f"Validation Failed: {'; '.join(wrong)}"}
        status, answer = self.answer(method, path, query, body, login)
        if status < 300:
            strange = unknown_fields(method, path, status, answer)
            assert not strange, f"GitHub answers {method} {path} without {strange}"
        return status, answer

    def answer(self, method: str, path: str, query: str, body: Any, login: str = BOT) -> tuple[int, Any]:
        """Status and body."""
        page = int((re.search(r"(?:^|&)page=(\d+)", query) or ["", "1"])[1])
        match method, *path.split("/"):
            case "GET", "issues", number, "comments":
                return self._allowed("pull-requests", "read") or (200, self._page(self._of(number), page))
            case "POST", "issues", number, "comments":
                denied = self._allowed("pull-requests", "write")
                if login != BOT:
                    denied = None
                return denied or (201, self._add(self._of(number), {**body, "updated_at": self.now}, login))
            case "PATCH", "issues", "comments", identifier:
                denied = self._allowed("pull-requests", "write")
                known = [one for some in self.comments.values() for one in some if one["id"] == int(identifier)]
                return denied or self._change(known, {**body, "updated_at": self.now})
            case "GET", "commits", commit, "pulls":
                found = [
                    {"number": number, "merge_commit_sha": sha, "merged_at": "2026-11-21T00:00:00Z"}
                    for sha, number in self.merged.items()
                    if sha == commit
                ]
                return self._allowed("pull-requests", "read") or (200, self._page(found, page))
            case "GET", "actions", *below:
                return self._allowed("actions", "read") or self._actions(below, query, page)
            case "POST", "code-scanning", "sarifs":
                denied = self._allowed("security-events", "write")
                if denied is None:
                    text = gzip.decompress(base64.b64decode(body["sarif"]))
                    self.sarif.append({**body, "sarif": json.loads(text)})
                return denied or (202, {"id": "1"})
            case _, "pulls", *below:
                return self._pulls(method, below, query, body)
            case "GET", "issues":
                found = [issue for issue in self.issues if issue["state"] == "open" and "labels=kafka-drift" in query]
                return self._allowed("issues", "write") or (200, self._page(found, page))
            case "POST", "issues":
                denied = self._allowed("issues", "write")
                return denied or (
                    201,
                    self._add(self.issues, {**body, "state": "open", "number": len(self.issues) + 1}),
                )
            case "PATCH", "issues", number:
                known = [issue for issue in self.issues if issue["number"] == int(number)]
                return self._allowed("issues", "write") or self._change(known, body)
        return 404, {"message": "Not Found"}

    def _actions(self, below: list[str], query: str, page: int) -> tuple[int, Any]:
        """Runs of a workflow's file on a branch, or the jobs of a run."""
        match below:
            case "workflows", file, "runs":
                found = [one for one in self.runs if one["path"].endswith(f"/{file}")]
                if not found:
                    return 404, {"message": "Not Found"}
                of_branch = [one for one in found if one["head_branch"] == _words(query)["branch"]]
                shown = [{key: value for key, value in one.items() if key != "jobs"} for one in of_branch]
                return 200, {"total_count": len(shown), "workflow_runs": self._page(shown, page)}
            case "runs", number, "jobs":
                jobs = [job for one in self.runs if one["id"] == int(number) for job in one["jobs"]]
                return 200, {"total_count": len(jobs), "jobs": self._page(jobs, page)}
        return 404, {"message": "Not Found"}

    def _pulls(self, method: str, below: list[str], query: str, body: Any) -> tuple[int, Any]:
        """Those of a branch, a new one, a changed one."""
        denied = self._allowed("pull-requests", "read" if method == "GET" else "write")
        if method == "GET":
            wanted = _words(query)
            found = [one for one in self.pulls if one["state"] == "open" and one["base"] == wanted["base"]]
            return denied or (200, [one for one in found if wanted["head"].endswith(one["head"]["ref"])])
        if method == "POST":
            head = {"ref": body["head"], "repo": {"full_name": "team/kafka"}}
            made = {**body, "head": head, "state": "open", "number": len(self.pulls) + 1}
            return denied or (201, self._add(self.pulls, made))
        return denied or self._change([one for one in self.pulls if one["number"] == int(below[0])], body)

    def ran(self, event: Mapping[str, Any], file: str, jobs: Mapping[str, Mapping[str, str]]) -> None:
        """A run of a workflow has ended; its jobs by name, each with the conclusions of its steps."""
        shown = [
            {"name": name, "steps": [{"name": step, "conclusion": end} for step, end in steps.items()]}
            for name, steps in jobs.items()
        ]
        run = {
            "id": len(self.runs) + 1,
            "path": f".github/workflows/{file}",
            "event": event["event_name"],
            "head_branch": event["ref"].removeprefix("refs/heads/"),
            "head_sha": event["sha"],
            "head_repository": {"full_name": "team/kafka"},
            "jobs": shown,
        }
        self.runs.insert(0, run)

    def _of(self, number: str) -> list[dict[str, Any]]:
        return self.comments.setdefault(int(number), [])

    def _allowed(self, subject: str, right: str) -> tuple[int, Any] | None:
        if self.rights.get(subject) in (right, "write"):
            return None
        return 403, {"message": "Resource not accessible by integration"}

    @staticmethod
    def _add(items: list[dict[str, Any]], body: dict[str, Any], login: str = BOT) -> dict[str, Any]:
        items.append({**body, "id": 1000 + len(items), "user": {"login": login}})
        return items[-1]

    @staticmethod
    def _change(items: list[dict[str, Any]], body: dict[str, Any]) -> tuple[int, Any]:
        for item in items:
            item.update(body)
        return (200, items[0]) if items else (404, {"message": "Not Found"})

    @staticmethod
    def _page(items: list[dict[str, Any]], page: int) -> list[dict[str, Any]]:
        return items[(page - 1) * 100 : page * 100]


def _words(query: str) -> dict[str, str]:
    return {key: unquote(text) for key, _, text in (one.partition("=") for one in query.split("&") if one)}


@contextmanager
def github() -> Iterator[GitHub]:
    """Serves one repository, ``team/kafka``, until the block ends."""
    kept = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            path, _, query = self.path.partition("?")
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, body, headers = 401, {"message": "Bad credentials"}, dict[str, str]()
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            login = BOT if token == TOKEN else kept.people.get(token)
            if kept.refusals:
                status, headers = kept.refusals.pop(0)
                body = {"message": "You have exceeded a secondary rate limit"}
            elif login is not None and not path.startswith("/repos/team/kafka/"):
                status, body = 404, {"message": "Not Found"}
            elif login is not None:
                below = path.removeprefix("/repos/team/kafka/")
                status, body = kept.described(self.command, below, query, json.loads(text or "null"), login)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        do_GET = do_POST = do_PATCH = _handle  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: object) -> None:
            """Keep the tests' output quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
