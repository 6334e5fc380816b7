"""A kept launch, run again alone: with the recorded build of its program, or with another one beside it."""
