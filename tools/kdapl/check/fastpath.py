# SPDX-License-Identifier: GPL-2.0
"""Which files of drivers/infiniband/ulp/kdapl are the posting and completion path.

The one list of them, for whatever checks that path: layers, hotcalls, mutate.
"""

FOLDER = "drivers/infiniband/ulp/kdapl"
# Every function in these objects runs in any context: it neither sleeps nor allocates
ANY_CONTEXT = ("post post_recv segment complete ep_state event fast rmr_bind "
               "lmr_fast lmr_fmr").split()
# These also hold functions of set-up and teardown, which may sleep
OBJECTS = ANY_CONTEXT + "event_policy solicited drain".split()
# Inline functions of the path, and the layout of the objects that it works on
HEADERS = "handle pool segment event event_queue fast wr".split()
# Objects below the path whose set-up code its checks rely on
MECHANISM = "handle pool lmr_table".split()

FILES = frozenset([f"{FOLDER}/{name}.c" for name in OBJECTS + MECHANISM] +
                  [f"{FOLDER}/{name}.h" for name in HEADERS])
