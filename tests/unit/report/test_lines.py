"""Lines of a plan: text, Markdown and the page show the same rows, in the same order, whole."""

import datetime
import html
import re
from collections.abc import Sequence

from reconciler.access.authorizer import Authorizer
from reconciler.access.effective import who_can
from reconciler.model.acl import AclBinding, AclOperation
from reconciler.model.desired import Declaration, DesiredState, Expiry, Origin
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Listing
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.plan.proposal import Options as PlanOptions
from reconciler.plan.proposal import Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.results.access import AccessView, Basis
from reconciler.show.access import holders_document, holders_lines
from reconciler.show.access_lines import access_lines, ordered_lines
from reconciler.show.formats import FormatOptions, format_named
from reconciler.show.questions import ask, explain_document, explain_lines
from reconciler.show.reading import Report
from reconciler.show.steps import step_lines
from tests.worlds import binding, bindings

_DAY = datetime.date(2026, 11, 21)
_OPTIONS = FormatOptions("1", datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC))


def plan(live: Sequence[AclBinding], wanted: Sequence[AclBinding], expires: Expiry | None = None) -> Plan:
    declared = dict.fromkeys(wanted, Declaration(Origin("a.yaml", 3, 5), expires=expires))
    request = Request(_DAY, PlanOptions(allow_deletes=True))
    return propose(
        DesiredState(declared), ClusterState("id", frozenset(live)), Terms("c", default_allow=False), request
    )


def written(name: str, found: Plan) -> str:
    """A format's text, with what HTML escapes as it is read."""
    text = format_named(name)(Report((found,)), _OPTIONS)
    return html.unescape(re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL))


def test_who_only_gains_what_write_implies_has_a_line() -> None:
    moved = plan(
        bindings("TOPIC:L:a User:a@10.0.0.1 ALLOW WRITE"),
        bindings("CLUSTER:L:kafka-cluster User:a@* ALLOW IDEMPOTENT_WRITE"),
    )
    text = written("text", moved)
    assert "c: User:a gains and loses access.\n" in text
    assert "  + User:a: IDEMPOTENT_WRITE on the cluster from any host but 10.0.0.1\n" in text
    assert "IDEMPOTENT_WRITE | the cluster from `any host but 10.0.0.1` |" in written("markdown", moved)
    assert "IDEMPOTENT_WRITE</span></td><td>the cluster" in written("html", moved)


def test_the_summary_of_the_steps_keeps_the_case_of_names() -> None:
    live = ClusterState("id", listings={ScramUser.KIND: Listing(frozenset({ScramUser("a", {"SCRAM-SHA-512": 8192})}))})
    everybody = Scope(include=(Selector(NameSelector(any_name=True)),))
    terms = Terms("c", everybody, default_allow=False, prune=frozenset({ScramUser.KIND}))
    gone = propose(DesiredState(), live, terms, Request(_DAY, PlanOptions(allow_deletes=True)))
    assert "1 SCRAM user to delete, in order" in written("markdown", gone)


def test_text_markdown_and_page_have_the_same_rows_in_the_same_order() -> None:
    moved = plan(
        bindings("TOPIC:L:z User:b@* ALLOW WRITE", "TOPIC:L:b User:c@* ALLOW READ"),
        bindings(
            "TOPIC:P:pay. User:d@* ALLOW READ",
            "TOPIC:L:t1 User:a@* ALLOW WRITE",
            "TOPIC:L:t2 User:a@* ALLOW WRITE",
            "GROUP:L:g User:b@10.0.0.1 ALLOW READ",
        ),
    )
    rows = [(line.sign, line.who, line.operations) for line in access_lines(moved.access.access_changes)]
    assert [who for _, who, _ in rows] == sorted(who for _, who, _ in rows)
    text = written("text", moved).partition("\nAccess\n")[2].partition("\n\n")[0]
    assert [(line[2], *line[4:].split(" on ")[0].split(": ")) for line in text.splitlines() if line[2] in "+-"] == rows
    table = re.findall(r"^\| `([^`]*)` \| (➕|➖) ([^|]*?) \|", written("markdown", moved), re.MULTILINE)
    assert [("+" if sign == "➕" else "-", who, words) for who, sign, words in table] == rows
    page = written("html", moved)
    found = []
    for portion in re.findall(r'<section class="who".*?</section>', page, re.DOTALL):
        (who,) = re.findall(r"<h4><code>(.*?)</code>", portion)
        chips = re.findall(r'chip (gain|loss)">.*?</span><span class="sr">\w+ </span>(.*?)</span>', portion)
        found += [("+" if kind == "gain" else "-", who, words) for kind, words in chips]
    assert found == rows

    steps = [f"{line.sign} {line.words}" for line in step_lines(moved)]
    for name in ("text", "markdown", "html"):
        places = [written(name, moved).find(step) for step in steps]
        assert -1 not in places, name
        assert places == sorted(places), name


def test_of_very_many_rows_each_format_begins_with_the_same() -> None:
    wanted = [*(f"TOPIC:L:t{n} User:a{n:02}@* ALLOW READ" for n in range(60)), "TOPIC:L:* User:zz@* ALLOW WRITE"]
    moved = plan([], bindings(*wanted))
    lines = ordered_lines(moved.access.access_changes)
    assert (lines[0].who, len(lines)) == ("User:zz", 62)
    shown = re.findall(r"^  \+ (\S+): ([A-Z_, ]+) on", written("text", moved), re.MULTILINE)
    assert shown == [(line.who, line.operations) for line in lines[:20]]
    table = re.findall(r"^\| `([^`]*)` \| ➕ ([^|]*?) \|", written("markdown", moved), re.MULTILINE)
    assert table == [(line.who, line.operations) for line in lines]
    page = re.findall(r"<h4><code>(.*?)</code>", written("html", moved))
    assert page == list(dict.fromkeys(line.who for line in lines))

    # The steps too: shapes share a line in text and in Markdown, and the page has each one, in the same order.
    (crowd,) = (line for line in step_lines(moved) if line.names)
    assert crowd.words == "60 ACLs: 60 principals ALLOW READ on 60 TOPIC names"
    for name in ("text", "markdown"):
        text = written(name, moved)
        assert -1 < text.find("User:zz ALLOW WRITE on every TOPIC") < text.find(crowd.words)
    page_steps = [f"{line.sign} {line.words}" for line in step_lines(moved, fold=False)]
    assert len(page_steps) == 61
    places = [written("html", moved).find(step) for step in page_steps]
    assert places == sorted(places)
    assert places[0] > 0


def test_the_last_day_of_a_binding_is_in_every_format_that_shows_its_step() -> None:
    moved = plan([], bindings("TOPIC:L:t User:a@* ALLOW READ"), Expiry(datetime.date(2027, 1, 31)))
    for name in ("text", "markdown", "summary", "html", "cloudevents"):
        assert "2027-01-31" in written(name, moved), name


def test_why_a_binding_is_declared_is_in_every_format_that_shows_its_step() -> None:
    (read,) = bindings("TOPIC:L:t User:a@* ALLOW READ")
    why = Declaration(Origin("a.yaml", 3, 5), reason="settlement reads orders", ticket="PAY-12")
    request = Request(_DAY, PlanOptions(), accepted=(AcceptedGuard(Guard.TOPIC_DELETE, "old", "moved"),))
    moved = propose(DesiredState({read: why}), ClusterState("id"), Terms("c", default_allow=False), request)
    for name in ("text", "markdown", "summary", "html", "cloudevents"):
        text = written(name, moved)
        assert "PAY" in text, name
        assert "settlement reads orders" in text, name
    for name in ("text", "markdown", "html"):
        assert "topic-delete for old: moved" in re.sub("[`*]", "", re.sub("<[^>]*>", "", written(name, moved))), name


def test_explain_and_who_can_say_why() -> None:
    (read,) = bindings("TOPIC:L:t User:a@* ALLOW READ")
    why = Declaration(Origin("a.yaml", 3, 5), "settlement reads orders", "PAY-12", Expiry(datetime.date(2027, 1, 31)))
    view = AccessView("c", Basis.DECLARED, Authorizer({read: why}))
    said = "User:a ALLOW READ on TOPIC t  a.yaml:3:5  until 2027-01-31  PAY-12: settlement reads orders"
    found = [ask(view, "User:a", AclOperation.READ, read.pattern, None)]
    assert said in "\n".join(explain_lines(found))
    (answer,) = explain_document(found)["answers"]
    assert [one["ticket"] for one in answer["declared"]] == ["PAY-12"]
    held = [(view, who_can(view.authorizer, AclOperation.READ, read.pattern))]
    assert said.removeprefix("User:a ") in "\n".join(holders_lines(AclOperation.READ, read.pattern, held))
    (state,) = holders_document(AclOperation.READ, read.pattern, held)["states"]
    assert [one["reason"] for one in state["declared"]] == ["settlement reads orders"]


def test_expanded_every_operation_has_its_line() -> None:
    moved = plan([], bindings("TOPIC:L:t User:a@* ALLOW READ", "TOPIC:L:t User:a@* ALLOW CREATE"))
    assert [line.words for line in step_lines(moved)] == ["User:a ALLOW READ, CREATE on TOPIC t"]
    assert len(list(step_lines(moved, expand=True))) == 2


def test_one_id_is_shown_as_the_one_to_approve() -> None:
    moved = plan([], bindings("TOPIC:L:t User:a@* ALLOW READ"))
    text = written("text", moved)
    assert re.findall(r"\b(plan|change)-[0-9a-f]{64}", text) == ["plan"]
    assert "Approve with --require-id plan-" in text
    assert re.findall(r"\b(plan|change)-[0-9a-f]{64}", written("html", moved)) == ["plan"]
    # A pipeline compares the change of a pull request's comment with that of the merged commit.
    assert re.search(r"\bplan-[0-9a-f]{64}`, its change `change-[0-9a-f]{64}`", written("markdown", moved))


def test_operations_of_one_deny_share_a_line_that_says_what_any_of_them_does() -> None:
    wanted = [
        binding("TOPIC:P:a User:a@* ALLOW WRITE"),
        binding("TOPIC:L:abc User:a@* DENY WRITE"),
        binding("TOPIC:L:abc User:a@* DENY DELETE"),
    ]
    found = [line for line in step_lines(plan([], wanted)) if " DENY " in line.words]
    assert [(line.steps, line.effect) for line in found] == [(2, "narrows an ALLOW of this plan")]
    lines = step_lines(plan([], wanted), expand=True)
    assert sorted(line.effect for line in lines if " DENY " in line.words) == [
        "narrows an ALLOW of this plan",
        "no effect",
    ]
