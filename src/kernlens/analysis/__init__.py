"""Questions over the model."""
