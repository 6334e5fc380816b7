"""Calls into a simulated driver that do not return: named from outside, without a change to the application."""
