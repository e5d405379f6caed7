"""What brokers' logs show in use, and least privilege from it."""
