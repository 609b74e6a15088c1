"""The engine: walks bars, fills orders, asks for decisions. No input, output, clock or chance."""
