"""A cluster in memory that treats principals and topic configs as Confluent Cloud documents it."""

import datetime
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from reconciler.model.acl import WILDCARD_PRINCIPAL, AclBinding
from reconciler.model.flavor import FLAVORS
from reconciler.model.listing import Change, Create, Delete, Update
from reconciler.model.state import BrokerSettings, ClusterState
from reconciler.model.topic import Layout, TopicConfigs, TopicUse
from reconciler.ports import Answer, AnswerStatus, ReadRequest
from reconciler.snapshot.document import BrokerFacts
from reconciler.snapshot.file import MemoryCluster

_DEFAULTS = BrokerFacts()
_SETTABLE = FLAVORS["confluent-cloud"].settable_configs or frozenset()


class ConfluentCloud:
    """Each account has two names, ``User:sa-abc`` and ``User:1234``, and one list of ACLs.

    An unfiltered listing names the integers; under ``UserV2:*`` it names resource ids. Deleting by either name deletes
    the account's ACL. ``requests`` is what was sent; ``settable`` are the topic configs that it takes (``None``: all).
    """

    def __init__(
        self, state: ClusterState, broker: BrokerFacts = _DEFAULTS, *, settable: Collection[str] | None = _SETTABLE
    ) -> None:
        self._inner = MemoryCluster(state, broker)
        self._settable = settable
        self._names: dict[str, str] = {}
        self.requests: list[Change] = []

    def integer(self, principal: str) -> str:
        """The other name of an account; everybody is no account."""
        if principal == WILDCARD_PRINCIPAL or not principal.startswith("User:") or principal[5:].isdecimal():
            return principal
        number = f"User:{zlib.crc32(principal.encode('utf-8', 'surrogatepass')) + 1}"
        self._names[number] = principal
        return number

    def _stored(self, binding: AclBinding) -> AclBinding:
        return binding._replace(entry=binding.entry._replace(principal=self.integer(binding.entry.principal)))

    def _shown(self, binding: AclBinding) -> AclBinding:
        principal = binding.entry.principal
        return binding._replace(entry=binding.entry._replace(principal=self._names.get(principal, principal)))

    def read(self, request: ReadRequest) -> ClusterState:
        """As the request's filter asks; a filter that it does not know matches nothing, as in any Kafka."""
        state = self._inner.read(request)
        if request.acl_principals not in (None, "UserV2:*"):
            return replace(state, bindings=frozenset())
        return replace(state, bindings=frozenset(map(self._shown, state.bindings))) if request.acl_principals else state

    def brokers(self) -> frozenset[int]:
        return self._inner.brokers()

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        self.requests += changes
        told = [self._refusal(change) for change in changes]
        rest = [self._own(change) for change, refused in zip(changes, told, strict=True) if refused is None]
        answers = iter(self._inner.send(rest) if rest else [])
        return [refused or next(answers) for refused in told]

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        return self._inner.validate(list(map(self._own, changes)))

    def _own(self, change: Change) -> Change:
        match change:
            case Create(AclBinding() as binding):
                return Create(self._stored(binding))
            case Delete(AclBinding() as binding):
                return Delete(self._stored(binding))
        return change

    def _refusal(self, change: Change) -> Answer | None:
        match change:
            case Update(_, TopicConfigs(name, configs)):
                live = self._inner.state.topics.get(name)
                was = (live.configs if live else {}).get("cleanup.policy", "delete")
                both = set((configs.get("cleanup.policy") or "").split(",")) == {"compact", "delete"}
                unsettable = self._settable is not None and configs.keys() - self._settable
                if unsettable or (both and was == "delete"):
                    return Answer(AnswerStatus.FAILED, "POLICY_VIOLATION", "Config property cannot be altered so")
        return None

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        return self._inner.topic_uses(names)

    def broker_settings(self, configs: Collection[str], *, features: bool) -> BrokerSettings:
        return self._inner.broker_settings(configs, features=features)

    def set_replication_rates(self, brokers: Collection[int], rate: int | None) -> Mapping[int, str]:
        """See ``ports``."""
        return self._inner.set_replication_rates(brokers, rate)

    def controller_time(self) -> datetime.datetime | None:
        """See ``ports``."""
        return self._inner.controller_time()

    def reassignments(self) -> Layout:
        """See ``ports``."""
        return self._inner.reassignments()

    def cancel_reassignments(self, partitions: Sequence[tuple[str, int]]) -> list[Answer]:
        """See ``ports``."""
        return self._inner.cancel_reassignments(partitions)
