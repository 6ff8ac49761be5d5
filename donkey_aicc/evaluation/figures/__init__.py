"""Figures of the report; matplotlib is imported only when one is drawn."""
