"""Queries over a whole fleet, as SQL over the views of a store; each says what it counts."""

from typing import Final

_BINDING: Final = "resource_type, name, pattern_type, principal, host, operation, permission_type"

#: Access that nobody declared, by cluster and principal; of the last comparison.
UNDECLARED: Final = f"""
    select cluster, {_BINDING} from changes where action = 'DeleteAcl' order by cluster, principal, {_BINDING}"""  # noqa: S608
