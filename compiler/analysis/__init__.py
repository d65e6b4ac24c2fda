"""What the compiler works out about a function without changing it."""

from blockstep.compiler.analysis.axis import analyse, order, vector_width
from blockstep.compiler.analysis.facts import AxisFacts
from blockstep.compiler.options import Hint

__all__ = ["AxisFacts", "Hint", "analyse", "order", "vector_width"]
