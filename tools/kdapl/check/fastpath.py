# SPDX-License-Identifier: GPL-2.0
"""The files of the posting and completion path in drivers/infiniband/ulp/kdapl.

Used by hotcalls.py; coverage calls it as a script, which prints them.
"""

from pathlib import Path

FOLDER = "drivers/infiniband/ulp/kdapl"
TOP = Path(__file__).resolve().parents[3]
POST = sorted(f"post/{path.stem}" for path in (TOP / FOLDER / "post").glob("*.c"))
# These also contain functions of set-up and teardown, which may sleep
MIXED = "event/evd_policy event/evd_work event/polled_cq post/drain".split()
# Every function in these objects runs in any context: it neither sleeps nor allocates
ANY_CONTEXT = [name for name in POST if name not in MIXED] + (
    "event/evd_queue event/evd_poll memory/mr_request memory/rmr_bind memory/lmr_invalidate "
    "memory/lmr_fmr").split()
OBJECTS = ANY_CONTEXT + MIXED
# Inline functions of the path, and the layout of the objects that it uses
HEADERS = ("base/handle base/event_node base/pool base/slot object/evd object/mr event/event "
           "event/evd_queue").split() + [
               f"post/{path.stem}" for path in (TOP / FOLDER / "post").glob("*.h")]
# Objects below the path; the checks of the path rely on their set-up code
MECHANISM = "base/handle base/pool object/lmr_table".split()

FILES = frozenset([f"{FOLDER}/{name}.c" for name in OBJECTS + MECHANISM] +
                  [f"{FOLDER}/{name}.h" for name in HEADERS])

if __name__ == "__main__":
    print(*sorted(FILES), sep="\n")
