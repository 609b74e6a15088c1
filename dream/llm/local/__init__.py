"""`local`: a small real model on this machine's processor, behind a server of its own."""
