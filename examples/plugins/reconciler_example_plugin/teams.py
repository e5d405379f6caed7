"""The notifier ``teams``: an Adaptive Card, as a workflow of Microsoft Teams takes it."""

import json
from collections.abc import Sequence

from reconciler.model.characters import safe
from reconciler.show.formats.slack import Link
from reconciler.show.reading import Report
from reconciler.show.verdicts import verdict


def message(report: Report, links: Sequence[Link]) -> str:
    """The body as JSON. A ``RichTextBlock`` is no Markdown, so that no name becomes a link."""
    words = f"{', '.join(report.clusters) or 'manifests'}: {verdict(report).words}"
    card = {
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": safe(words)}]}],
        "actions": [{"type": "Action.OpenUrl", "title": link.words, "url": link.url} for link in links],
    }
    content_type = "application/vnd.microsoft.card.adaptive"
    return json.dumps({"type": "message", "attachments": [{"contentType": content_type, "content": card}]})
