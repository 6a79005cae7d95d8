"""Models that are learned by counting: what was seen, the model that it gives, and plans on it that hold on the truth."""
