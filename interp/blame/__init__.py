"""What blame is made of: who accessed an element, and the operations that a value came from."""
