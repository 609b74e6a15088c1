"""Runs: what is run, its journal, the loop that drives it, resume and replay."""
