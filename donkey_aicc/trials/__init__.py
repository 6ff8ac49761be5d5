"""Trials as a laboratory runs them: many short drives from random places, and what came of them in tables."""
