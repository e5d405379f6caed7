"""What lint proposes, as an edit: bindings that say nothing go; access stays the same unless somebody asked.

A binding may be redundant today because of another one that ends next month, so access is compared on every day on
which something ends. What is proven to go together is proven again without whatever an editor cannot write, or another
day keeps: an ALLOW that stays may have needed the DENY that was to go with it.
"""

import datetime
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from reconciler.access.lint import rule_of
from reconciler.access.lint.rule import LintFinding
from reconciler.access.remediation import without_change
from reconciler.app.lint import lint, simplify
from reconciler.app.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.app.reasons import RequestError
from reconciler.app.states import authorizer
from reconciler.dataclass import dataclass
from reconciler.manifest.write.pages import Book
from reconciler.model.acl import AclBinding
from reconciler.model.desired import DesiredState
from reconciler.parts.edit.app.editing import SAME_ACCESS, ManifestEdit, doubted, edit, in_force, instants
from reconciler.parts.edit.kinds.acl import removable
from reconciler.show.lint import Linted


@dataclass(frozen=True, slots=True)
class LintFix:
    """The edit, the findings that it ends, and those that stay although their rule can be fixed.

    ``kept`` are bindings of a role, of several clusters, or such that removing them would change access some day.
    """

    edit: ManifestEdit
    fixed: tuple[LintFinding, ...] = ()
    kept: tuple[LintFinding, ...] = ()


def fix_lint(
    request: StateRequest,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    also: Collection[str] = (),
    tell: Tell = ignore,
) -> LintFix:
    """What the findings about manifests propose, for all their clusters; nothing is written.

    ``also`` names rules whose fix changes access, or gives up a guard. Raises a :class:`WorkflowError`.
    """
    asked = {_asked(name) for name in also}
    offline = replace(request, cluster=None)
    by_cluster = {
        linted.view.cluster: [item for item in linted.findings if item.rule.fix == "same" or item.rule.code in asked]
        for linted in _linted(offline, connection, tell)
    }
    path = request.path or connection.default_path
    gone: dict[str, set[AclBinding]] = {}
    findings = [(name, item) for name, items in by_cluster.items() for item in items]
    changing = _by_cluster((name, item) for name, item in findings if item.rule.code in asked)

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        gone.update(_agreed(book, _by_cluster(findings), changing, request.at))
        return _less(book, gone)

    promise = replace(SAME_ACCESS, asked=changing)
    edited = edit(path, wanted, promise, request.at, connection=connection)
    fixed = tuple(item for name, item in findings if item.binding in gone.get(name, ()))
    return LintFix(edited, fixed, tuple(item for name, item in findings if item.binding not in gone.get(name, ())))


def fix_simplify(
    request: StateRequest, connection: ConnectionOptions = ConnectionOptions(), *, tell: Tell = ignore
) -> ManifestEdit:
    """The manifests with the smaller set of bindings that means the same; nothing is written."""
    offline = replace(request, cluster=None)
    superfluous = {
        view.cluster: {removal.binding for removal in smaller.removed}
        for view, smaller in simplify(offline, connection, tell=tell)
    }

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        return _less(book, _agreed(book, superfluous, {}, request.at))

    return edit(request.path or connection.default_path, wanted, SAME_ACCESS, request.at, connection=connection)


def _linted(request: StateRequest, connection: ConnectionOptions, tell: Tell) -> list[Linted]:
    return lint(request, connection, tell=tell)


def _asked(name: str) -> str:
    rule = rule_of(name)
    if rule is None or rule.fix == "none":
        why = "there is no such lint rule" if rule is None else "what to do about it is for people to say"
        raise RequestError(f"{name} cannot be fixed: {why}")
    return rule.code


def _by_cluster(findings: Iterable[tuple[str, LintFinding]]) -> dict[str, set[AclBinding]]:
    bindings: dict[str, set[AclBinding]] = {}
    for name, item in findings:
        if item.binding is not None:
            bindings.setdefault(name, set()).add(item.binding)
    return bindings


def _agreed(
    book: Book,
    proposed: Mapping[str, AbstractSet[AclBinding]],
    changing: Mapping[str, AbstractSet[AclBinding]],
    day: datetime.date,
) -> dict[str, set[AclBinding]]:
    """As many as can be taken out together so that access, without the ``changing`` ones among them, is the same."""
    gone = {
        name: {binding for binding in (*proposed.get(name, ()), *changing.get(name, ())) if binding in state.bindings}
        for name, state in book.desired.items()
    }
    while True:
        remaining = {}
        for name, bindings in removable(book, gone).items():
            asked = bindings & changing.get(name, set())
            remaining[name] = asked | _same(book, name, bindings - asked, asked, day)
        if remaining == gone:
            return gone
        gone = remaining


def _less(book: Book, gone: Mapping[str, Collection[AclBinding]]) -> dict[str, DesiredState]:
    return {
        name: replace(
            state,
            bindings={
                binding: declaration for binding, declaration in state.bindings.items() if binding not in gone[name]
            },
        )
        for name, state in book.desired.items()
    }


def _same(
    book: Book,
    name: str,
    bindings: AbstractSet[AclBinding],
    without: AbstractSet[AclBinding],
    day: datetime.date,
) -> set[AclBinding]:
    """Those that can all go, and access is the same on the day and on every later one after which something ended.

    ``without``: of the access that is left when these are gone.
    """
    whole = book.desired[name]
    state = replace(
        whole,
        bindings={binding: declaration for binding, declaration in whole.bindings.items() if binding not in without},
    )
    declaration, remaining = doubted(book.clusters[name], SAME_ACCESS), set(bindings)
    while True:
        kept = len(remaining)
        for when in instants([state], day):
            here = authorizer(declaration, in_force(state, when))
            over = {binding for binding in remaining if binding not in here.bindings}
            remaining = over | without_change(here, remaining - over)
        # What one day keeps takes part in the proof of every other one.
        if len(remaining) == kept:
            return remaining
