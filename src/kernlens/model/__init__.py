"""The nouns: frozen dataclasses, no input or output."""
