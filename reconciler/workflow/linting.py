"""Findings about the ACLs of a state, with the waivers of the manifests; and the smaller set that means the same."""

import datetime

from reconciler.access.lint import RULES, LintFinding, LintState, findings
from reconciler.access.lint.rules.redundant import redundant
from reconciler.access.lint.rules.stale import expired
from reconciler.access.minimise import Minimised
from reconciler.access.minimise import minimise as smaller
from reconciler.manifest import LintWaiver, lint_waivers
from reconciler.model import APACHE, AclOperation
from reconciler.model.collector import without_collector
from reconciler.report.access_view import AccessView
from reconciler.report.condition import with_condition
from reconciler.report.lint_text import Linted
from reconciler.workflow.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.workflow.states import AccessState, access_states


def lint(
    request: StateRequest,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    principals: frozenset[str] | None = None,
    tell: Tell = ignore,
) -> list[Linted]:
    """What is redundant, ineffective or risky in each state: what is declared for each cluster, or what one has.

    ``principals`` are all that exist, if that is known: others are findings. Raises a :class:`WorkflowError`.
    """
    states = _states(request, connection, tell)
    with without_collector():
        return [_linted(state, principals, request.at) for state in states]


def minimise(
    request: StateRequest, connection: ConnectionOptions = ConnectionOptions(), *, tell: Tell = ignore
) -> list[tuple[AccessView, Minimised]]:
    """A smaller set of bindings with exactly the same access, for each state. Raises as :func:`lint`."""
    return [
        with_condition(state.view, lambda one: smaller(one.authorizer), compared=lambda one: one.removed)
        for state in _states(request, connection, tell)
    ]


def _states(request: StateRequest, connection: ConnectionOptions, tell: Tell) -> list[AccessState]:
    return access_states(request, connection, all_topics=True, tell=tell)


def _linted(state: AccessState, principals: frozenset[str] | None, day: datetime.date) -> Linted:
    declaration = state.declaration
    # What is declared tells of a topic that it shall be, not that no other is there.
    topics = state.view.topics if state.state is not None else None
    names = None if topics is None else frozenset(topics)
    types = (declaration.flavor if declaration is not None else APACHE).principal_types
    whole = LintState(state.view.authorizer, names, principals, day, principal_types=types)
    rules = {on_facts: [rule for rule in RULES if rule.on_facts is on_facts] for on_facts in (False, True)}
    implied = 0

    def is_told(finding: LintFinding) -> bool:
        # At once: of a large cluster there may be as many as a third of its bindings.
        nonlocal implied
        counted = _spells_out(finding) and not (declaration and declaration.scope.ignores(finding.binding))
        implied += counted
        return not counted

    told_of = findings(whole, rules[False], is_told)
    # Only these rules can find something else where a fact is in doubt.
    view, more = with_condition(state.view, lambda one: findings(whole.about(one.authorizer), rules[True]))
    found = sorted([*told_of, *more, *_expired(state)], key=lambda finding: finding.order)
    waivers: tuple[LintWaiver, ...] = ()
    if state.manifests is not None and declaration is not None:
        waivers = tuple(item for item in lint_waivers(state.manifests, declaration.name) if item.waiver.stands(day))
    ours = [one for one in found if declaration is None or not declaration.scope.ignores(one.binding)]
    ignored = len(found) - len(ours)
    told = [one for one in ours if not _spells_out(one)]
    waived = [(finding, _waiver(finding, waivers)) for finding in told]
    used = {id(waiver) for _, waiver in waived}
    return Linted(
        view,
        tuple(finding for finding, waiver in waived if waiver is None),
        tuple((finding, waiver) for finding, waiver in waived if waiver is not None),
        tuple(waiver for waiver in waivers if id(waiver) not in used),
        ignored,
        len(ours) - len(told) + implied,
    )


def _spells_out(finding: LintFinding) -> bool:
    """Whether it only says that a DESCRIBE stands beside what implies it: usual, and clearer with it than without."""
    pattern, entry = finding.binding
    beside = [other for other in finding.related if other.pattern == pattern and other.entry[:2] == entry[:2]]
    implied = entry.operation in (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    named = all(other.entry.operation is not AclOperation.ALL for other in beside)
    return finding.rule is redundant and implied and named and len(beside) == len(finding.related)


def _waiver(finding: LintFinding, waivers: tuple[LintWaiver, ...]) -> LintWaiver | None:
    return next((one for one in waivers if one.covers(finding.rule.code, finding.binding, finding.origin)), None)


def _expired(state: AccessState) -> list[LintFinding]:
    """Declarations that have ended: their bindings are wanted no longer, so no state holds their dates."""
    ended = state.desired.expired if state.desired is not None else {}
    return [
        LintFinding(
            expired,
            binding,
            f"it ended {declaration.expires and declaration.expires.past}",
            "remove the lines; the next plan removes the binding if it is still there",
            origin=declaration.origin,
        )
        for binding, declaration in sorted(ended.items())
    ]
