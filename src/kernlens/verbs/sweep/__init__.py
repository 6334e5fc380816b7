"""The matrix: sources for devices with toolchains and options, compiled and measured here or on a cluster."""
