"""Least privilege from evidence: which declared rights the logs show unused, and what narrower ones take their place.

Values in, values out: decisions with their days, declared rights, and the bounds below which nothing is proposed. What
comes out is proven with the access engine, in :mod:`reconciler.parts.evidence.tighten.proof`.
"""
