"""The intermediate representations: types, expression nodes, SSA, and the op registry."""
