"""Standing in for Triton: ``install_as_triton``, and the modules Triton has and we do not need
ourselves (``triton.compiler``, ``triton.backends``, ``triton.tools``, ``triton.knobs``)."""
