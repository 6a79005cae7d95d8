"""Logs of what was done and what came of it: the model that they give, plans on it, and how far these can be trusted."""
