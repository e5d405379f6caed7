"""What a plan means for its reviewer: access gained and lost, effects, guards on meaning, the proof of its order."""
