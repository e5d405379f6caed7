"""Topics: configs that a service changes only through another value."""

from dataclasses import replace

from reconciler.model.flavor import Flavor
from reconciler.model.listing import Change, Update
from reconciler.model.topic import TopicConfigs


def first_step(change: Change, flavor: Flavor) -> tuple[Change, str] | None:
    """The change that has to come first, and ``config=value`` that it sets; ``None`` where none has to."""
    match change:
        case Update(TopicConfigs() as before, TopicConfigs() as after):
            step = flavor.intermediate(before.configs, after.configs)
            if step is not None:
                was, between = {step.config: before.configs.get(step.config)}, {step.config: step.via}
                first = Update(replace(before, configs=was), replace(after, configs=between))
                return first, f"{step.config}={step.via}"
    return None
