"""Rules for what manifests may declare: ownership and topic policies. Needs no cluster."""
