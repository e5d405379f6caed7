"""Client quotas, read and altered with kafka-python's messages: confluent-kafka has none for them.

Every message is sent by a child process; ``message_client`` explains why.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reconciler.adapters.kafka import codes
from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.kinds.interface import ReadSession
from reconciler.adapters.kafka.listing import ask, no_messages
from reconciler.adapters.kafka.settings import ClientSettings
from reconciler.model import Change, ClusterState, Listing, resource_of
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity, values_of
from reconciler.ports import Answer, AnswerStatus

TYPES: Final = (ClientQuota,)
_DONE: Final = Answer(AnswerStatus.DONE)


def read(session: ReadSession, state: ClusterState) -> ClusterState:
    """All quotas, if requested; the reason, if they cannot be read."""
    listing: Listing[ClientQuota] = Listing(may_alter=session.handshake.may_alter_configs)
    if ClientQuota.KIND in session.request.listings:
        found = _quotas(session.connection.settings)
        listing = replace(listing, gap=found) if isinstance(found, str) else replace(listing, items=found)
    return state.with_listing(ClientQuota, listing)


def _quotas(settings: ClientSettings) -> frozenset[ClientQuota] | str:
    match ask(settings, "quotas"):
        case None:
            return _untaken(settings)
        case ("quotas", entries):
            return frozenset(ClientQuota(_entity(parts), dict(values)) for parts, values in entries)
        case ("refused", codes.CLUSTER_AUTHORIZATION_FAILED, *_):
            return "not authorised to read client quotas: our principal needs ALLOW DESCRIBE_CONFIGS on the cluster"
        case ("refused", _, name, message):
            return settings.redact(f"{name}: {message}")
        case ("failed", text):
            return settings.redact(str(text))
        case reply:
            return f"the process that asks for client quotas answered {reply}"


def send(connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False) -> list[Answer]:
    """One request, never retried: if the answer is lost, only reading shows what was done."""
    settings = connection.settings
    alterations = [_alteration(change) for change in changes]
    match ask(settings, "alter_quotas", alterations=alterations, only_validate=only_validate):
        case None:
            return [Answer(AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT", _untaken(settings))] * len(changes)
        case ("altered", outcomes):
            answers = {
                _entity(parts): codes.failure(code, name, settings.redact(message)).answer() if code else _DONE
                for parts, code, name, message in outcomes
            }
            missing = Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", "the broker's answer does not name this entity")
            return [answers.get(resource_of(change).entity, missing) for change in changes]
        case ("unsent", text):
            return [Answer(AnswerStatus.FAILED, "NOT_SENT", settings.redact(text), retriable=True)] * len(changes)
        case reply:
            message = settings.redact(" ".join(map(str, reply)))
            return [Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", message, retriable=True)] * len(changes)


def _untaken(settings: ClientSettings) -> str:
    return f"confluent-kafka has no messages for client quotas, and kafka-python {no_messages(settings)}"


def _alteration(change: Change) -> tuple[list[tuple[str, str | None]], list[tuple[str, float | None]]]:
    """The entity's parts, and its keys; keys without a value are removed. Other keys of the entity stay."""
    after = {key: float(value) for key, value in values_of(change.after).items()}
    values = {**dict.fromkeys(values_of(change.before)), **after}
    return [(kind, name or None) for kind, name in resource_of(change).entity.parts], list(values.items())


def _entity(parts: Sequence[tuple[str, str | None]]) -> QuotaEntity:
    return QuotaEntity(tuple(sorted((kind, name or "") for kind, name in parts)))
