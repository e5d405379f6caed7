"""What a command answers: values with their JSON, below every view."""
