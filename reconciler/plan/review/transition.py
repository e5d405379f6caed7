"""The authorizer before and after a plan's steps: what guards, the access review and the proof have in common."""

from collections.abc import Collection, Iterable
from dataclasses import field
from functools import cached_property

from reconciler.access import AccessDifference, Authorizer, compare_access
from reconciler.access.work import Work, work_for
from reconciler.dataclass import dataclass
from reconciler.model import AclBinding, ClusterState, is_reserved
from reconciler.plan.facts import Facts
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.step import Step


@dataclass(frozen=True)
class Transition:
    """What steps do to a state's bindings. Names under ``__kr.`` are ours for a moment, and mean nothing here.

    ``before`` and ``after`` have no super users and only the default-allow that is established, so that no row is
    missing for a fact that may be untrue: a binding of a super user means something as soon as the brokers'
    ``super.users`` changes. ``stated`` is ``before`` with default-allow as it is stated.
    """

    before: Authorizer
    after: Authorizer
    created: tuple[AclBinding, ...]
    deleted: tuple[AclBinding, ...]
    stated: Authorizer
    #: Shared by all that is asked about the transition: the proof compares it moment by moment.
    work: Work = field(default_factory=Work)

    @cached_property
    def difference(self) -> AccessDifference:
        """Who gains and who loses what; computed once, when it is first asked for."""
        return compare_access(self.before, self.after, work=self.work)

    def after_ends(self, ended: Collection[AclBinding]) -> "Transition":
        """The same, and then these bindings, which have ended, go too."""
        made = frozenset(self.created)
        created = tuple(one for one in self.created if one not in ended)
        deleted = (*self.deleted, *(one for one in ended if one not in made))
        after, work = self.before.with_changes(created, deleted), work_for(len(created) + len(deleted))
        return Transition(self.before, after, created, deleted, self.stated, work)

    def from_ends(self, ended: Collection[AclBinding]) -> "Transition":
        """The same where these have ended before it as well: what is due to the steps and not to the ends alone."""
        made = frozenset(self.created)
        gone = [one for one in ended if one not in made]
        created = tuple(one for one in self.created if one not in ended)
        before, stated = self.before.with_changes((), gone), self.stated.with_changes((), gone)
        work = work_for(len(created) + len(self.deleted))
        return Transition(before, before.with_changes(created, self.deleted), created, self.deleted, stated, work)


def authorizer_of(live: ClusterState, default_allow: bool | None) -> Authorizer:
    """What the bindings of a state mean but for those on reserved names; super users are reckoned like anybody."""
    own = [binding for binding in live.bindings if is_reserved(binding.pattern.name)]
    # The set as it is, where there is nothing to leave out: a copy of millions takes 100 MB.
    lasting = live.bindings.difference(own) if own else live.bindings
    return Authorizer(lasting, (), default_allow, live.kafka_version, opaque=live.opaque)


def transition(
    live: ClusterState, steps: Iterable[Step], facts: Facts, *, default_allow: bool | None
) -> Transition | None:
    """The transition from ``live``, on all live bindings whatever the scope is; ``None`` if no binding is touched."""
    changes = [step.change for step in steps]
    created, deleted = created_bindings(changes), deleted_bindings(changes)
    # Authorizers of a large cluster are slow to build: a plan that moves topics alone needs none.
    if not created and not deleted:
        return None
    start = standing(live, facts, default_allow=default_allow)
    after, work = start.before.with_changes(created, deleted), work_for(len(created) + len(deleted))
    return Transition(start.before, after, tuple(created), tuple(deleted), start.stated, work)


def standing(live: ClusterState, facts: Facts, *, default_allow: bool | None) -> Transition:
    """The transition that changes nothing."""
    established = facts.established_default_allow(default_allow)
    stated = before = authorizer_of(live, default_allow)
    # Both have one index, which takes most of the time and memory, unless a guess was made with the one or the other.
    if established is not default_allow:
        guessed = stated.interpretations.guesses
        before = authorizer_of(live, established) if guessed else stated.doubting(default_allow=True)
    return Transition(before, before, (), (), stated)
