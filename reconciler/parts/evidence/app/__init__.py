"""Least privilege from evidence: what logs show unused becomes an edit of the manifests, proven before it is shown.

Nothing here decides whether the edit may be merged, and nothing is written. One cluster here; a fleet in
:mod:`reconciler.parts.fleet.app.tighten`, which decides by the same functions.
"""
