"""``reconciler serve``: look at clusters again and again, and take away what is over.

A round reads the manifests and one cluster, and compares them. By itself a round only narrows: it deletes ALLOWs that
the manifests declare until a time that is over, and removes what dead runs left. What it was given the signatures for,
it performs. Whatever could not be read is a reason to do nothing.
"""
