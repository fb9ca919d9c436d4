"""Small studies of attention, each with a page in docs/."""
