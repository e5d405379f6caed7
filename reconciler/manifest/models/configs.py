"""The fields of documents of dynamic configs, made for each kind from what its resources say of them."""

from functools import cache
from typing import Any, Literal, cast

from pydantic import Field, create_model

from reconciler.manifest.parts.document import ApiVersion, ClustersField, Metadata
from reconciler.manifest.parts.fields import Boolean, Ends, ManifestModel, OneOrMoreTexts, Text, ends
from reconciler.model.config_resource import ConfigResource


class ConfigItem(ManifestModel):
    """The configs of one resource, or of several with the same configs."""

    name: OneOrMoreTexts
    configs: dict[str, Text] = Field(default_factory=dict)
    absent: Boolean = False
    expires: Ends | None = ends("The configs hold")
    reason: Text | None = None
    ticket: Text | None = Field(None, description="Where the configs were agreed.", examples=["OPS-7"])


class ConfigsSpec(ManifestModel):
    """The items of a document, under a key that each kind names."""

    clusters: ClustersField = None


class ConfigsDocument(ManifestModel):
    """Dynamic configs of one kind of resource."""

    api_version: ApiVersion
    kind: str
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "payments"}])
    spec: ConfigsSpec


@cache
def config_document(resource: type[ConfigResource]) -> type[ConfigsDocument]:
    """``GroupConfigsDocument`` and so on."""
    words = resource.DOCUMENT
    name, several = words.names[0], list(words.names)
    item = create_model(
        f"{words.item.capitalize()}Item",
        __base__=ConfigItem,
        __doc__=f"The dynamic configs of one {words.item}, or of several with the same configs.",
        name=(OneOrMoreTexts, Field(description=words.name, examples=[name, several])),
        configs=(
            dict[str, Text],
            Field(default_factory=dict, description=words.configs, examples=[dict(words.values[0])]),
        ),
        absent=(Boolean, Field(False, description=words.absent, examples=[True])),
        reason=(Text | None, Field(None, description="Why the configs exist.", examples=[words.reason])),
    )
    title = words.items.capitalize()
    items: Any = Field(
        min_length=1,
        description=f"The {words.items}. Declare each {words.item} once.",
        examples=[[{"name": name, "configs": dict(words.values[0])}]],
    )
    spec = create_model(
        f"{resource.NOUN}Spec",
        __base__=ConfigsSpec,
        __doc__=f"The {words.items} of a document.",
        **cast("Any", {words.items: (list[item], items)}),  # type: ignore[valid-type]  # a class made here
    )
    example = {words.items: [{"name": name, "configs": dict(words.values[1])}]}
    return create_model(
        f"{resource.NOUN}Document",
        __base__=ConfigsDocument,
        __doc__=words.about,
        kind=(
            cast("Any", Literal[resource.NOUN]),
            Field(description="What the document declares.", examples=[resource.NOUN]),
        ),
        spec=(spec, Field(description=f"The {title.lower()}.", examples=[example])),
    )
