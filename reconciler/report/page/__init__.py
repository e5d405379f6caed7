"""A report as one HTML page that needs nothing else: no network, no script."""

from reconciler.report.page.page import page

__all__ = ["page"]
