"""Gymnasium in both directions. Importing this registers `painless/CartPole-v0` and `painless/Tabular-v0`."""

from gymnasium import register, registry

from painless.environments.adapter import from_gymnasium, table_from_gymnasium
from painless.environments.constraint import Constraint
from painless.environments.features import suggest_features
from painless.environments.gymnasium_simulator import GymnasiumSimulator
from painless.environments.predict import Predictor

IDS = {"painless/CartPole-v0": "CartPole", "painless/Tabular-v0": "Tabular"}

for _id, _name in IDS.items():
    if _id not in registry:
        register(
            _id,
            entry_point=f"painless.environments.single:{_name}Env",
            vector_entry_point=f"painless.environments.vector:{_name}VectorEnv",
        )

__all__ = [
    "Constraint",
    "GymnasiumSimulator",
    "Predictor",
    "from_gymnasium",
    "suggest_features",
    "table_from_gymnasium",
]
