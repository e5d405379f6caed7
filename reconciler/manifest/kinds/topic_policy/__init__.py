"""The kind ``TopicPolicy``: what topics may be, decided before a broker is asked."""
