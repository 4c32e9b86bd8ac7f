"""3,000 pods change their word at once: `python -m bench.publishing`.

Against the stand-in for the API server. Their annotations go out as fast as the limit allows; what
the operator costs meanwhile is measured.
"""

import tempfile
import time
from pathlib import Path

from bench.load import machine, percent, seconds, table
from bench.running import Operator, post, stand_in

PODS, NODES, CHANGING = 150_000, 500, 3_000
WITHIN = 900.0
WRITTEN = 'gpu_triage_writes_total{kind="annotation",result="ok"}'


def rows():
    """What was measured beside what is wanted."""
    with (
        stand_in(PODS, NODES, hanging=CHANGING) as (_, server),
        tempfile.TemporaryDirectory() as folder,
    ):
        operator = Operator(server, Path(folder))
        try:
            operator.until(lambda: operator.sample(WRITTEN) >= CHANGING, WITHIN)
            drained = operator.until(lambda: operator.sample("gpu_triage_write_queue") == 0, WITHIN)
            yield "start → every word and Event written", seconds(drained), ""
            time.sleep(5)
            first, cpu, begun = operator.sample(WRITTEN), operator.cpu(), time.monotonic()
            post(f"{server}/control/flip")
            while (written := operator.sample(WRITTEN) - first) < CHANGING:
                if time.monotonic() - begun > WITHIN:
                    break
                time.sleep(0.5)
            took = time.monotonic() - begun
            yield f"{CHANGING:,} words change → written", seconds(took), "58 s at 50/s"
            yield "… writes a second", f"{written / took:.1f}", "50, after a burst of 100"
            yield "… CPU meanwhile", percent((operator.cpu() - cpu) / took), "≤ 30 % of a core"
        finally:
            operator.end()


if __name__ == "__main__":
    print(f"{machine()}\n")
    table(("what", "measured", "wanted"), rows())
