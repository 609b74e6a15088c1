"""What a finished run says: statistics of its equity and trades, and the summary of them."""
