"""Clocks: the trading clock, those of sources, when gold trades, and on which days it does not."""
