"""ACL bindings: listed, created, and deleted by exact filters.

confluent-kafka writes what it can name; what it cannot, kafka-python's messages do.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from confluent_kafka.admin import AclBinding as ClientBinding
from confluent_kafka.admin import AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from reconciler.kafka.bindings import needs_messages, unsupported_by_client
from reconciler.kafka.client import DONE, AdminConnection, Item, begin_request, unsupported
from reconciler.kafka.errors import failure
from reconciler.kafka.kinds.interface import ReadSession
from reconciler.kafka.listing import ask, checked_listing, no_messages
from reconciler.kafka.settings import ClientSettings
from reconciler.model.acl import AclBinding
from reconciler.model.listing import Change, Create, resource_of
from reconciler.model.state import ClusterState
from reconciler.ports import NOT_VALIDATED, Answer, AnswerStatus

TYPES: Final = (AclBinding,)

#: The client's members by Kafka's codes.
_TYPES: Final = {item.value: item for item in ResourceType}
_PATTERNS: Final = {item.value: item for item in ResourcePatternType}
_OPERATIONS: Final = {item.value: item for item in AclOperation}
_PERMISSIONS: Final = {item.value: item for item in AclPermissionType}


def read(session: ReadSession, state: ClusterState) -> ClusterState:
    """The listing, once it is complete and checked."""
    if session.listing is None:
        return state
    found = checked_listing(session.connection, session.handshake, session.listing.result(session.request.known))
    listing = found.listing
    return replace(
        state,
        bindings=listing.bindings,
        opaque=listing.opaque,
        acl_gap=found.gap,
        kafka_version=found.rules.version,
        kafka_version_gap=found.rules.gap,
        metadata_version=found.rules.level,
        share_version=found.rules.share_version,
    )


def send(connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False) -> list[Answer]:
    """Create bindings in the given order, or delete them; what the broker says it matched proves nothing."""
    if only_validate:  # CreateAcls and DeleteAcls have no field for it
        return [NOT_VALIDATED] * len(changes)
    return begin(connection, changes)()


def begin(connection: AdminConnection, changes: Sequence[Change]) -> Callable[[], list[Answer]]:
    """The same, and whoever wants the answers waits for them; what goes by messages has been answered by then."""
    bindings = [resource_of(change) for change in changes]
    apart = [needs_messages(binding) for binding in bindings]
    # One request for all, or what belongs together, as a lock does, would be there in part between two.
    if any(apart) and no_messages(connection.settings) is None:
        apart = [True] * len(bindings)
    creates = isinstance(changes[0], Create)
    call = connection.admin.create_acls if creates else connection.admin.delete_acls
    client_type = ClientBinding if creates else AclBindingFilter
    items = [_item(client_type, item) for item, other in zip(bindings, apart, strict=True) if not other]
    sent = begin_request(connection, call, items)
    told = _by_messages(
        connection, [item for item, other in zip(bindings, apart, strict=True) if other], creates=creates
    )

    def answers() -> list[Answer]:
        by_client, by_messages = iter(sent()), iter(told)
        return [next(by_messages if other else by_client) for other in apart]

    return answers


def _by_messages(connection: AdminConnection, bindings: Sequence[AclBinding], *, creates: bool) -> list[Answer]:
    """One request, never retried: if the answer is lost, only reading shows what was done."""
    if not bindings:
        return []
    settings = connection.settings
    why = no_messages(settings)
    problems = [unsupported(unsupported_by_client(binding, why)) for binding in bindings]
    rows = [
        (int(kind), name, int(pattern_type), principal, host, int(operation), int(permission))
        for (((kind, name, pattern_type), (principal, host, operation, permission)), problem) in zip(
            bindings, problems, strict=True
        )
        if problem is None
    ]
    sent = iter(_sent(settings, "create_acls" if creates else "delete_acls", rows))
    return [problem or next(sent) for problem in problems]


def _sent(settings: ClientSettings, question: str, rows: Sequence[tuple[object, ...]]) -> list[Answer]:
    if not rows:
        return []
    match ask(settings, question, rows=list(rows)):
        case None:  # its first connection of this run was tried with this very request, and nothing was sent
            why = f"kafka-python, which alone can carry it, {no_messages(settings)}"
            return [Answer(AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT", why)] * len(rows)
        case ("altered", outcomes) if len(outcomes) == len(rows):
            return [
                failure(code, name, settings.redact(message)).answer() if code else DONE
                for code, name, message in outcomes
            ]
        case ("unsent", text):
            return [Answer(AnswerStatus.FAILED, "NOT_SENT", settings.redact(text), retriable=True)] * len(rows)
        case reply:
            message = settings.redact(" ".join(map(str, reply or ())))
            return [Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", message, retriable=True)] * len(rows)


def _item(client_type: type[ClientBinding | AclBindingFilter], binding: AclBinding) -> Item:
    (resource_type, name, pattern_type), (principal, host, operation, permission) = binding
    return Item(
        binding,
        unsupported(unsupported_by_client(binding, None)),
        # Members, which the client would otherwise look up by number.
        lambda: client_type(
            _TYPES[resource_type],
            name,
            _PATTERNS[pattern_type],
            principal,
            host,
            _OPERATIONS[operation],
            _PERMISSIONS[permission],
        ),
    )
