"""Looking at every stage of a kernel: source, expression tree, SSA, passes, facts, backend text.

``kernel.inspect(...)`` and ``mytriton inspect`` make an ``Inspection``.
"""

from .model import Inspection, Line, Stage

__all__ = ["Inspection", "Line", "Stage"]
