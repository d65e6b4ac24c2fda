"""How far a legal compiled execution may be from the step machine: one module for each family."""
