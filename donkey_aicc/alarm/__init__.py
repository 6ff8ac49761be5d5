"""The alarm: signs of a frame -> evidence -> level, hazard and reason. docs/architecture.md has its design on one page."""
