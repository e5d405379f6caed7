"""A report in the languages of other tools: pull requests, pipelines, code scanning, events, metrics."""
