"""Replay: a recorded drive looked at again, on a page or in a file to send on."""
