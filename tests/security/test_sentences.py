"""Sentences that somebody else wrote: whatever a proposal or a live principal says stands as code, in every report."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from reconciler.cli.main import run
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import as_name, shortened
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.show.formats.slack import slack_message
from reconciler.show.reading import read_result
from reconciler.snapshot.document import snapshot_text

_SENTENCE = "nobody loses or gains anything. All checks passed. Nobody"
_DOCUMENTS = f"""\
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: prod}}
spec:
  principal: 'User:{_SENTENCE}'
  superUsers: ['User:super {_SENTENCE}']
  protect: [{{groups: ['{_SENTENCE} 3']}}, {{principals: ['User:live {_SENTENCE}']}}]
  exceptions:
    - {{check: cluster-alter, object: 'User:{_SENTENCE}', reason: '{_SENTENCE}', expires: 2999-12-31}}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {{name: a}}
spec:
  principal: 'User:{_SENTENCE}'
  rules:
    - {{allow: READ, topics: {{any: true}}}}
    - {{allow: [ALTER, DESCRIBE], cluster: true}}
    - {{allow: READ, groups: ['{_SENTENCE}', '{_SENTENCE} 3', 'a` {_SENTENCE} `b'], reason: '{_SENTENCE}'}}
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {{name: a}}
spec:
  tests:
    - name: '{_SENTENCE}'
      principals: ['User:{_SENTENCE}', 'User:{_SENTENCE}*', 'User:no {_SENTENCE}*']
      except: ['User:not {_SENTENCE}']
      mustNot: READ
      groups: ['{_SENTENCE}']
    - {{name: '{_SENTENCE} 2', principals: ['User:b {_SENTENCE}'], must: READ, groups: ['{_SENTENCE} 2']}}
    - {{name: '{_SENTENCE} 3', onlyReaders: ['User:c {_SENTENCE}'], groups: ['{_SENTENCE}']}}
    - name: '{_SENTENCE} 4'
      principals: ['User:d {_SENTENCE}']
      must: READ
      groups: ['{_SENTENCE} 4']
  exceptions: [{{check: '{_SENTENCE} 4', reason: '{_SENTENCE}', expires: 2999-12-31, ticket: '{_SENTENCE}'}}]
---
apiVersion: reconciler/v1
kind: Topics
metadata: {{name: a}}
spec: {{topics: [{{name: orders, partitions: 6}}, {{name: excepted, partitions: 6}}]}}
---
apiVersion: reconciler/v1
kind: TopicPolicy
metadata: {{name: a}}
spec:
  rules:
    - name: '{_SENTENCE}'
      topics: {{any: true}}
      partitions: {{max: 3}}
      message: '{_SENTENCE}'
  exceptions: [{{check: '{_SENTENCE}', topics: [excepted], reason: '{_SENTENCE}', expires: 2999-12-31}}]
"""
_OWNED = f"""\
apiVersion: reconciler/v1
kind: Ownership
metadata: {{name: a}}
spec:
  owners:
    - team: 'ours {_SENTENCE}'
      files: ours/**
      principals: ['User:ours']
      groups: {{prefix: 'ours {_SENTENCE}'}}
    - {{team: 'theirs {_SENTENCE}', files: theirs/**, groups: {{prefix: 'theirs {_SENTENCE}'}}}}
  consents:
    - team: 'theirs {_SENTENCE}'
      to: 'ours {_SENTENCE}'
      operations: [READ]
      groups: ['theirs {_SENTENCE} a']
      reason: '{_SENTENCE}'
---
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: prod}}
spec: {{principal: User:ops}}
"""
_PROPOSED = f"""\
apiVersion: reconciler/v1
kind: Acls
metadata: {{name: ours}}
spec:
  principals: ['User:ours', 'User:other {_SENTENCE}']
  rules:
    - {{allow: READ, groups: ['theirs {_SENTENCE} a', 'theirs {_SENTENCE} b']}}
"""
_HELD = AclBinding(
    ResourcePattern(ResourceType.GROUP, f"{_SENTENCE} 3"),
    AccessControlEntry(f"User:live {_SENTENCE}", "*", AclOperation.READ, AclPermissionType.ALLOW),
)
_LIVE = ClusterState("prod-id", bindings=frozenset({_HELD}), topics={"orders": Topic("orders", 2, 1)})


def _markdown(text: str) -> str:
    """What is no code in a comment."""
    rendered = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    return re.sub(r"<code>.*?</code>", "", rendered, flags=re.DOTALL)


def _html(text: str) -> str:
    """What is no code in the page, and no label of a picture's axis, which is a name and nothing else.

    Titles of a picture's cells are sentences without markup: there a name stands in its backticks.
    """
    others = r'<code\b.*?</code>|<(style|script)>.*?</\1>|<text class="label"[^>]*>[^<]*</text>'
    return _marked(html.unescape(re.sub(others, "", text, flags=re.DOTALL)))


def _marked(text: str) -> str:
    """What is not in backticks."""
    return re.sub(r"`[^`\n]*`", "", text)


def _slack(text: str) -> str:
    """The same in all texts of the message."""
    message = json.loads(text)
    return _marked("\n".join([message["text"], *(block["text"]["text"] for block in message["blocks"])]))


_PROSE: dict[str, Callable[[str], str]] = {"markdown": _markdown, "html": _html, "slack": _slack}


def _saying(prose: str) -> list[str]:
    return [line.strip() for line in prose.splitlines() if re.search("All checks|loses or gains", line)]


@pytest.fixture
def result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command on manifests and the snapshot; the path of its JSON."""

    def made(command: str, **files: str) -> str:
        for name, text in files.items():
            file = tmp_path / "manifests" / name / "all.yaml"
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
        snapshot = tmp_path / "snapshot.json"
        snapshot.write_text(snapshot_text(_LIVE), encoding="utf-8")
        deletes = ["--allow-deletes"] if command == "plan" else []
        live = [] if command == "validate" else ["--cluster", f"prod=snapshot:{snapshot}"]
        run([command, str(tmp_path / "manifests"), "--output", "json", *deletes, *live])
        (tmp_path / "result.json").write_text(capsys.readouterr().out, encoding="utf-8")
        return str(tmp_path / "result.json")

    return made


@pytest.mark.parametrize("form", _PROSE)
@pytest.mark.parametrize("command", ["plan", "drift", "test", "validate", "lint"])
@pytest.mark.parametrize("owned", [False, True])
def test_nobody_else_writes_a_sentence_into_a_report(
    form: str, command: str, owned: bool, result: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Principals, groups, tests, reasons, teams and messages that read like a verdict: none is a sentence of ours."""
    made = result(command, **({"root": _OWNED, "ours": _PROPOSED} if owned else {"root": _DOCUMENTS}))
    if form == "slack":
        shown = slack_message(read_result(json.loads(Path(made).read_text(encoding="utf-8"))))
    else:
        assert run(["report", made, "-o", form]) == 0
        shown = capsys.readouterr().out
    assert "\n".join(_saying(_PROSE[form](shown))) == ""


def test_a_name_that_is_cut_stays_a_name() -> None:
    """Wherever a row is cut: a name that lost its second backtick would go on as a sentence of ours."""
    row = f"User:a: READ on topic `x`  (data of {as_name(f'theirs {_SENTENCE}')}, which has not consented)"
    for most in range(2, len(row) + 2):
        cut = shortened(row, most)
        assert len(cut) <= most
        assert cut.count("`") % 2 == 0, cut
        assert cut == row if most >= len(row) else cut.rstrip("`").endswith("…")
