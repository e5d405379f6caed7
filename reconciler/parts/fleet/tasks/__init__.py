"""What tasks of a fleet do, whichever engine runs them."""
