"""A mytriton backend: kernels become C11, which the C compiler of the host compiles."""
