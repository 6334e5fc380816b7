"""The behaviour of a kernel on data that is described: the code that is interpreted, its arguments, and what was counted."""
