"""One Hypothesis profile: enough examples to find trouble, and no clock, since timings never decide a test."""

from hypothesis import HealthCheck, settings

settings.register_profile("painless", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("painless")
