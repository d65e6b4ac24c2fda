"""The ptx machine: it runs the text of PTX, one array element a thread."""
