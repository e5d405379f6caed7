"""Results as text, Markdown, pages and the formats of other tools: one renderer a format."""
