"""Networks for everything that is not finite: PPO with a head for each utility, multipliers without rates, and a verified answer.

`settings` has what can be chosen, `run` the loop. Only `networks`, `update` and `export` import torch.
"""
