"""Speed, measured against the peers."""
