"""The sources of two sides of a comparison: folders, or revisions of a git repository, compiled where they differ."""
