"""One Hypothesis profile: no clock, since timings never decide a test, and the same examples for everyone in CI."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "painless",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("painless")
