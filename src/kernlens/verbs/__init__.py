"""What a user asks, one word and one place each: the command line, Python, the explorer and the pytest plugin call these."""
