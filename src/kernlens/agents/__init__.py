"""The server for agents (``kernlens mcp``): answers of the verbs as tools of the Model Context Protocol."""
