# SPDX-License-Identifier: GPL-2.0
"""Which files of drivers/infiniband/ulp/kdapl are the posting and completion path.

The one list of them, for whatever checks that path: hotcalls, coverage, mutate.
"""

FOLDER = "drivers/infiniband/ulp/kdapl"
# Every function in these objects runs in any context: it neither sleeps nor allocates
ANY_CONTEXT = ("post/post post/post_recv post/segment post/complete post/ep_state "
               "event/evd_queue post/mr_wr post/rmr_bind post/lmr_fast post/lmr_fmr").split()
# These also hold functions of set-up and teardown, which may sleep
OBJECTS = ANY_CONTEXT + "event/evd_policy event/scq post/drain".split()
# Inline functions of the path, and the layout of the objects that it works on
HEADERS = ("base/handle base/event_node base/pool base/wr object/evd object/mr "
           "event/event event/evd_queue post/segment").split()
# Objects below the path whose set-up code its checks rely on
MECHANISM = "base/handle base/pool object/lmr_table".split()

FILES = frozenset([f"{FOLDER}/{name}.c" for name in OBJECTS + MECHANISM] +
                  [f"{FOLDER}/{name}.h" for name in HEADERS])
