"""Score tables -> numbers, tables and pictures."""
