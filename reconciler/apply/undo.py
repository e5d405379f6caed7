"""What a run performed, turned back: the cluster as it is, less what that run made, with what it took away.

This wish becomes a plan as any other does, with its order, its guards and its limits.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from reconciler.apply.history import PastRun
from reconciler.model import (
    THROTTLE_CONFIGS,
    AclBinding,
    AclPermissionType,
    ClusterState,
    Create,
    Declaration,
    Delete,
    DesiredState,
    DesiredTopic,
    Impossible,
    Origin,
    Scope,
    Topic,
    TopicConfigs,
    TopicPartitions,
    Update,
    normal_form,
)
from reconciler.plan import Plan, Standing, Step, describe, standing, touched_binding, touched_topics


@dataclass(frozen=True, slots=True)
class UndoRequest:
    """``desired`` is the wish; ``kept`` says, a sentence each, what is not or not wholly restored and why."""

    desired: DesiredState
    kept: tuple[str, ...]


def performed_steps(plan: Plan, runs: Collection[PastRun], live: ClusterState) -> tuple[Step, ...]:
    """The steps that these runs performed; where they do not know, the cluster says whether it shows."""
    performed = frozenset(step for run in runs for step in run.performed)
    doubtful = frozenset(step for run in runs for step in run.doubtful) - performed
    return tuple(
        step
        for step in plan.steps
        if step.id in performed or (step.id in doubtful and standing(step, live).standing is Standing.DONE)
    )


def reversal(
    steps: Collection[Step], live: ClusterState, scope: Scope, declared: DesiredState, origin: Origin
) -> UndoRequest:
    """The wish that reverts ``steps``; ``declared`` is what the manifests say today, ``origin`` what asks for it."""
    back = _Back(live, scope, declared, origin)
    for step in steps:
        back.kept.extend(back.take(step))
    return UndoRequest(DesiredState(back.bindings, back.topics), tuple(back.kept))


@dataclass(slots=True)
class _Back:
    """A wish under construction, which begins as the cluster is."""

    live: ClusterState
    scope: Scope
    declared: DesiredState
    origin: Origin
    bindings: dict[AclBinding, Declaration] = field(init=False)
    topics: dict[str, DesiredTopic] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        place = Declaration(self.origin)
        self.bindings = {binding: place for binding in sorted(self.live.bindings) if self.scope.owns(binding)}

    def take(self, step: Step) -> Iterator[str]:
        """Revert one step in the wish; yields what cannot be, or only in part."""
        if not self._owns(step):
            yield f"“{describe(step.change)}” stays: it is not in the cluster's scope any more"
            return
        match step.change:
            case Create(AclBinding() as binding):
                self.bindings.pop(binding, None)
            case Delete(AclBinding() as binding) if self._expired(step, binding):
                yield f"“{describe(step.change)}” stays: the grant has expired"
            case Delete(AclBinding() as binding):
                wanted = self.declared.bindings.get(binding)
                self.bindings[binding] = Declaration(self.origin, expires=wanted.expires if wanted else None)
            case Create(Topic() as topic):
                self._wish(Topic(topic.name), absent=True)
            case Delete(Topic() as topic):
                yield from self._made_anew(topic)
            case Update(TopicPartitions(name, before), TopicPartitions(_, after)):
                yield f"topic {name} keeps {after} partitions: they cannot be reduced to {before}"
            case Update(TopicConfigs() as before, TopicConfigs() as after):
                yield from self._settings(before, after)
            case Impossible():
                raise TypeError("what is impossible is no step")

    def _owns(self, step: Step) -> bool:
        """Whether the scope of today holds what the step touches: nothing else would be applied."""
        if (binding := touched_binding(step.change)) is not None:
            return self.scope.owns(binding)
        return all(self.scope.owns_topic(name, declared=True) for name in touched_topics((step,)))

    def _expired(self, step: Step, binding: AclBinding) -> bool:
        """Whether the grant went because its day was over; manifests that want it again decide otherwise."""
        if binding.entry.permission_type is not AclPermissionType.ALLOW or binding in self.declared.bindings:
            return False
        return binding in self.declared.expired or step.origin is not None

    def _made_anew(self, topic: Topic) -> Iterator[str]:
        if topic.name in self.live.topics:
            yield f"topic {topic.name} stays as it is: somebody has made it again"
            return
        self._wish(replace(topic, topic_id=None, replica_assignments=None))
        yield f"topic {topic.name} is made again without its records: they are gone"

    def _settings(self, before: TopicConfigs, after: TopicConfigs) -> Iterator[str]:
        topic = self.live.topics.get(after.name)
        if topic is None:
            yield f"the settings of topic {after.name} stay: there is no such topic any more"
            return
        wished = self.topics.get(after.name)
        configs = dict(wished.topic.configs if wished else topic.configs)
        for key, value in after.configs.items():
            if _normal(key, topic.configs.get(key)) != _normal(key, value):
                yield f"{key} of topic {after.name} stays: somebody has changed it since"
            elif (old := before.configs[key]) is None and key in THROTTLE_CONFIGS:
                yield f"{key} of topic {after.name} stays: a throttle is lifted by whoever moves replicas"
            elif old is None:
                configs.pop(key, None)
            else:
                configs[key] = old
        self._wish(Topic(after.name, configs=configs))

    def _wish(self, topic: Topic, *, absent: bool = False) -> None:
        self.topics[topic.name] = DesiredTopic(topic, self.origin, absent=absent)


def _normal(key: str, value: str | None) -> str | None:
    return None if value is None else normal_form(key, value)
