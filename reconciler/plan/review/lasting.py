"""What a plan does for good: no undo brings it back, so it is said before anybody agrees."""

from collections.abc import Iterable, Iterator

from reconciler.model import Delete, Topic, TopicConfigs, TopicPartitions, Update
from reconciler.plan.kinds.topic import losses
from reconciler.plan.step import Step


def lasting(steps: Iterable[Step]) -> Iterator[str]:
    """A sentence for each step that is not reversible (:attr:`Step.reversible`), in their order."""
    for step in steps:
        match step.change:
            case Delete(Topic() as topic):
                yield f"the records of topic {topic.name} are gone: it can only be made again empty"
            case Update(TopicPartitions(name, before), TopicPartitions(_, after)):
                yield f"topic {name} keeps {after} partitions: they cannot be reduced to {before} again"
            case Update(_, TopicConfigs(name)) as change if losses(change):
                yield f"what topic {name} then no longer keeps is gone, even if the settings are put back"
            case _:
                pass
