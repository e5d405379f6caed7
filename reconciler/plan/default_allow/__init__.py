"""What ``allow.everyone.if.no.acl.found`` makes of a plan: what keeps names open that it closes or opens."""
