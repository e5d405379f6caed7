"""Principals as Kafka's authorizer reads them (``KafkaPrincipal``, ``StandardAcl.kafkaPrincipal``)."""

from typing import NamedTuple


class KafkaPrincipal(NamedTuple):
    """A principal's type and name; case-sensitive, nothing is trimmed."""

    principal_type: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "KafkaPrincipal":
        """Splits at the first ``:``, so names may hold more of them; raises ``ValueError`` without one."""
        principal_type, colon, name = text.partition(":")
        if not colon:
            raise ValueError(f"{text!r} is not a principal: it needs a type and a colon, as in 'User:{text}'")
        return cls(principal_type, name)

    def __str__(self) -> str:
        """The text form, ``User:alice``."""
        return f"{self.principal_type}:{self.name}"
