"""A principal that no binding names: it stands for everybody else."""

from collections.abc import Container, Iterable

from reconciler.access.index import Index


def unnamed_principal(indexes: Iterable[Index], taken: Container[str] = ()) -> str:
    """``User:anyone-else``, with ``-`` appended as long as a binding or ``taken`` names it."""
    known = tuple(indexes)
    name = "User:anyone-else"
    while name in taken or any(index.knows(name) for index in known):
        name += "-"
    return name
