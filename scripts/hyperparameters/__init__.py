"""Search for hyper-parameters: what may vary, trials by the commands that a user runs, and what came out."""
