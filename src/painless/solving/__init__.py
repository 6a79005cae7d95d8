"""`solve`: a planner or an algorithm finds a policy, and the answer comes with its proof."""
