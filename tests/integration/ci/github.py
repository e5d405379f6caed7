"""As much of GitHub's REST API as the action uses, on loopback, with what it keeps to look at."""

import base64
import gzip
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

BOT = "github-actions[bot]"
TOKEN = "ghs_token-of-a-job"


@dataclass
class GitHub:
    """One repository's pull requests, comments, issues and alerts; ``rights`` are those of the job that asks."""

    url: str = ""
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    merged: dict[str, int] = field(default_factory=dict)
    issues: list[dict[str, Any]] = field(default_factory=list)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    sarif: list[dict[str, Any]] = field(default_factory=list)
    rights: dict[str, str] = field(default_factory=dict)
    now: str = "2026-11-20T12:00:00Z"

    def answer(self, method: str, path: str, query: str, body: Any) -> tuple[int, Any]:
        """Status and body."""
        page = int((re.search(r"(?:^|&)page=(\d+)", query) or ["", "1"])[1])
        match method, *path.split("/"):
            case "GET", "issues", number, "comments":
                return self._allowed("pull-requests", "read") or (200, self._page(self._of(number), page))
            case "POST", "issues", number, "comments":
                denied = self._allowed("pull-requests", "write")
                return denied or (201, self._add(self._of(number), {**body, "updated_at": self.now}))
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
            case "POST", "code-scanning", "sarifs":
                denied = self._allowed("security-events", "write")
                if denied is None:
                    text = gzip.decompress(base64.b64decode(body["sarif"]))
                    self.sarif.append({**body, "sarif": json.loads(text)})
                return denied or (202, {"id": "1"})
            case "GET", "pulls":
                wanted = {key: unquote(text) for key, _, text in (one.partition("=") for one in query.split("&"))}
                found = [
                    one
                    for one in self.pulls
                    if one["state"] == "open"
                    and wanted["head"].endswith(one["head"]["ref"])
                    and one["base"] == wanted["base"]
                ]
                return self._allowed("pull-requests", "read") or (200, self._page(found, page))
            case "POST", "pulls":
                denied = self._allowed("pull-requests", "write")
                head = {"ref": body["head"], "repo": {"full_name": "team/kafka"}}
                made = {**body, "head": head, "state": "open", "number": len(self.pulls) + 1}
                return denied or (201, self._add(self.pulls, made))
            case "PATCH", "pulls", number:
                denied = self._allowed("pull-requests", "write")
                return denied or self._change([one for one in self.pulls if one["number"] == int(number)], body)
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

    def _of(self, number: str) -> list[dict[str, Any]]:
        return self.comments.setdefault(int(number), [])

    def _allowed(self, subject: str, right: str) -> tuple[int, Any] | None:
        if self.rights.get(subject) in (right, "write"):
            return None
        return 403, {"message": "Resource not accessible by integration"}

    @staticmethod
    def _add(items: list[dict[str, Any]], body: dict[str, Any]) -> dict[str, Any]:
        items.append({**body, "id": 1000 + len(items), "user": {"login": BOT}})
        return items[-1]

    @staticmethod
    def _change(items: list[dict[str, Any]], body: dict[str, Any]) -> tuple[int, Any]:
        for item in items:
            item.update(body)
        return (200, items[0]) if items else (404, {"message": "Not Found"})

    @staticmethod
    def _page(items: list[dict[str, Any]], page: int) -> list[dict[str, Any]]:
        return items[(page - 1) * 100 : page * 100]


@contextmanager
def github() -> Iterator[GitHub]:
    """Serves one repository, ``team/kafka``, until the block ends."""
    kept = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            path, _, query = self.path.partition("?")
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, body = 401, {"message": "Bad credentials"}
            if self.headers.get("Authorization") == f"Bearer {TOKEN}":
                below = path.removeprefix("/repos/team/kafka/")
                status, body = kept.answer(self.command, below, query, json.loads(text or "null"))
            self.send_response(status)
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
