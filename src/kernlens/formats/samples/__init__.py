"""Files in which profilers state samples."""
