"""What the ptx machine judges beyond single accesses: the order of accesses, and their provenance."""
