"""Facts about SSA that backends may use: pure functions of a function, computed on demand."""
