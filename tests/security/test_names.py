"""Names that look like others, that nobody sees, or that write sentences: no reviewer is deceived by them."""

import ast
import html
import json
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from reconciler.cli.main import run
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError, Problem
from reconciler.manifest.write.text import text_problem
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import escape_invisible, is_visible, look_alikes, mixed_scripts
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text
from tests.unit.model.confusables_table import TABLE, written

#: Characters that show nothing and yet are letters, marks or symbols; or that newer tables know and older do not.
UNSEEN = [
    *"\U0001d159\U00016fe4\u2d7f\ufffc\U00013441\U00013442\u2800\u3164\u115f\u1160\u180e\uffa0\u034f\u17b4\ufe0f",
    *"\ue000\U000f0000\u0378\U0003fffe\U000e0100\u200b\u2060\u061c\u202e\ufeff\xad\U0001107f",
]


def acls(principal: str = "User:a", group: str = "a", reason: str = "b") -> str:
    return (
        "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\n"
        f"spec:\n  principal: '{principal}'\n  rules:\n"
        f"    - {{allow: READ, groups: ['{group}'], reason: '{reason}'}}\n"
    )


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ManifestError) as refused:
        load([Source("a.yaml", text)])
    return refused.value.problems


@pytest.mark.parametrize("character", UNSEEN, ids=[f"U+{ord(one):04X}" for one in UNSEEN])
def test_a_blank_or_unknown_character_is_refused_wherever_it_stands(character: str) -> None:
    """A principal, a group, a reason or a comment with a character that shows nothing: refused, by its code point."""
    for text in (
        acls(principal=f"User:svc-payroll{character}"),
        acls(group=f"a{character}"),
        acls(reason=f"a{character}"),
        acls() + f"# {character}\n",
    ):
        (problem,) = problems_of(text)
        assert problem.code == "KR005"
        assert f"U+{ord(character):04X}" in problem.message
        assert character not in str(ManifestError([problem]))


@pytest.mark.parametrize("character", UNSEEN, ids=[f"U+{ord(one):04X}" for one in UNSEEN])
def test_what_a_cluster_returns_is_shown_by_its_code(character: str) -> None:
    """A live principal with such a character is not refused: people see its code, and export does not write it."""
    assert escape_invisible(f"User:a{character}") == f"User:a\\u{ord(character):04x}"
    assert text_problem(f"User:a{character}") is not None


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\u2007", "\u202f", "\u1680"])
def test_a_blank_that_is_not_a_space_is_refused_in_values(blank: str) -> None:
    """A name with another blank where its twin has a space: refused."""
    (problem,) = problems_of(acls(principal=f"User:a{blank}b"))
    assert problem.code == "KR005"
    assert not is_visible(f"User:a{blank}b")


@pytest.mark.parametrize("field", ["principal", "group", "reason"])
def test_a_second_spelling_of_a_name_is_refused_with_the_first(field: str) -> None:
    """`User:café` with an accent of its own beside the composed one: refused, and the composed form is shown."""
    (problem,) = problems_of(acls(**{field: "User:cafe\u0301-1"}))
    assert problem.code == "KR015"
    assert "U+00E9 as U+0065 U+0301" in problem.message
    assert problem.advice == "write 'User:caf\u00e9-1'"
    load([Source("a.yaml", acls(**{field: "User:caf\u00e9-1"}))])


def test_no_rule_about_characters_asks_the_running_python() -> None:
    """Pythons have different tables of Unicode: nothing that decides or shows names asks them."""
    asking = []
    for path in Path("reconciler").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        # No other file is worth the time to parse it.
        for node in ast.walk(ast.parse(text if "isprintable" in text or "unicodedata" in text else "")):
            named = isinstance(node, ast.Attribute) and node.attr == "isprintable"
            imported = isinstance(node, ast.Import) and any(one.name == "unicodedata" for one in node.names)
            if named or imported:
                asking.append(str(path))
    # It asks of ASCII only, about which all agree.
    assert asking == ["reconciler/model/characters.py"]


_SENTENCE = "nobody loses or gains anything. All checks passed. Nobody"
_CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod}\nspec: {principal: User:ops}\n"


def _planned(tmp_path: Path, capsys: pytest.CaptureFixture[str], rules: str, state: ClusterState) -> str:
    """The path of the plan's JSON."""
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "all.yaml").write_text(f"{_CLUSTER}---\n{rules}", encoding="utf-8")
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(snapshot_text(state), encoding="utf-8")
    assert run(["plan", str(tmp_path / "manifests"), "--cluster", f"prod=snapshot:{snapshot}", "--output", "json"]) in (
        0,
        5,
    )
    (tmp_path / "plan.json").write_text(capsys.readouterr().out, encoding="utf-8")
    return str(tmp_path / "plan.json")


def _prose_of(markdown: str) -> str:
    """What a reader of the comment reads as text: everything but code."""
    rendered = MarkdownIt("gfm-like", {"linkify": False}).render(markdown)
    return re.sub(r"<code>.*?</code>", "", rendered, flags=re.DOTALL)


def test_a_principal_writes_no_sentence_into_a_comment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A principal and a group that read like a verdict: one code span wherever they stand in the comment."""
    rules = (
        "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n"
        f"  principal: 'User:{_SENTENCE}'\n  rules:\n"
        "    - {allow: READ, topics: {any: true}}\n"
        "    - {allow: [ALTER, DESCRIBE], cluster: true}\n"
        f"    - {{allow: READ, groups: ['{_SENTENCE}', 'a` {_SENTENCE} `b']}}\n"
        f"    - {{allow: DELETE, groups: {{prefix: '{_SENTENCE}'}}, reason: '{_SENTENCE}', ticket: 'All checks'}}\n"
    )
    plan = _planned(tmp_path, capsys, rules, ClusterState("prod-id"))
    assert run(["report", plan, "-o", "markdown"]) == 0
    comment = capsys.readouterr().out
    assert "All checks passed" in re.sub(r"&#(\d+);", lambda one: chr(int(one[1])), comment)
    assert "All checks" not in _prose_of(comment)
    assert "loses or gains" not in _prose_of(comment)


def test_a_principal_writes_no_sentence_into_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same on a terminal: the name stands in backticks that it cannot close."""
    rules = (
        "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n"
        f"  principal: 'User:a` {_SENTENCE}'\n  rules: [{{allow: READ, topics: {{any: true}}}}]\n"
    )
    plan = _planned(tmp_path, capsys, rules, ClusterState("prod-id"))
    assert run(["report", plan, "-o", "text"]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if _SENTENCE in line]
    assert said
    assert all(f"`User:a\\u0060 {_SENTENCE}`" in line for line in said)


@pytest.mark.parametrize("format_", ["markdown", "text", "html"])
def test_letters_of_another_script_show_their_code_points(
    format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`User:svc-pаyroll` with a Cyrillic letter: every report names U+0430 beside it."""
    rules = (
        "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n"
        "  principal: User:svc-p\u0430yroll\n  rules: [{allow: READ, topics: {any: true}}]\n"
    )
    plan = _planned(tmp_path, capsys, rules, ClusterState("prod-id"))
    assert run(["report", plan, "-o", format_]) == 0
    shown = html.unescape(capsys.readouterr().out)
    assert shown.count("User:svc-p\u0430yroll") >= 3
    assert shown.count("(U+0430)") >= 3


def test_a_name_that_looks_like_a_known_one_stands_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A grant to `User:svc-pаyroll` where `User:svc-payroll` is live: a callout in every report, and a lint finding."""
    rules = (
        "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n"
        "  principal: User:svc-p\u0430yroll\n  rules: [{allow: READ, topics: [salaries]}]\n"
    )
    held = AclBinding(
        ResourcePattern(ResourceType.TOPIC, "salaries"),
        AccessControlEntry("User:svc-payroll", "*", AclOperation.READ, AclPermissionType.ALLOW),
    )
    plan = _planned(tmp_path, capsys, rules, ClusterState("prod-id", bindings=frozenset({held})))
    callouts = {one["rule"]: one["text"] for one in json.loads(Path(plan).read_text(encoding="utf-8"))["callouts"]}
    looks = "the principal `User:svc-p\u0430yroll` (U+0430) looks like User:svc-payroll, and is another principal"
    assert callouts["confusable"] == looks
    assert callouts["mixed-scripts"].endswith("mixes letters of Cyrillic and Latin")
    for format_ in ("markdown", "text"):
        assert run(["report", plan, "-o", format_]) == 0
        assert "looks like" in capsys.readouterr().out


def test_the_table_of_look_alikes_is_as_generated() -> None:
    """The committed table is what the script makes of the data, with its version of Unicode."""
    assert TABLE.read_text(encoding="utf-8") == written()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User:svc-p\u0430yroll", "User:svc-payroll"),
        ("User:svc\u2010payroll", "User:svc-payroll"),
        ("User:a1", "User:al"),
        ("orders.1O", "orders.10"),
        ("corn", "com"),
        ("\u0430\u0440\u0435", "ape"),
    ],
)
def test_look_alikes_have_one_skeleton(one: str, other: str) -> None:
    """A name in letters that look like those of another: known as one set."""
    assert list(look_alikes([one, other, "else"])) == [tuple(sorted((one, other)))]


@pytest.mark.parametrize(
    "name", ["User:CN=\u0418\u0432\u0430\u043d,O=\u041f", "User:\u6771\u4eac-x", "User:caf\u00e9-1"]
)
def test_names_of_other_languages_are_not_suspicious(name: str) -> None:
    """Names in one script, beside the Latin of a distinguished name: no finding."""
    assert mixed_scripts(name) == ()
