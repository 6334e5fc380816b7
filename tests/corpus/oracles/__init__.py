"""Independent tools that kernlens's answers are checked against: running them, and reading what they print."""
