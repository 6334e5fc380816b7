"""Sources and what they include: read, found, set into folders, carried elsewhere."""
