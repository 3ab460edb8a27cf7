"""Prompt texts, English and Chinese."""
