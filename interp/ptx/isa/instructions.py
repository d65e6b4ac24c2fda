"""Every file of instructions, loaded: each enters its own into the registry."""
