"""What a server believes, tries and answers, each against its definition on all small cases."""

import datetime
import http.client
import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, Final, cast

import click
import pytest

from reconciler.app.apply import ApplyOptions, Unattended
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import HeldError, NotApprovedError, WorkflowError
from reconciler.apply.audit import Sight
from reconciler.apply.barrier import start_probe_acls
from reconciler.apply.environment import Outcome
from reconciler.apply.records import PastRun
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.acl import AclBinding
from reconciler.model.markers import LONGEST, break_glass_mark, bridge_on, marker_of
from reconciler.model.state import ClusterState
from reconciler.parts.serve import narrowing, rounds
from reconciler.parts.serve.cli import Address
from reconciler.parts.serve.http import ServePages, status_server
from reconciler.parts.serve.narrowing import ApprovedPlans, SeenMarks
from reconciler.parts.serve.rounds import ClockWatch, DirectorySource, ServeLoop, ServeOptions, _acted
from reconciler.plan.proposal import Plan
from reconciler.show.rounds import ApprovedOutcome, ApprovedStatus, Round, RoundHistory
from reconciler.system.process import SystemClock
from tests.unit.workflow.serving import LIVE, OVER, World
from tests.worlds import binding

NOW: Final = datetime.datetime(2027, 1, 31, 18, tzinfo=datetime.UTC)
HOUR: Final = datetime.timedelta(hours=1)
ACCESS: Final = binding("User:svc ALLOW READ on TOPIC team.orders")
_GIVEN, _DOUBTED, _UNSEEN = "given", "doubted", "unseen"
#: Whether the access is there, and the end that its mark names, in hours: soon, later, and later than any may be.
_READINGS: Final = list(product((False, True), (None, 1, 3, 40)))


def _definition(readings: Sequence[tuple[bool, int | None]]) -> tuple[str | None, list[str | None]]:
    """What is believed of the access in the end, and what was news at each reading, two hours apart."""
    belief: str | None = None
    before, before_at, news = False, math.inf, list[str | None]()
    for number, (there, end) in enumerate(readings):
        at, old = 2 * number, belief
        if end is None:
            belief = None
        elif not there:
            # The mark comes first, as it does in every run: its access may arrive at any time.
            belief = belief if belief == _GIVEN else _GIVEN if at < end <= at + 24 else None
        elif belief is None or (belief == _UNSEEN and at < end <= at + 24):
            if before and belief is None:
                belief = _DOUBTED  # it was there without a mark
            elif end > at + 24 or (end <= at and end <= before_at):
                belief = _UNSEEN
            else:
                belief = _GIVEN
        news.append(belief if belief != old and belief in (_GIVEN, _DOUBTED) else None)
        before, before_at = there, at
    return belief, news


@pytest.mark.parametrize("first", _READINGS)
def test_a_mark_is_believed_of_access_that_came_with_it_or_after_it(first: tuple[bool, int | None]) -> None:
    for more in product(_READINGS, _READINGS):
        readings = (first, *more)
        seen, news = SeenMarks(), []
        for number, (there, end) in enumerate(readings):
            marks = [] if end is None else [break_glass_mark(ACCESS, NOW + end * HOUR)]
            live = ClusterState("c", frozenset([*marks, *([ACCESS] if there else [])]))
            at = NOW + 2 * number * HOUR
            found = seen.look(live, at, None)
            assert all(one.access.binding == ACCESS for one in found)
            news.append([one.sight for one in found])
        belief, expected = _definition(readings)
        words = {_GIVEN: [Sight.SEEN], _DOUBTED: [Sight.DOUBTED], None: []}
        assert news == [words[one] for one in expected], readings
        over = readings[-1][0] and readings[-1][1] is not None and readings[-1][1] <= 4
        assert seen.vouched(live, at) == ({ACCESS} if over and belief == _GIVEN else set()), readings


def test_the_longest_access_is_a_day() -> None:
    """A mark without its access that names a later end is none that a run of ours writes."""
    for end, believed in ((LONGEST, True), (LONGEST + HOUR, False), (-HOUR, False), (0 * HOUR, False)):
        seen = SeenMarks()
        found = seen.look(ClusterState("c", frozenset({break_glass_mark(ACCESS, NOW + end)})), NOW, None)
        assert bool(found) is believed


@pytest.mark.parametrize("seed", range(40))
def test_as_much_goes_as_may_go_together(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has to stay keeps no other; in so many tries each is in the plan, or counted with its reason."""
    random = Random(seed)
    names = [
        binding(f"User:u{number} ALLOW READ on TOPIC x") for number in range(random.choice([0, 1, 2, 3, 5, 9, 40]))
    ]
    bad = {one: random.choice(["first", "second"]) for one in names if random.random() < random.choice([0, 0.1, 0.9])}
    tried: list[frozenset[AclBinding]] = []

    def make(chosen: frozenset[AclBinding]) -> Plan:
        tried.append(chosen)
        return cast("Plan", chosen)

    def why(plan: Any) -> str | None:
        return min((bad[one] for one in plan if one in bad), default=None)

    monkeypatch.setattr(narrowing, "why_not_narrowing", why)
    opening = random.choice([0, 3])
    plan, staying = narrowing._most(make, list(names), opening)
    chosen = cast("frozenset[AclBinding]", plan or frozenset())
    assert not chosen & bad.keys()
    assert len(tried) <= 16
    assert bool(tried) is bool(names)
    assert sum(staying.values()) == opening + len(names) - len(chosen)
    assert all(staying.values())
    opened = {why for why in staying if "default-allow" in why}
    assert len(opened) == bool(opening)
    untried = {why for why in staying if "not judged" in why}
    if not untried:
        assert chosen == set(names) - bad.keys()
        counts = {why: number for why, number in staying.items() if why not in opened}
        assert counts == {why: [*bad.values()].count(why) for why in set(bad.values())}
    else:
        assert len(tried) == 16


_LINES: Final = (
    {"record": "run", "run": "r", "fileDigest": "d"},
    {"record": "end", "run": "r", "succeeded": True},
    {"record": "end", "run": "r", "succeeded": False},
    {"record": "end", "run": "other", "succeeded": True},
    {"record": "step", "run": "r", "fileDigest": "d"},
    {"record": "run", "run": "r"},
)


def test_a_file_is_over_once_its_run_has_succeeded() -> None:
    """By what a log says of that run, in this order: that it began with this file, and that it ended well."""
    for lines in product(_LINES, repeat=3):
        plans = ApprovedPlans("nowhere", cast("Any", None))
        plans._take(cast("Iterable[Mapping[str, Any]]", lines))
        begun = next((at for at, line in enumerate(lines) if line == _LINES[0]), 3)
        assert ("d" in plans._over) is (_LINES[1] in lines[begun:]), lines


def test_a_run_is_over_that_ended_with_every_step_done() -> None:
    plan = cast("Plan", SimpleNamespace(steps=[SimpleNamespace(id="a"), SimpleNamespace(id="b")]))
    for ended, first, second in product((False, True), (None, *Outcome), (Outcome.DONE, Outcome.FAILED)):
        steps = {name: what for name, what in (("a", first), ("b", second)) if what is not None}
        past = cast("PastRun", SimpleNamespace(ended=ended, steps=steps))
        good = first in (Outcome.DONE, Outcome.ALREADY) and second is Outcome.DONE
        assert narrowing._is_over(plan, [past]) is (ended and good)
        assert not narrowing._is_over(plan, [])


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9470", ("127.0.0.1", 9470)),
        ("[::1]:65535", ("::1", 65_535)),
        ("localhost:0", ("localhost", 0)),
        ("host:65536", None),
        ("host", None),
        (":9470", None),
        ("host:", None),
        ("host:-1", None),
        ("host:http", None),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int] | None) -> None:
    if address is None:
        with pytest.raises(click.UsageError, match="write HOST:PORT"):
            Address().convert(text, None, None)
    else:
        assert Address().convert(text, None, None) == address
        assert Address().convert(address, None, None) == address


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/healthz", 200, "alive"),
        ("GET", "/readyz", 503, "not read lately: prod"),
        ("GET", "/metrics", 200, "reconciler_"),
        ("GET", "/", 200, "prod"),
        ("GET", "/clusters/prod", 404, "/clusters/NAME"),
        ("GET", "/clusters/other", 404, "/clusters/NAME"),
        ("GET", "/other", 404, "/clusters/NAME"),
        ("GET", "/reload", 404, "/clusters/NAME"),
        ("POST", "/reload", 202, "a round begins"),
        ("POST", "/healthz", 404, "/clusters/NAME"),
    ],
)
def test_each_page_before_the_first_round(method: str, path: str, status: int, words: str) -> None:
    wake = threading.Event()
    pages = ServePages(RoundHistory(("prod",)), wake, HOUR)
    found = pages.answer(method, path)
    assert (found.status, words in found.body) == (status, True)
    assert wake.is_set() is (status == 202)
    assert found.own_policy is (path == "/")


def test_a_cluster_has_a_page_and_is_ready_once_it_was_read(tmp_path: Path) -> None:
    history = RoundHistory(("prod",))
    done = World(tmp_path).round(act=False)
    history.add(done)
    pages = ServePages(history, threading.Event(), HOUR)
    assert pages.answer("GET", "/readyz").status == 200
    page = pages.answer("GET", "/clusters/prod")
    assert (page.status, page.kind, page.own_policy) == (200, "text/html", True)
    assert "team.orders" in page.body
    late = ServePages(history, threading.Event(), datetime.timedelta())
    assert late.answer("GET", "/readyz").status == 503


def test_on_loopback_only_names_of_loopback_are_answered() -> None:
    """A page of any site can have its own name lead to 127.0.0.1."""
    pages = ServePages(RoundHistory(("prod",)), threading.Event(), HOUR)
    for host in ("127.0.0.1", "localhost"):
        with status_server(host, 0, pages.answer) as address:
            port = int(address.rpartition(":")[2])
            for name, status in (
                ("localhost", 200),
                (f"localhost:{port}", 200),
                (f"127.0.0.1:{port}", 200),
                ("[::1]:1", 200),
                ("evil.example", 403),
                (f"evil.example:{port}", 403),
                ("", 403),
            ):
                client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                client.request("GET", "/healthz?a=b", headers={"Host": name})
                assert client.getresponse().status == status, name
                client.close()


def test_a_clock_is_doubted_from_a_minute_on_in_either_direction() -> None:
    for moved, way in ((60, None), (61, "forwards by 61 s"), (-60, None), (-61, "back by 61 s")):
        watch = ClockWatch(cast("Any", SimpleNamespace(monotonic=lambda: 0.0)))
        assert watch.doubt(NOW) is None
        doubt = watch.doubt(NOW + datetime.timedelta(seconds=moved))
        assert (doubt is None) if way is None else f"was set {way} since" in str(doubt)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--audit", "a.jsonl"), "--plans and --audit count for --act only"),
        (("--plans", "dir"), "--plans and --audit count for --act only"),
        (("--git-remote", "origin"), "--git-remote needs --git-ref"),
    ],
)
def test_options_without_an_effect_are_refused(
    words: tuple[str, ...], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", str(tmp_path), *words]) == Exit.USAGE
    assert why in capsys.readouterr().err


def test_a_server_without_a_cluster_does_not_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    role = "apiVersion: reconciler/v1\nkind: Role\nmetadata: {name: r}\nspec: {rules: [{allow: READ, topics: [a]}]}\n"
    (tmp_path / "r.yaml").write_text(role, encoding="utf-8")
    assert run(["serve", str(tmp_path)]) == Exit.USAGE
    assert "the manifests declare no cluster" in capsys.readouterr().err


def test_a_round_that_changed_anything_is_looked_at_again() -> None:
    waiting = tuple(ApprovedOutcome("a", status, "") for status in ApprovedStatus if status != ApprovedStatus.PERFORMED)
    for more, acted in (
        ({}, False),
        ({"revoked": 1}, True),
        ({"removed": 1}, True),
        ({"waiting": 1, "approved": waiting}, False),
        ({"approved": (*waiting, ApprovedOutcome("b", ApprovedStatus.PERFORMED, ""))}, True),
    ):
        assert _acted(Round("prod", NOW, **more)) is acted, more


@pytest.mark.parametrize("default", ["true", "false"])
def test_what_runs_put_there_for_themselves_is_no_part_of_a_plan(tmp_path: Path, default: str) -> None:
    """Wanted, it would be created: then nothing would end while any run is under way."""
    world = World(tmp_path)
    world.declare(default=default)
    file = world.manifests / "all.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("{prefix: team.}", "{any: true}"), encoding="utf-8")
    young = f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}-young"
    # Of a name that no step touches: else the run would take the bridge over, and remove it at its end.
    elsewhere = ACCESS.pattern._replace(name="elsewhere")
    own = {*start_probe_acls(young, "User:acl-probe"), marker_of(young, elsewhere)}
    own |= {bridge_on(elsewhere)} if default == "true" else set()
    world.live(LIVE | own)
    found = world.round()
    assert (found.revoked, found.held_back, found.waiting) == (1, (), 0)
    assert world.bindings() == (LIVE | own) - {OVER}


def test_who_stops_a_server_waits_for_one_cluster_and_not_for_all(tmp_path: Path) -> None:
    world, seen = World(tmp_path), list[str]()
    options = [ServeOptions(world.cluster), ServeOptions(f"other=snapshot:{world.snapshot}")]
    for stop_after in (1, 2):
        seen.clear()
        loop = ServeLoop(
            DirectorySource(str(world.manifests)),
            options,
            ConnectionOptions(),
            Unattended(),
            SystemClock(),
            RoundHistory(("prod", "other")),
            300.0,
            on_round=lambda found: seen.append(found.cluster),
        )
        wake = threading.Event()
        wake.wait = lambda _=None: False  # type: ignore[method-assign, assignment]
        loop.run(lambda most=stop_after: len(seen) >= most, wake)  # type: ignore[misc]
        assert seen == ["prod", "other"][:stop_after]


def test_an_answer_has_its_length_and_what_may_be_done_with_it() -> None:
    """A page says itself what it may load; of anything else nothing may be."""
    pages = ServePages(RoundHistory(("prod",)), threading.Event(), HOUR)
    with status_server("127.0.0.1", 0, pages.answer) as address:
        for method, path, own in (("GET", "/healthz", False), ("GET", "/", True), ("HEAD", "/healthz", False)):
            client = http.client.HTTPConnection("127.0.0.1", int(address.rpartition(":")[2]), timeout=10)
            client.request(method, path, headers={"Host": "localhost"})
            answer = client.getresponse()
            body = answer.read()
            expected = pages.answer("GET", path).body.encode()
            assert int(answer.headers["Content-Length"]) == len(expected) or path == "/"
            assert bool(body) is (method == "GET")
            assert ("default-src 'none'" in (answer.headers["Content-Security-Policy"] or "")) is not own
            for name in ("Cache-Control", "Referrer-Policy", "X-Content-Type-Options", "X-Frame-Options"):
                assert answer.headers[name], name
            client.close()


def _result(*, succeeded: bool, stopped: str | None) -> Any:
    numbers = {Outcome.DONE: 1, Outcome.ALREADY: 2}
    return SimpleNamespace(succeeded=succeeded, stopped=stopped, count=lambda outcome: numbers.get(outcome, 0))


@pytest.mark.parametrize(
    ("succeeded", "stopped", "said"),
    [
        (True, None, ()),
        (False, "the broker went away", ("the broker went away",)),
        (False, None, ("not every expired binding could be deleted",)),
    ],
)
def test_a_round_says_what_its_run_came_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, succeeded: bool, stopped: str | None, said: tuple[str, ...]
) -> None:
    world = World(tmp_path)
    monkeypatch.setattr(rounds, "perform_now", lambda *_: _result(succeeded=succeeded, stopped=stopped))
    found = world.round()
    assert (found.revoked, found.waiting, found.held_back) == (3, 0, said)

    def refused(*_: object) -> None:
        raise WorkflowError("another run holds the lease")

    monkeypatch.setattr(rounds, "perform_now", refused)
    found = world.round()
    assert (found.revoked, found.waiting) == (0, 1)
    assert found.held_back == ("1 expired binding stays: another run holds the lease",)


@pytest.mark.parametrize(
    ("outcome", "status", "why", "over"),
    [
        (_result(succeeded=True, stopped=None), ApprovedStatus.PERFORMED, "", True),
        (_result(succeeded=False, stopped="no broker"), ApprovedStatus.FAILED, "no broker", False),
        (_result(succeeded=False, stopped=None), ApprovedStatus.FAILED, "not every step is done", False),
        (NotApprovedError(2, (), ()), ApprovedStatus.WAITING, None, False),
        (HeldError("held by anna"), ApprovedStatus.HELD, "held by anna", False),
        (WorkflowError("stale"), ApprovedStatus.FAILED, "stale", False),
    ],
)
@pytest.mark.parametrize("refused", [0, 1, 2])
def test_a_signed_plan_says_what_became_of_it(
    monkeypatch: pytest.MonkeyPatch, outcome: Any, status: ApprovedStatus, why: str | None, over: bool, refused: int
) -> None:
    def applied(*_: object, **__: object) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    for name, instead in (
        ("check_approvals", lambda *_: None),
        ("ids", lambda _: ("", "whole")),
        ("earlier_runs", lambda *_: ()),
        ("apply_plan", applied),
    ):
        monkeypatch.setattr(narrowing, name, instead)
    plans = ApprovedPlans("nowhere", cast("Any", None))
    setting = narrowing.ApplySetting("m", "c", ConnectionOptions(), ApplyOptions(), Unattended())
    plan = cast("Plan", SimpleNamespace(refused=[None] * refused, steps=()))
    found = plans._performed("dir/a.json", plan, "digest", setting)
    numbers = ("", "1 change", "2 changes")
    left_out = f"{numbers[refused]} refused by safety checks, and not in it" if refused else ""
    assert found == ApprovedOutcome("a.json", status, left_out if over else why or str(outcome))
    assert ("digest" in plans._over) is over
