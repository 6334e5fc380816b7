"""The flow of values through a kernel: basic blocks and their edges, live registers, and the writers of what is read."""
