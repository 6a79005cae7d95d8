"""Benchmarks: figures that are ratios to something run side by side. They never decide a test."""
