"""What would have been: the pods of now placed anew under another policy, in a process of its own."""
