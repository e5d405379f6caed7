"""What a flavor needs to know of a kind of resource."""
