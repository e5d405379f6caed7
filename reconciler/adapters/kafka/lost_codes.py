"""The wire codes that librdkafka cannot name and therefore loses: read from the warnings that it logs about them.

``rd_kafka_DescribeAclsResponse_parse`` turns every code after its own enums into UNKNOWN, and logs the code. It logs in
the order of the answer: the type and the pattern type once for each resource, operation and permission for each entry.
So what it returns and what it logged, read side by side, give the codes back. Where the two do not fit together
exactly, nothing is given back, and the codes stay lost.
"""

import logging
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

_TEXT: Final = re.compile(
    r"DescribeAclsResponse returned unknown (resource type|resource pattern type|acl operation|acl permission type) "
    r"(-?[0-9]+)"
)
#: What a code is of, and the code.
LoggedCode: TypeAlias = tuple[str, int]


class EntryCodes(NamedTuple):
    """The codes of one entry; ``None`` for one that is lost."""

    resource_type: int | None
    pattern_type: int | None
    operation: int | None
    permission_type: int | None


class CodeLog(logging.Handler):
    """Collects the codes from librdkafka's log, and passes nothing of it on: its lines hold addresses."""

    def __init__(self) -> None:
        """Nothing was logged yet."""
        super().__init__(logging.WARNING)
        self.codes: list[LoggedCode] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a code."""
        if found := _TEXT.search(record.getMessage()):
            self.codes.append((found[1], int(found[2])))


def as_returned(listed: Iterable[Any]) -> list[EntryCodes]:
    """The codes as the client returns them: it shows every code that it does not know as 0."""
    return [
        EntryCodes(
            b.restype.value or None,
            b.resource_pattern_type.value or None,
            b.operation.value or None,
            b.permission_type.value or None,
        )
        for b in listed
    ]


def with_logged(listed: Sequence[Any], logged: Sequence[LoggedCode]) -> list[EntryCodes] | None:
    """The codes of each entry, lost ones as they were logged; ``None`` where log and answer do not fit together.

    They do not if lines of the log are missing, or if two resources follow each other that differ in nothing but a lost
    code: the log has a line more than the answer shows resources.
    """
    codes, found = iter(logged), list[EntryCodes]()
    place: tuple[object, ...] | None = None
    kind = pattern = None
    try:
        for binding, returned in zip(listed, as_returned(listed), strict=True):
            here = (returned.resource_type, binding.name, returned.pattern_type)
            # The client logs a lost code once a resource and once an entry, in the order of the answer.
            if here != place:
                place = here
                kind = returned.resource_type or _next(codes, "resource type")
                pattern = returned.pattern_type or _next(codes, "resource pattern type")
            operation = returned.operation or _next(codes, "acl operation")
            permission = returned.permission_type or _next(codes, "acl permission type")
            found.append(EntryCodes(kind or None, pattern or None, operation or None, permission or None))
    except LookupError:
        return None
    return None if next(codes, None) is not None else found


def _next(codes: Iterable[LoggedCode], of: str) -> int:
    what, code = next(iter(codes), ("", 0))
    if what != of:
        raise LookupError(of)
    return code
