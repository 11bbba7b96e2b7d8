"""Never comes back."""

import time

time.sleep(600)
