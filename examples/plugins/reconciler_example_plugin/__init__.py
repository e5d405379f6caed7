"""A report format and a notifier for Reconciler."""
