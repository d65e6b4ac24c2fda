"""The commands of `blockstep`, one module each: `COMMANDS` in `blockstep.commandline` lists them."""
