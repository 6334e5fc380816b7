"""How values flow through a kernel: basic blocks and their edges, which registers are live, who wrote what is read."""
