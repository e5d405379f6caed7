"""No difference that is called tighter admits what was refused, and guardrails refuse what their rules alone refuse."""

import contextlib
import datetime
from collections.abc import Iterable, Iterator
from operator import methodcaller
from random import Random
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.access.authorizer import Authorizer
from reconciler.app.access_checks import checks
from reconciler.app.reasons import WorkflowError
from reconciler.app.states import authorizer
from reconciler.app.terms import delete_limits
from reconciler.manifest.guardrail_meaning import Meaning
from reconciler.manifest.guardrail_set import with_guardrails
from reconciler.manifest.guardrails import guardrail_changes
from reconciler.manifest.manifests import Manifests, desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.safeguards import lint_exceptions, standing_exceptions
from reconciler.model.acl import AclBinding
from reconciler.model.desired import DesiredState
from reconciler.policy.ownership import BreachKind
from tests.property import guardrail_worlds as worlds

_DAY: Final = datetime.date(2027, 1, 1)
_TIMES: Final = settings.default.max_examples if settings.default else 25
#: What speaks against a rule document, and not against a proposal.
_OF_RULES: Final = (BreachKind.OWNERS, BreachKind.CONSENT)


def _stops(manifests: Manifests, wanted: DesiredState, *, rules: bool) -> bool:
    declaration = manifests.clusters["c"]
    state = lambda: authorizer(declaration, wanted.bindings)  # noqa: E731
    found = checks(manifests, "c", wanted, state, _DAY, live=False)
    if rules:
        return found.stops
    breaches = [one for one in found.breaches if one.kind not in _OF_RULES]
    return bool(breaches) or any(one.stops for one in found.claims) or bool(found.policies and found.policies.stopping)


def _refused(own: Iterable[Source], guardrails: Iterable[Source] | None = None, *, rules: bool = True) -> bool:
    """Whether `validate` says no: to what cannot be read, or by a test, an owner or a policy."""
    try:
        manifests = load(list(own))
        manifests = manifests if guardrails is None else with_guardrails(manifests, guardrails)
        wanted = desired_state(manifests, "c", _DAY)
        return _stops(manifests, wanted, rules=rules)
    except (ManifestError, WorkflowError):
        return True


def _with(rules: list[Source], wishes: dict[str, list[str]]) -> list[Source]:
    return [*rules, *worlds.sources(wishes)]


def _valid(rules: list[Source]) -> Manifests | None:
    """The rules alone, if they hold together and nothing speaks against their documents."""
    try:
        manifests = load(rules)
        wanted = desired_state(manifests, "c", _DAY)
        breaches = checks(manifests, "c", wanted, lambda: Authorizer({}), _DAY, live=False).breaches
    except (ManifestError, WorkflowError):
        return None
    return None if any(one.kind in _OF_RULES for one in breaches) else manifests


def _guards(manifests: Manifests, random: Random) -> set[tuple[Any, ...]]:
    """Which safety checks refuse some plans, and which findings no exception accepts, by the Cluster document alone."""
    declaration = manifests.clusters["c"]
    limits = delete_limits(declaration)
    passed = {(one.guard, one.object) for one in standing_exceptions(declaration, _DAY)}
    found: set[tuple[Any, ...]] = {("protect", one) for one in declaration.protect}
    for _ in range(10):
        deletes, owned = random.choice([0, 1, 2, 6, 11, 30]), random.choice([1, 10, 20, 50, 100])
        many = limits.max_deletes is not None and deletes > limits.max_deletes
        percent = limits.max_delete_percent
        share = percent is not None and deletes > limits.percent_above and deletes * 100 > percent * owned
        for stops, name in ((many, "maxDeletes"), (share, "maxDeletePercent")):
            if stops and ("limit", name) not in passed:
                found.add((name, deletes, owned))
    return found


def _without_exception(manifests: Manifests, wanted: DesiredState) -> set[tuple[str, AclBinding]]:
    """Which findings of lint would stand, if each rule had one about each binding."""
    exceptions = [one for one in lint_exceptions(manifests, "c") if one.exception.stands(_DAY)]
    return {
        (rule, binding)
        for binding, note in wanted.bindings.items()
        for rule in worlds.LINT
        if not any(one.covers(rule, note.origin, methodcaller("selects", binding)) for one in exceptions)
    }


def _proposals(random: Random, number: int) -> Iterator[tuple[dict[str, list[str]], DesiredState]]:
    """Proposals in which nothing is wrong but what rules may say, each with what it wants."""
    cluster = Source("cluster.yaml", worlds.document("Cluster", "c", {}))
    for _ in range(number):
        wishes = worlds.wishes(random)
        with contextlib.suppress(ManifestError):
            yield wishes, desired_state(load([cluster, *worlds.sources(wishes)]), "c", _DAY)


@settings(max_examples=2 * _TIMES)
@given(st.integers(0, 2**40))
def test_what_is_called_tighter_admits_nothing_that_was_refused(seed: int) -> None:
    """Whatever the differences in rules are: if each is called tighter, the new ones refuse all that the old refuse."""
    random = Random(seed)
    base = worlds.rules(random)
    old = worlds.rule_sources(base)
    before = _valid(old)
    if before is None:
        return
    proposals = list(_proposals(random, 6))
    refused = [wishes for wishes, _ in proposals if _refused(_with(old, wishes))]
    for _ in range(10):
        new = worlds.rule_sources(worlds.mutated(random, base))
        changes = guardrail_changes(old, new)
        if any(change.meaning is not Meaning.TIGHTER for change in changes):
            continue
        try:
            after = load(new)
        except ManifestError:
            continue
        assert _guards(before, Random(seed)) <= _guards(after, Random(seed)), changes
        assert all(
            _without_exception(before, wanted) <= _without_exception(after, wanted) for _, wanted in proposals
        ), changes
        admitted = [wishes for wishes in refused if not _refused(_with(new, wishes))]
        assert not admitted, (changes, admitted[0])


@settings(max_examples=_TIMES)
@given(st.integers(0, 2**40))
def test_guardrails_refuse_all_that_their_rules_refuse_alone(seed: int) -> None:
    """Whatever a proposal writes into its rules: with the base as guardrails it gets nothing that the base refuses."""
    random = Random(seed)
    base = worlds.rules(random)
    old = worlds.rule_sources(base)
    before = _valid(old)
    if before is None:
        return
    refused = [wishes for wishes, _ in _proposals(random, 6) if _refused(_with(old, wishes), rules=False)]
    for _ in range(4):
        new = worlds.rule_sources(worlds.mutated(random, worlds.mutated(random, base)))
        admitted = [wishes for wishes in refused if not _refused(_with(new, wishes), old)]
        assert not admitted, (guardrail_changes(old, new), admitted[0])
        try:
            held = with_guardrails(load(new), old)
        except ManifestError:
            continue
        assert _guards(before, Random(seed)) <= _guards(held, Random(seed)), guardrail_changes(old, new)
