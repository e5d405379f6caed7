"""A cluster of a stated flavor: read under the names that people write, written in the steps that the service takes.

Light: it loads no client, which commands that read no cluster do without.
"""

import datetime
import ipaddress
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from reconciler.dataclass import dataclass
from reconciler.model.acl import AccessControlEntry, AclBinding
from reconciler.model.addresses import IpAddress, address_text
from reconciler.model.flavor import Flavor, flavor_contradiction, signs_of
from reconciler.model.listing import Change
from reconciler.model.state import BrokerSettings, ClusterState
from reconciler.model.topic import Layout, TopicUse
from reconciler.plan.kinds import kind_of
from reconciler.plan.kinds.interface import FirstStep
from reconciler.ports import Answer, AnswerStatus, ClusterError, InspectableCluster, ReadRequest


def flavored(cluster: InspectableCluster, flavor: Flavor) -> "FlavoredCluster":
    """``cluster`` as its flavor needs it; one that has another flavor already gets this one."""
    return FlavoredCluster(cluster.inner if isinstance(cluster, FlavoredCluster) else cluster, flavor)


@dataclass(frozen=True, slots=True)
class FlavoredCluster:
    """Implements ``reconciler.ports.InspectableCluster`` by ``inner``, which speaks Kafka's protocol."""

    inner: InspectableCluster
    flavor: Flavor

    def read(self, request: ReadRequest) -> ClusterState:
        """See ``ports``; raises :class:`ClusterError` also where the cluster shows itself to be of another make.

        Under a filter that only this make understands, another one lists nothing: without a check, that would look
        like a cluster without ACLs.
        """
        flavor = self.flavor
        if request.acls and flavor.no_acls:
            self._check(self.inner.read(ReadRequest(acls=False, all_topics=False)))
            advice = "Use the vendor's own tools; a cluster that is not one of these is of another vendor."
            raise ClusterError("no_acls", f"{flavor.title} is not managed by this tool: {flavor.no_acls}", advice)
        state = self.inner.read(replace(request, acl_principals=flavor.acl_principals))
        self._check(state)
        opaque = tuple(replace(item, principal=self._principal(item.principal)) for item in state.opaque)
        # Only principals change: the patterns are those that the reading gave, of which the caller may have some.
        return replace(state, bindings=frozenset(map(self._binding, state.bindings)), opaque=opaque)

    def _check(self, state: ClusterState) -> None:
        if (problem := flavor_contradiction(self.flavor, signs_of(state))) is not None:
            raise ClusterError("flavor_contradicted", problem, "Correct spec.flavor of the cluster, or connect to it.")

    def _binding(self, binding: AclBinding) -> AclBinding:
        entry = binding.entry
        principal, host = self._principal(entry.principal), self._host(entry.host)
        if (principal, host) == (entry.principal, entry.host):
            return binding
        return AclBinding(binding.pattern, AccessControlEntry(principal, host, entry.operation, entry.permission_type))

    def _principal(self, text: str) -> str:
        """A principal with the type that people declare: the type of the filter is one of listings only."""
        listed = (self.flavor.acl_principals or "").partition(":")[0]
        return f"User:{text.removeprefix(f'{listed}:')}" if listed and text.startswith(f"{listed}:") else text

    def _host(self, text: str) -> str:
        """An address as Java prints it, where the brokers print another text of an address that they have parsed."""
        if not self.flavor.parses_hosts:
            return text
        try:
            parsed = ipaddress.ip_address(text)
        except ValueError:
            return text
        return address_text(IpAddress(parsed.max_prefixlen, int(parsed)))

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        """See ``ports``; a config that needs another value first gets it in a request of its own.

        Where the second request fails, the value between stays: the answer says so, and the next plan shows it.
        """
        firsts = {place: step for place, change in enumerate(changes) if (step := self._first_step(change))}
        first_answers = dict(
            zip(firsts, self.inner.send([step.change for step in firsts.values()]) if firsts else [], strict=True)
        )
        rest = [place for place in range(len(changes)) if place not in first_answers or first_answers[place].good]
        answers = first_answers | dict(
            zip(rest, self.inner.send([changes[place] for place in rest]) if rest else [], strict=True)
        )
        return [
            _of_two(answers[place], firsts[place]) if place in firsts and place in rest else answers[place]
            for place in range(len(changes))
        ]

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        """See ``ports``; of a change in two steps the first is asked about, the second would be refused by itself."""
        return self.inner.validate(
            [step.change if (step := self._first_step(change)) else change for change in changes]
        )

    def _first_step(self, change: Change) -> FirstStep | None:
        return kind_of(change).first_step(change, self.flavor)

    def brokers(self) -> frozenset[int]:
        """See ``ports``."""
        return self.inner.brokers()

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """See ``ports``."""
        return self.inner.topic_uses(names)

    def broker_settings(self, configs: Collection[str], *, features: bool) -> BrokerSettings:
        """See ``ports``."""
        return self.inner.broker_settings(configs, features=features)

    def controller_time(self) -> datetime.datetime | None:
        """See ``ports``."""
        return self.inner.controller_time()

    def set_replication_rates(self, brokers: Collection[int], rate: int | None) -> Mapping[int, str]:
        """See ``ports``."""
        return self.inner.set_replication_rates(brokers, rate)

    def reassignments(self) -> Layout:
        """See ``ports``."""
        return self.inner.reassignments()

    def cancel_reassignments(self, partitions: Sequence[tuple[str, int]]) -> list[Answer]:
        """See ``ports``."""
        return self.inner.cancel_reassignments(partitions)


def _of_two(answer: Answer, between: FirstStep) -> Answer:
    if answer.status is not AnswerStatus.FAILED:
        return answer
    return replace(answer, message=f"{answer.message} ({between} was set before and stays)".lstrip(), retriable=False)
