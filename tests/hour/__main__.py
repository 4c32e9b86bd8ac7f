"""What people would have seen in an hour at a busy cluster: `python -m tests.hour [--help]`."""

import argparse

from tests import virtual_time
from tests.hour.stage import Stage
from tests.hour.story import Story


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.hour", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pod", default="", help="only pods whose NAMESPACE/NAME holds this")
    given = parser.parse_args()
    virtual_time.run(lambda: hour(given.seed, given.minutes)).print(given.pod)


async def hour(seed, minutes):
    async with Stage() as stage:
        await Story(stage, seed).tell(minutes)
    return stage.diary


if __name__ == "__main__":
    main()
