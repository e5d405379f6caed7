"""Floods of harmless grants around one that is not: wherever rows are left out, that one is shown."""

import datetime
import html
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reconciler.access.difference import Witness
from reconciler.access.names import NameSet, ResourceSet
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.model.desired import DesiredState
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.review.access_change import AccessChange
from reconciler.plan.review.access_review import AccessReview
from reconciler.plan.review.callouts import Callout, callouts
from reconciler.show.access_lines import PRINCIPALS_SHOWN, access_lines
from reconciler.show.formats import FormatOptions, format_named, sarif
from reconciler.show.formats.slack import slack_message
from reconciler.show.reading import Report, read_result
from reconciler.show.review import access_digest
from reconciler.snapshot.document import snapshot_text
from tests.integration.report.large import large_report

_ANY = "any host"
READ, DESCRIBE, ALTER = AclOperation.READ, AclOperation.DESCRIBE, AclOperation.ALTER
_TOPIC, _CLUSTER = ResourceType.TOPIC, ResourceType.CLUSTER


def row(who: str | None, resources: ResourceSet, *gained: AclOperation, topics: Sequence[str] = ()) -> AccessChange:
    witness = Witness(who or "User:x", "192.0.2.1", "x")
    return AccessChange(who, _ANY, resources, gained, (), witness, tuple(topics), len(topics))


def _harmless(number: int, kind: int) -> AccessChange:
    who = f"User:a{number:04}"
    if kind == 0:
        return row(who, ResourceSet(_TOPIC, NameSet(f"own{number}.")), READ)
    if kind == 1:
        return row(who, ResourceSet(_CLUSTER, NameSet("kafka-cluster", 1)), DESCRIBE)
    return row(who, ResourceSet(_TOPIC, NameSet(f"new{number}", 1)), READ)


_DANGEROUS: dict[str, Callable[[], AccessChange]] = {
    "an existing topic": lambda: row(
        "User:zz-mallory", ResourceSet(_TOPIC, NameSet("payroll.salaries", 1)), READ, topics=["payroll.salaries"]
    ),
    "all topics": lambda: row("User:zz-mallory", ResourceSet(_TOPIC), READ),
    "the cluster": lambda: row("User:zz-mallory", ResourceSet(_CLUSTER, NameSet("kafka-cluster", 1)), ALTER),
    "the tokens of a user": lambda: row(
        "User:zz-mallory", ResourceSet(ResourceType.USER, NameSet("User:svc-payroll", 1)), AclOperation.CREATE_TOKENS
    ),
    "a broker's right": lambda: row(
        "User:zz-mallory", ResourceSet(_CLUSTER, NameSet("kafka-cluster", 1)), AclOperation.CLUSTER_ACTION
    ),
    "everybody": lambda: row(None, ResourceSet(_TOPIC, NameSet("zz.")), READ),
}


@given(st.lists(st.integers(0, 2), min_size=60, max_size=200), st.sampled_from(sorted(_DANGEROUS)), st.randoms())
def test_one_dangerous_row_in_any_mixture_of_harmless_ones(kinds: list[int], which: str, chance: Random) -> None:
    """Whatever a proposer adds that is harmless, the row that is not comes first where rows are left out."""
    dangerous = _DANGEROUS[which]()
    rows = [*(_harmless(number, kind) for number, kind in enumerate(kinds)), dangerous]
    chance.shuffle(rows)
    first = next(access_lines(rows, most_names=4, gravest_first=True))
    assert first.who == (dangerous.principal or "everybody else")


_CLUSTER_DOCUMENT = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {superUsers: [User:admin], allowEveryoneIfNoAclFound: false, principal: User:admin}
"""
_SALARIES = "payroll.salaries"
#: Each format leaves some of so many out.
_CROWD = 500
#: What every report has to show of the dangerous grant, in its own escaping.
_MALLORY = "zz-mallory"


def _documents(crowd: str, dangerous: str) -> str:
    parts = [_CLUSTER_DOCUMENT]
    for number in range(_CROWD):
        rule = crowd.replace("N", f"{number:04}")
        parts.append(_acls(f"a{number:04}", f"User:a{number:04}", rule))
    return "---\n".join([*parts, _acls("mallory", f"User:{_MALLORY}", dangerous)])


def _acls(name: str, principal: str, rule: str) -> str:
    return (
        f"apiVersion: reconciler/v1\nkind: Acls\nmetadata: {{name: {name}}}\n"
        f'spec:\n  principals: ["{principal}"]\n  rules:\n    - {{{rule}}}\n'
    )


#: Each flood: the rule of each of the crowd, mallory's rule, and how a line about mallory names what is dangerous.
_FLOODS = {
    "prefixes": (
        "allow: [READ, WRITE], topics: {prefix: ownN.}",
        f"allow: [READ, WRITE], topics: [{_SALARIES}]",
        _SALARIES,
    ),
    "cluster": ("allow: DESCRIBE, cluster: true", "allow: [READ, WRITE], topics: {any: true}", "all topics"),
}


class Planned(NamedTuple):
    """A flood that was planned once: its directory, and what ``plan`` printed as text."""

    directory: Path
    text: str
    danger: str

    @property
    def result(self) -> str:
        return str(self.directory / "plan.json")

    def plan(self, *options: str) -> int:
        cluster = f"prod=snapshot:{self.directory / 'live.json'}"
        return run(["plan", str(self.directory / "manifests"), "--cluster", cluster, *options])


@pytest.fixture(scope="module", params=sorted(_FLOODS))
def flood(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Planned:
    crowd, dangerous, danger = _FLOODS[request.param]
    directory = tmp_path_factory.mktemp(request.param)
    (directory / "manifests").mkdir()
    (directory / "manifests" / "all.yaml").write_text(_documents(crowd, dangerous), encoding="utf-8")
    live = ClusterState("prod-id", topics={_SALARIES: Topic(_SALARIES, 1, 1)}, topic_names=frozenset({_SALARIES}))
    (directory / "live.json").write_text(snapshot_text(live), encoding="utf-8")
    planned = Planned(directory, "", danger)
    with redirect_stdout(io.StringIO()) as text:
        assert planned.plan("--out", planned.result) == Exit.OK
    return planned._replace(text=text.getvalue())


def _written(flood: Planned, form: str, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = run(["report", flood.result, "-o", form, *options])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def _shows(flood: Planned, lines: Sequence[str]) -> bool:
    """Whether one line names both who gains and on what, whatever is marked as code."""
    bare = [re.sub(r"`|</?code>|\\\\", "", line) for line in lines]
    return any(_MALLORY in line and flood.danger in line for line in bare)


_BANNER = re.compile(r"[\d,]+ of [\d,]+ rows of access shown")


def test_a_flood_on_the_terminal(flood: Planned) -> None:
    """1,000 harmless grants and one that is not: the plan begins with what it leaves out, and shows that one."""
    lines = flood.text.splitlines()
    assert _BANNER.match(lines[2])
    assert _shows(flood, lines[:60])


@pytest.mark.parametrize("form", ["markdown", "summary"])
def test_a_flood_in_a_comment_and_a_summary(flood: Planned, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same in Markdown: what has no room is said above all sections."""
    status, text, _ = _written(flood, form, capsys)
    assert status == Exit.OK
    access = text[text.index("#### Access") :].splitlines()
    assert _shows(flood, access[:8] if _BANNER.search(text) else access)
    if banner := _BANNER.search(text):
        assert banner.start() < text.index("####")
    assert _BANNER.search(text) or text.count("| <code>User") + text.count("| `User") > _CROWD


def test_a_flood_on_the_page(flood: Planned, capsys: pytest.CaptureFixture[str]) -> None:
    """The page has every row, so it has nothing to say about missing ones; its picture shows the dangerous one, too."""
    status, text, _ = _written(flood, "html", capsys, "--fail-on", "truncated")
    assert status == Exit.OK
    assert not _BANNER.search(text)
    shown = set(re.findall(r"User:a\d{4}|zz-mallory", re.sub(r"(?s)<svg.*?</svg>", "", text)))
    assert len(shown) == _CROWD + 1
    (picture,) = re.findall(r"(?s)<svg.*?</svg>", text)
    assert _MALLORY in picture


def test_a_flood_in_slack(flood: Planned) -> None:
    """The message has room for a few rows: it says so first, and the dangerous one is among them."""
    document = json.loads(Path(flood.result).read_text(encoding="utf-8"))
    message = json.loads(slack_message(read_result(document)))
    lines = message["blocks"][-1]["text"]["text"].splitlines()
    assert _BANNER.match(lines[0])
    assert _shows(flood, lines)


def test_a_flood_in_a_test_report(flood: Planned, capsys: pytest.CaptureFixture[str]) -> None:
    """JUnit has one case about access: it begins with what it leaves out, and has the dangerous row."""
    status, text, said = _written(flood, "junit", capsys, "--fail-on", "truncated")
    (case,) = ET.fromstring(text).iterfind(".//testcase[@name='access of prod']/skipped")  # noqa: S314 - our own
    lines = (case.text or "").splitlines()
    assert _BANNER.match(lines[0])
    assert _shows(flood, lines)
    assert status == Exit.FAILED_CHECK
    assert "--fail-on truncated" in said


def test_a_flood_in_code_scanning(flood: Planned, capsys: pytest.CaptureFixture[str]) -> None:
    """SARIF has one result about access, which begins with what it leaves out, and has the dangerous row."""
    status, text, _ = _written(flood, "sarif", capsys, "--fail-on", "truncated")
    (result,) = (one for one in json.loads(text)["runs"][0]["results"] if one["ruleId"] == "access")
    said = result["message"]["text"]
    assert _BANNER.match(said)
    assert _shows(flood, said.split(". "))
    assert len(said) <= 50_000
    assert status == Exit.FAILED_CHECK


def test_an_ordinary_plan_is_whole_in_code_scanning() -> None:
    """200 rows are no flood: a log that a person can read to its end is not called truncated, and loses no row."""
    rows = tuple(_harmless(number, 0) for number in range(200))
    plan = replace(large_report(steps=1, rows=1).plans[0], access=AccessReview(rows))
    cut: list[tuple[int, int]] = []
    options = FormatOptions("1", datetime.datetime.now(datetime.UTC), on_cut=lambda shown, of: cut.append((shown, of)))
    log = sarif.write(Report((plan,)), options)
    (result,) = json.loads(log)["runs"][0]["results"]
    assert cut == []
    assert {f"User:a{number:04}" for number in range(200)} <= set(re.findall(r"User:a\d{4}", result["message"]["text"]))


@pytest.mark.parametrize("flood", ["cluster"], indirect=True)
def test_a_gate_on_what_is_not_shown(flood: Planned, capsys: pytest.CaptureFixture[str]) -> None:
    """``--fail-on truncated`` stops a plan and a report that show a part, and lets one pass that shows everything."""
    assert flood.plan("--fail-on", "truncated") == Exit.FAILED_CHECK
    assert flood.plan("--fail-on", "truncated", "--expand") == Exit.OK
    assert flood.plan("--fail-on", "truncated", "--output", "json") == Exit.OK
    for form, status in (("text", Exit.FAILED_CHECK), ("cloudevents", Exit.OK), ("json", Exit.OK)):
        assert _written(flood, form, capsys, "--fail-on", "truncated")[0] == status
    # What is written besides the first format counts, too.
    page = str(flood.directory / "page.html")
    assert _written(flood, "json", capsys, "-o", f"html={page}", "--fail-on", "truncated")[0] == Exit.OK
    log = str(flood.directory / "log.sarif")
    assert _written(flood, "json", capsys, "-o", f"sarif={log}", "--fail-on", "truncated")[0] == Exit.FAILED_CHECK


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3_000)), max_size=200),
    st.sampled_from(sorted(_DANGEROUS)),
    st.sampled_from([(24, 2_800), (80, 20_000), (400, 40_000)]),
    st.randoms(),
)
def test_one_dangerous_row_where_there_is_little_room(
    kinds: list[tuple[int, int]], which: str, limit: tuple[int, int], chance: Random
) -> None:
    """However many harmless rows there are, and however long their names, the dangerous one is in the digest."""
    dangerous = _DANGEROUS[which]()
    crowd = [
        replace(_harmless(number, kind), principal=f"User:{number}{'a' * size}")
        for number, (kind, size) in enumerate(kinds)
    ]
    rows = [*crowd, dangerous]
    chance.shuffle(rows)
    plan = replace(large_report(steps=1, rows=1).plans[0], access=AccessReview(tuple(rows)))
    most, room = limit
    found = access_digest([plan], most=most, room=room)
    assert (dangerous.principal or "everybody else") in found.lines[0]
    assert len(found.lines) <= most
    assert sum(map(len, found.lines)) <= room
    assert found.rows == len(rows)
    assert bool(found.cut) is (found.shown < len(rows))
    # What is cut in the middle does not count as shown.
    assert sum("…" in line for line in found.lines) <= found.rows - found.shown


_FORMATS = {"text": "text", "comment": "markdown", "page": "html"}
#: How each dangerous row names who gains and on what, in a line of a report.
_WORDS = {
    "an existing topic": (_MALLORY, _SALARIES),
    "all topics": (_MALLORY, "all topics"),
    "the cluster": (_MALLORY, "ALTER"),
    "the tokens of a user": (_MALLORY, "User:svc-payroll"),
    "a broker's right": (_MALLORY, "CLUSTER_ACTION"),
    "everybody": ("everybody else", "zz."),
}
_HARMLESS = re.compile(r"User:a\d{4}")


@settings(max_examples=25)
@example([(2, 1)] * 30, "an existing topic", "page", False, Random(1))
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 400)), max_size=400),
    st.sampled_from(sorted(_DANGEROUS)),
    st.sampled_from(sorted(_FORMATS)),
    st.booleans(),
    st.randoms(),
)
def test_one_dangerous_row_in_a_whole_report(
    kinds: list[tuple[int, int]], which: str, form: str, called_out: bool, chance: Random
) -> None:
    """In text, a comment and a page: before all harmless rows where some are left out, and after the number of those.

    With ``called_out`` each harmless row has a callout that a proposer may choose, and so may the dangerous one not.
    """
    crowd = [
        replace(_harmless(number, kind), principal=f"User:a{number:04}{'b' * size}")
        for number, (kind, size) in enumerate(kinds)
    ]
    rows = [*crowd, _DANGEROUS[which]()]
    chance.shuffle(rows)
    callouts = tuple(Callout("cluster", str(row.principal), f"{row.principal} gains it") for row in crowd)
    review = AccessReview(tuple(rows), callouts=callouts if called_out else ())
    cut: list[tuple[int, int]] = []
    options = FormatOptions("1", datetime.datetime.now(datetime.UTC), on_cut=lambda *numbers: cut.append(numbers))
    report = Report((replace(large_report(steps=1, rows=1).plans[0], access=review),))
    written = html.unescape(format_named(_FORMATS[form])(report, options))
    said = re.sub(r"(?s)<svg.*?</svg>|`|</?code>|<wbr>|\\\\|\u200b", "", written)
    lines = re.split("<section ", said) if form == "page" else said.splitlines()
    dangerous = [number for number, line in enumerate(lines) if all(word in line for word in _WORDS[which])]
    assert dangerous, said
    if form == "page":
        # Where its script runs, the page shows so many principals at a time.
        listed = [number for number, line in enumerate(lines) if line.startswith('class="who"')]
        # The head of the page may name it, too.
        assert listed.index(next(number for number in dangerous if number in listed)) < PRINCIPALS_SHOWN
    if not cut:
        assert len(set(re.findall(r"User:a\d{4}", said))) == len(crowd)
        return
    ((shown, of),) = cut
    (banner,) = [number for number, line in enumerate(lines) if f"{shown:,} of {of:,} rows of access shown" in line][:1]
    harmless = [number for number, line in enumerate(lines) if _HARMLESS.search(line) and "gains it" not in line]
    assert of == len(rows)
    assert banner < dangerous[0] < min(harmless, default=len(lines))


@pytest.mark.parametrize(
    ("gained", "said"),
    [
        (_DANGEROUS["the tokens of a user"](), "with a token one logs in as that user"),
        (_DANGEROUS["a broker's right"](), "by which a broker reads every topic"),
        (row("User:ANONYMOUS", ResourceSet(_TOPIC, NameSet("t", 1)), READ), "whoever connects without a login"),
    ],
)
def test_a_grant_that_is_more_than_it_looks_like(gained: AccessChange, said: str) -> None:
    """By such a grant one reads what no row and no access test says: it is called out before everything else."""
    found = callouts([*(_harmless(number, 1) for number in range(3)), gained], DesiredState({}, {}))
    assert said in found[0].text
