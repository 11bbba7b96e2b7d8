"""``python -m mytriton.cli``."""

import sys

from . import main

sys.exit(main())
