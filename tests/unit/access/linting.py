"""Lint of bindings by every rule, with all that a test may say of the state."""

import datetime
from collections.abc import Collection

from reconciler.access.authorizer import Authorizer
from reconciler.access.lint import findings
from reconciler.access.lint.rule import LintFinding, LintState
from reconciler.model.flavor import APACHE


def lint(
    authorizer: Authorizer,
    *,
    topics: Collection[str] | None = None,
    principals: Collection[str] | None = None,
    as_of: datetime.date | None = None,
    soon: datetime.timedelta = datetime.timedelta(days=30),
    principal_types: frozenset[str] = APACHE.principal_types,
) -> list[LintFinding]:
    """All findings; ``topics`` and ``principals`` are all that exist, or ``None`` where that is not known."""
    topics, principals = (None if names is None else frozenset(names) for names in (topics, principals))
    return findings(LintState(authorizer, topics, principals, as_of, soon, principal_types))
