"""Seed graph schemas."""
