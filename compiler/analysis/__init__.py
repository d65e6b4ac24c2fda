"""What the compiler works out about a function without changing it."""

from blockstep.compiler.analysis.axis import Hint, analyse, order, vector_width
from blockstep.compiler.analysis.facts import AxisFacts

__all__ = ["AxisFacts", "Hint", "analyse", "order", "vector_width"]
