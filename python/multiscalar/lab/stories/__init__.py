"""The two stories as pure functions of a record: `cutoff` (where the GPU begins to pay) and `stability`."""
