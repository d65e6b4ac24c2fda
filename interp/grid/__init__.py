"""The grid machine: many program instances at once, one NumPy call an operation."""
