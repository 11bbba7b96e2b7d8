"""Python source of a kernel to expression tree. The kernel body is never executed by Python."""
