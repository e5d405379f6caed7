"""What lint proposes, as an edit: bindings that say nothing go; access stays the same unless somebody asked.

A binding may be redundant today because of another one that ends next month, so access is compared on every day on
which something ends.
"""

import datetime
from collections.abc import Collection, Mapping
from dataclasses import replace

from reconciler.access import Authorizer
from reconciler.access.lint import LintFinding, rule_of
from reconciler.access.minimise import without_change
from reconciler.dataclass import dataclass
from reconciler.edit import Book
from reconciler.edit.kinds.acl import removable
from reconciler.manifest import ClusterDeclaration
from reconciler.model import AclBinding, DesiredState, instant_of
from reconciler.report.lint_text import Linted
from reconciler.workflow.editing import ManifestEdit, edit
from reconciler.workflow.linting import lint, minimise
from reconciler.workflow.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.workflow.reasons import RequestError
from reconciler.workflow.states import authorizer


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
    offline = replace(request, cluster=None, offline=True)
    found = {
        one.view.cluster: [item for item in one.findings if item.rule.fix == "same" or item.rule.code in asked]
        for one in _linted(offline, connection, tell)
    }
    path = request.path or connection.default_path
    gone: dict[str, set[AclBinding]] = {}
    made = edit(path, lambda book: _without(book, found, asked, request.at, gone), request.at, connection=connection)
    findings = [(name, item) for name, items in found.items() for item in items]
    fixed = tuple(item for name, item in findings if item.binding in gone.get(name, ()))
    return LintFix(made, fixed, tuple(item for name, item in findings if item.binding not in gone.get(name, ())))


def fix_minimise(
    request: StateRequest, connection: ConnectionOptions = ConnectionOptions(), *, tell: Tell = ignore
) -> ManifestEdit:
    """The manifests with the smaller set of bindings that means the same; nothing is written."""
    offline = replace(request, cluster=None, offline=True)
    found = {
        view.cluster: {one.binding for one in smaller.removed}
        for view, smaller in minimise(offline, connection, tell=tell)
    }

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        same = {name: _same(book, name, found.get(name, set()), request.at) for name in book.clusters}
        return _less(book, removable(book, same))

    return edit(request.path or connection.default_path, wanted, request.at, connection=connection)


def _linted(request: StateRequest, connection: ConnectionOptions, tell: Tell) -> list[Linted]:
    return lint(request, connection, tell=tell)


def _asked(name: str) -> str:
    rule = rule_of(name)
    if rule is None or rule.fix == "none":
        why = "there is no such lint rule" if rule is None else "what to do about it is for people to say"
        raise RequestError(f"{name} cannot be fixed: {why}")
    return rule.code


def _without(
    book: Book,
    found: Mapping[str, Collection[LintFinding]],
    asked: Collection[str],
    day: datetime.date,
    gone: dict[str, set[AclBinding]],
) -> Mapping[str, DesiredState]:
    for name in book.clusters:
        items = found.get(name, ())
        changing = {item.binding for item in items if item.rule.code in asked}
        gone[name] = _same(book, name, {item.binding for item in items} - changing, day) | changing
    gone.update(removable(book, gone))
    return _less(book, gone)


def _less(book: Book, gone: Mapping[str, Collection[AclBinding]]) -> dict[str, DesiredState]:
    return {
        name: replace(state, bindings={one: said for one, said in state.bindings.items() if one not in gone[name]})
        for name, state in book.desired.items()
    }


def _same(book: Book, name: str, bindings: Collection[AclBinding], as_of: datetime.date) -> set[AclBinding]:
    """Those without which access is the same, today and on every day after which something has ended."""
    state, declaration = book.desired[name], book.clusters[name]
    ends = {said.expires for said in state.bindings.values() if said.expires is not None}
    left = {one for one in bindings if one in state.bindings}
    for instant in sorted({instant_of(as_of), *(one.end for one in ends if not one.over(as_of))}):
        here = _on(state, declaration, instant)
        over = {one for one in left if one not in here.bindings}
        left = over | without_change(here, left - over)
    return left


def _on(state: DesiredState, declaration: ClusterDeclaration, instant: datetime.datetime) -> Authorizer:
    lasting = {
        one: said for one, said in state.bindings.items() if said.expires is None or not said.expires.over(instant)
    }
    return authorizer(declaration, lasting)
