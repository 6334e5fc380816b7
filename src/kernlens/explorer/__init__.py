"""The explorer's server: programs for a browser on this machine, and compiles in place (``kernlens serve``)."""
