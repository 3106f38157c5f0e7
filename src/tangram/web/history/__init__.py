"""What was: fragmentation over time, who used how much, and what happened to cards and on nodes."""
