"""Launching kernels: decorator, argument adapters, specialisation, caches."""
