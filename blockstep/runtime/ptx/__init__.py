"""The ptx machine behind a launch: compiled code, and the arguments as it wants them."""
