"""Backend ``mlir-cpu``: SSA to MLIR to native code for this computer, in process."""
