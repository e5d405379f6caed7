"""The kind ``Topics``: topics and who may use them."""
