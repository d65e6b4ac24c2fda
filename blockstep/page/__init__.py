"""A report as one HTML page, and values, layouts and results as HTML for notebooks.

Invariant: a page loads nothing, and every text that came from a program is escaped (`html.tag`).
"""

from blockstep.page.document import About, page, save

__all__ = ["About", "page", "save"]
