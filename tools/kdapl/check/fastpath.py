# SPDX-License-Identifier: GPL-2.0
"""The files of the posting and completion path in drivers/infiniband/ulp/kdapl.

Used by hotcalls.py; coverage calls it as a script, which prints them.
"""

FOLDER = "drivers/infiniband/ulp/kdapl"
# Every function in these objects runs in any context: it neither sleeps nor allocates
ANY_CONTEXT = ("post/post post/post_slow post/post_recv post/segment post/unsignalled "
               "post/complete post/ep_state event/evd_queue event/evd_poll memory/mr_request "
               "memory/rmr_bind memory/lmr_invalidate memory/lmr_fmr").split()
# These also contain functions of set-up and teardown, which may sleep
OBJECTS = ANY_CONTEXT + "event/evd_policy event/evd_work event/polled_cq post/drain".split()
# Inline functions of the path, and the layout of the objects that it uses
HEADERS = ("base/handle base/event_node base/pool base/slot object/evd object/mr "
           "event/event event/evd_queue post/request post/unsignalled post/segment").split()
# Objects below the path; the checks of the path rely on their set-up code
MECHANISM = "base/handle base/pool object/lmr_table".split()

FILES = frozenset([f"{FOLDER}/{name}.c" for name in OBJECTS + MECHANISM] +
                  [f"{FOLDER}/{name}.h" for name in HEADERS])

if __name__ == "__main__":
    print(*sorted(FILES), sep="\n")
