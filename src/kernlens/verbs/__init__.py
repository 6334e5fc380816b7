"""The questions of users, one word and one place each: the command line, Python, the explorer and the pytest plugin
call these."""
