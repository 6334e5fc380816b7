"""Predictions of links: what they need, whether they succeed, and why not."""
