"""A program at every stage of its compile, offline and live."""
