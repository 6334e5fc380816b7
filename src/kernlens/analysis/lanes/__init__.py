"""Values that the work-items of a sub-group share, and how their addresses follow each other."""
