"""What a person types at the debugger's prompt, and what is answered.

The engine (`debugger/session.py`) knows nothing of this; the screen shows the same answers.
"""
