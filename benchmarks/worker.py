"""One framework in a process of its own: runs a case for a moment whenever the driver asks."""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    peer, threads = sys.argv[1], int(sys.argv[2])
    if peer == "jax" and hasattr(os, "sched_setaffinity"):
        # JAX takes as many threads as there are processors.
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:threads]))
    import numpy as np
    from cases import CASES, PEERS

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer

    def say(**message: object) -> None:
        print(json.dumps(message), file=answers, flush=True)

    try:
        runs = PEERS[peer](threads)
    except ImportError as error:
        say(missing=str(error))
        return
    say(ready=True)
    current, run = None, None
    for line in sys.stdin:
        request = json.loads(line)
        if request["case"] != current:
            current = request["case"]
            case = CASES[current]
            inputs = case.inputs(np.random.default_rng(0))
            if current.split()[0] not in runs:
                run = None
                say(error="does not offer it")
                continue
            try:
                run, out = runs[current.split()[0]](inputs)
                run()
                got = np.asarray(out() if callable(out) else out)
                np.testing.assert_allclose(
                    np.squeeze(got), case.answer(inputs), rtol=case.rtol, atol=case.rtol
                )
            except Exception as error:
                run = None
                say(error=f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
                continue
        if run is None:
            say(error="failed before")
            continue
        clock = time.process_time if request["cpu"] else time.perf_counter
        best, end = float("inf"), time.perf_counter() + request["seconds"]
        while True:
            start = clock()
            run()
            best = min(best, clock() - start)
            if time.perf_counter() >= end:
                break
        say(best=best)


if __name__ == "__main__":
    main()
