"""What a person sees of a launch: pure functions from state to styled text, each file one view.

Nothing here knows a terminal, a key or a thread. `plain` has the same views as plain text.
"""
