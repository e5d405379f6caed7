"""Which bindings a cluster's rules declare, and which of them one use of a role brings together."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from reconciler.edit.pages import Book
from reconciler.manifest import AclsDeclaration, TopicsDeclaration
from reconciler.manifest.parts.grants import entries_of, grants
from reconciler.manifest.parts.rules import RoleUse
from reconciler.model import AclBinding, Origin


class DeclaredRight(NamedTuple):
    """One binding of a rule, with the place of its name. ``role`` is used at ``use``; ``of_role``: on its own name."""

    binding: AclBinding
    place: Origin
    role: str = ""
    use: Origin | None = None
    of_role: bool = False


def declared_rights(book: Book, cluster: str) -> Iterator[DeclaredRight]:
    """Every binding of every rule for the cluster; one that several rules declare comes as often."""
    roles = book.roles(cluster)
    for page in book.of("Acls", "Topics"):
        if cluster not in book.where(page):
            continue
        declared = page.declared(book.clusters[cluster])
        for rule in declared.rules if isinstance(declared, AclsDeclaration | TopicsDeclaration) else ():
            use = rule.action if isinstance(rule.action, RoleUse) else None
            for grant in grants(rule, roles):
                for (pattern, said), entry in product(grant.declared(), entries_of(grant)):
                    binding = AclBinding(pattern, entry)
                    if use is None:
                        yield DeclaredRight(binding, said.origin)
                    else:
                        at = use.declaration.origin
                        yield DeclaredRight(binding, said.origin, use.name, at, said.origin == at)
