"""A server that looks again and again, and takes away what is expired."""
