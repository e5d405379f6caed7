"""The law of guardrails: with them, nothing that they alone would find goes unfound, whatever the proposal writes."""

import datetime
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.access.authorizer import Authorizer
from reconciler.app.access_checks import checks
from reconciler.manifest.guardrail_set import with_guardrails
from reconciler.manifest.manifests import Manifests, desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.model.acl import AclBinding
from reconciler.model.desired import DesiredState
from reconciler.show.claims import Checks

_DAY = datetime.date(2027, 1, 1)
_NAMES = ("pay.a", "pay.b", "web.a", "nobodys")
_PRINCIPALS = ("User:svc-pay", "User:svc-web", "User:other", "User:*")
_FILES = ("teams/pay/a.yaml", "teams/web/a.yaml", "root.yaml")


def _document(kind: str, name: str, spec: str, labels: str = "") -> str:
    metadata = f"{{name: {name}, labels: {{{labels}}}}}" if labels else f"{{name: {name}}}"
    return f"apiVersion: reconciler/v1\nkind: {kind}\nmetadata: {metadata}\nspec:\n{spec}\n"


@st.composite
def _clusters(draw: st.DrawFn) -> str:
    """A Cluster document: its label, its scope, what it protects."""
    include = draw(st.sampled_from(["", "include: [{topics: {any: true}}]", "include: [{topics: {prefix: pay.}}]"]))
    exclude = draw(st.sampled_from(["", "exclude: [{topics: [web.a]}]", 'exclude: [{principals: ["User:*"]}]']))
    scope = ", ".join(filter(None, [include, exclude]))
    lines = ["  superUsers: [User:admin]", "  allowEveryoneIfNoAclFound: false"]
    lines += [f"  scope: {{{scope}}}"] if scope else []
    lines += draw(st.sampled_from([[], ["  ignore: [{topics: [nobodys]}]"]]))
    return _document("Cluster", "c", "\n".join(lines), draw(st.sampled_from(["env: prod", "env: dev"])))


@st.composite
def _rules(draw: st.DrawFn) -> list[str]:
    """Access tests, owners and topic policies, each for all clusters or for some, strict or not."""
    found = []
    clusters = st.sampled_from(
        ["", "  clusters: {matchLabels: {env: prod}}\n", "  clusters: {matchLabels: {env: dev}}\n"]
    )
    accepted = "}]\n  exceptions: [{check: t, reason: r, expires: 2099-01-01"
    leniency = st.sampled_from(["", ", severity: warning", accepted])
    if draw(st.booleans()):
        readers = draw(st.lists(st.sampled_from(_PRINCIPALS[:3]), min_size=1, unique=True))
        test = f"{{name: t, onlyReaders: [{', '.join(readers)}], topics: {{prefix: pay.}}{draw(leniency)}}}"
        found.append(_document("AccessTests", "tests", f"{draw(clusters)}  tests: [{test}]"))
    if draw(st.booleans()):
        web = draw(st.sampled_from(["{prefix: web.}", "{any: true}", "[pay.a]"]))
        consent = draw(st.sampled_from(["", ", consents: [{to: web, operations: [READ], topics: [pay.a]}]"]))
        pay = f"{{team: pay, files: teams/pay/**, principals: [User:svc-pay], topics: {{prefix: pay.}}{consent}}}"
        other = f"{{team: web, files: teams/web/**, principals: [User:svc-web], topics: {web}}}"
        found.append(_document("Ownership", "teams", f"{draw(clusters)}  owners: [{pay}, {other}]"))
    if draw(st.booleans()):
        most = draw(st.integers(1, 9))
        about = draw(st.sampled_from(["topics: {any: true}", "matchLabels: {data: personal}"]))
        severity = draw(st.sampled_from(["error", "warning"]))
        rule = f"{{{about}, partitions: {{max: {most}}}, message: few, severity: {severity}}}"
        found.append(_document("TopicPolicy", "policy", f"{draw(clusters)}  rules: [{rule}]"))
    return found


@st.composite
def _wishes(draw: st.DrawFn) -> dict[str, list[str]]:
    """Bindings and topics, by file."""
    found: dict[str, list[str]] = {path: [] for path in _FILES}
    for number in range(draw(st.integers(0, 3))):
        action = draw(st.sampled_from(["allow", "deny"]))
        names = draw(st.sampled_from([*(f"[{name}]" for name in _NAMES), "{prefix: pay.}", "{any: true}"]))
        who = draw(st.sampled_from(_PRINCIPALS))
        spec = f'  principal: "{who}"\n  rules: [{{{action}: READ, topics: {names}}}]'
        found[draw(st.sampled_from(_FILES))].append(_document("Acls", f"acls-{number}", spec))
    for number, name in enumerate(draw(st.lists(st.sampled_from(_NAMES), unique=True, max_size=2))):
        spec = f"  topics: [{{name: {name}, partitions: {draw(st.integers(1, 9))}, labels: {{{draw(_LABELS)}}}}}]"
        found[draw(st.sampled_from(_FILES))].append(_document("Topics", f"topics-{number}", spec))
    return found


_LABELS = st.sampled_from(["data: personal", "data: public"])


def _sources(wishes: dict[str, list[str]], documents: Iterable[str]) -> list[Source]:
    texts = {path: list(found) for path, found in wishes.items()}
    texts["root.yaml"] += documents
    return [Source(path, "---\n".join(found)) for path, found in texts.items() if found]


def _found(given: Checks) -> set[tuple[object, ...]]:
    """What stops, in words that do not depend on where the rule is written."""
    policies = given.policies.stopping if given.policies else ()
    return {
        *(("test", one.test.name, one.test.principals) for one in given.claims if one.stops),
        *(("owner", one.origin, one.kind, one.principal, one.pattern, one.permission) for one in given.breaches),
        *(("policy", one.topic, one.code, one.wanted) for one in policies),
    }


def _judged(manifests: Manifests, wanted: DesiredState) -> set[tuple[object, ...]]:
    bindings = dict(wanted.bindings)
    return _found(checks(manifests, "c", wanted, lambda: Authorizer(bindings, ["User:admin"], False), _DAY))


@settings(max_examples=4 * settings().max_examples)
@given(_wishes(), _clusters(), _rules(), _clusters(), _rules())
def test_guardrails_find_all_that_they_would_find_alone(
    wishes: dict[str, list[str]], own: str, own_rules: list[str], cluster: str, rules: list[str]
) -> None:
    """Whatever rules, labels and scope a proposal writes: the guardrails find what their rules alone would find."""
    proposal = load(_sources(wishes, [own, *own_rules]))
    held = with_guardrails(proposal, _sources({path: [] for path in _FILES}, [cluster, *rules]))
    # The same wishes, where nobody but the guardrails says anything; every document of theirs is in a file of no team.
    alone = load(_sources(wishes, [cluster, *rules]))
    for binding in _declared(held, alone):
        assert alone.clusters["c"].scope.owns(binding) or not held.clusters["c"].scope.owns(binding)
    wanted = _state(held)
    judged = _state(alone)
    if wanted is None or judged is None:
        # What is outside of the guardrails' scope is a problem with them, too.
        assert wanted is None or judged is not None
        return
    assert _judged(alone, wanted) <= _judged(held, wanted)
    assert _judged(proposal, wanted) <= _judged(held, wanted)


def _state(manifests: Manifests) -> DesiredState | None:
    try:
        return desired_state(manifests, "c", _DAY)
    except Exception:
        return None


def _declared(*manifests: Manifests) -> set[AclBinding]:
    return {binding for one in manifests if (state := _state(one)) is not None for binding in state.bindings}
