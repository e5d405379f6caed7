"""Findings about the ACLs of a state, with the exceptions of the manifests; and the smaller set that means the same."""

import datetime
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from reconciler.access.lint import RULES, findings
from reconciler.access.lint.ineffective import redundant
from reconciler.access.lint.rule import AclFinding, LintFinding, LintState
from reconciler.access.lint.stale import expired
from reconciler.access.remediation import Simplified
from reconciler.access.remediation import simplify as smaller
from reconciler.app.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.app.reasons import WorkflowError
from reconciler.app.states import AccessState, access_states
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.selectors import LintException
from reconciler.manifest.safeguards import lint_exceptions
from reconciler.model.acl import AclOperation
from reconciler.model.desired import Origin
from reconciler.model.flavor import APACHE
from reconciler.model.frozen import without_collector
from reconciler.model.listing import ListedItem
from reconciler.results.access import AccessView, declared_logins, with_condition
from reconciler.results.findings import matter
from reconciler.show.lint import Linted, linted_findings


def lint(
    request: StateRequest,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    principals: frozenset[str] | None = None,
    base: str | None = None,
    tell: Tell = ignore,
) -> list[Linted]:
    """What is redundant, ineffective or risky in each state: what is declared for each cluster, or what one has.

    ``principals`` are all that exist, if that is known: others are findings. What is declared is compared with the
    manifests below ``base``, which the author of a proposal cannot edit. Raises a :class:`WorkflowError`.
    """
    states = access_states(request, connection, all_topics=True, beside=True, tell=tell)
    with without_collector():
        linted = [_linted(state, principals, request.at) for state in states]
    in_base = {} if base is None or request.live else _base_matters(replace(request, path=base), connection, principals)
    return [replace(state, known=in_base.get(state.view.cluster)) for state in linted]


def _base_matters(
    request: StateRequest, connection: ConnectionOptions, principals: frozenset[str] | None
) -> dict[str, tuple[str, ...]]:
    """By cluster: the matters of what the base declares; nothing where it cannot be read, so that all is new."""
    try:
        linted = lint(request, connection, principals=principals)
    except WorkflowError:
        return {}
    return {state.view.cluster: tuple(sorted(map(matter, linted_findings(state)))) for state in linted}


def simplify(
    request: StateRequest, connection: ConnectionOptions = ConnectionOptions(), *, tell: Tell = ignore
) -> list[tuple[AccessView, Simplified]]:
    """A smaller set of bindings with exactly the same access, for each state. Raises as :func:`lint`."""
    return [
        with_condition(
            state.view, lambda view: smaller(view.authorizer), compared=lambda simplified: simplified.removed
        )
        for state in access_states(request, connection, all_topics=True, tell=tell)
    ]


def _linted(state: AccessState, principals: frozenset[str] | None, day: datetime.date) -> Linted:
    declaration = state.declaration
    # What is declared tells of a topic that it shall be, not that no other is there.
    topics = state.view.topics if state.state is not None else None
    names = None if topics is None else frozenset(topics)
    types = (declaration.flavor if declaration is not None else APACHE).principal_types
    listed = tuple(_listed(state))
    whole = LintState(
        state.view.authorizer, names, principals, day, principal_types=types, listed=listed, users=_users(state)
    )
    rules = {on_facts: [rule for rule in RULES if rule.on_facts is on_facts] for on_facts in (False, True)}
    implied = 0

    def is_reported(finding: LintFinding) -> bool:
        # At once: of a large cluster there may be as many as a third of its bindings.
        nonlocal implied
        counted = _spells_out(finding) and not _ignored(finding, declaration)
        implied += counted
        return not counted

    reported = findings(whole, rules[False], is_reported)
    # Only these rules can find something else where a fact is in doubt.
    view, more = with_condition(state.view, lambda doubted: findings(whole.about(doubted.authorizer), rules[True]))
    # Where they cannot be listed, none is found: nobody may take that for none that is there.
    gaps = view.beside.gaps if view.beside is not None and state.state is not None else {}
    view = replace(
        view, unseen=(*view.unseen, *(f"{what}, which cannot be listed: {why}" for what, why in gaps.items()))
    )
    all_findings = sorted([*reported, *more, *_expired(state)], key=lambda finding: finding.order)
    exceptions: tuple[LintException, ...] = ()
    if state.manifests is not None and declaration is not None:
        exceptions = tuple(
            item for item in lint_exceptions(state.manifests, declaration.name) if item.exception.stands(day)
        )
    ours = [finding for finding in all_findings if not _ignored(finding, declaration)]
    ignored = len(all_findings) - len(ours)
    shown = [finding for finding in ours if not _spells_out(finding)]
    accepting = _Exceptions(exceptions)
    excepted = [(finding, accepting.first(finding)) for finding in shown]
    used = {id(exception) for _, exception in excepted}
    return Linted(
        view,
        tuple(finding for finding, exception in excepted if exception is None),
        tuple((finding, exception) for finding, exception in excepted if exception is not None),
        tuple(exception for exception in exceptions if id(exception) not in used),
        ignored,
        len(ours) - len(shown) + implied,
    )


def _users(state: AccessState) -> frozenset[str] | None:
    """The declared SCRAM users, where the operator states that nobody logs in otherwise."""
    declared = (state.desired and declared_logins(state.desired).users) or {}
    alone = state.declaration is not None and state.declaration.only_scram_logins
    return frozenset(declared) if alone and declared else None


def _listed(state: AccessState) -> Iterator[tuple[ListedItem, Origin | None]]:
    """What the state has of listed kinds, each with the place that declares it."""
    declared = state.desired.listed if state.desired is not None else {}
    if state.state is None:
        for items in declared.values():
            yield from ((entry.item, entry.declaration.origin) for entry in items.values() if not entry.goes)
        return
    for kind, listing in state.state.listings.items():
        for key, item in sorted(listing.by_key.items()):
            desired_item = declared.get(kind, {}).get(key)
            yield item, None if desired_item is None else desired_item.declaration.origin


def _ignored(finding: LintFinding, declaration: ClusterDeclaration | None) -> bool:
    return declaration is not None and finding.ignored_by(declaration.scope)


def _spells_out(finding: LintFinding) -> bool:
    """Whether it only says that a DESCRIBE stands beside what implies it: usual, and clearer with it than without."""
    if finding.binding is None:
        return False
    pattern, entry = finding.binding
    beside = [other for other in finding.related if other.pattern == pattern and other.entry[:2] == entry[:2]]
    implied = entry.operation in (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    named = all(other.entry.operation is not AclOperation.ALL for other in beside)
    return finding.rule is redundant and implied and named and len(beside) == len(finding.related)


class _Exceptions:
    """The exceptions by rule, and by what a finding must be about: there may be as many of them as of findings."""

    __slots__ = ("_about", "_documents")

    def __init__(self, exceptions: Sequence[LintException]) -> None:
        """Those of an ``Acls`` document have the places of its bindings in one set."""
        self._about: dict[tuple[str, str | int | None], list[tuple[int, LintException]]] = defaultdict(list)
        self._documents: dict[Origin, list[int]] = defaultdict(list)
        for number, item in enumerate(exceptions):
            document = None if item.places is None else id(item.places)
            for about in item.names or (document,):
                self._about[item.rule, about].append((number, item))
        for places in {id(item.places): item.places for item in exceptions if item.places is not None}.values():
            for origin in places:
                self._documents[origin].append(id(places))

    def first(self, finding: LintFinding) -> LintException | None:
        """The first that covers a finding."""
        rule, origin, selected_by = finding.rule.code, finding.origin, finding.selected_by
        documents = self._documents.get(origin, ()) if origin is not None else ()
        near = [item for about in (None, *finding.names, *documents) for item in self._about.get((rule, about), ())]
        near.sort(key=itemgetter(0))
        return next((item for _, item in near if item.covers(rule, origin, selected_by)), None)


def _expired(state: AccessState) -> list[LintFinding]:
    """Declarations that have ended: their bindings are wanted no longer, so no state holds their dates."""
    ended = state.desired.expired if state.desired is not None else {}
    return [
        AclFinding(
            expired,
            binding,
            f"it ended {declaration.expires and declaration.expires.past}",
            "remove the lines; the next plan removes the binding if it is still there",
            origin=declaration.origin,
        )
        for binding, declaration in sorted(ended.items())
    ]
