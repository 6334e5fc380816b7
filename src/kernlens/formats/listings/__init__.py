"""The compilers' text forms, and the source lines that they name."""
