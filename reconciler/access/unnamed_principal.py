"""A principal that nobody named: it stands for everybody else there could be."""

from collections.abc import Container, Iterable

from reconciler.access.index import Index


def unnamed_principal(indexes: Iterable[Index], taken: Container[str] = ()) -> str:
    """``User:anyone-else``, or with more letters where a binding or ``taken`` already names that."""
    known = {principal for index in indexes for _, principal in index.group_keys()}
    name = "User:anyone-else"
    while name in known or name in taken:
        name += "-"
    return name
