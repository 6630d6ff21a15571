#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check that posts, completions and events neither sleep nor allocate.

  tools/kdapl/check/hotcalls.py DIRECTORY

DIRECTORY has the objects of drivers/infiniband/ulp/kdapl, built for Debian's 6.12;
check/build-modules calls this for that kernel only, because the symbols differ a little between
kernels. All functions of the objects in ANY_CONTEXT of fastpath.py are checked, because they run in
any context. Other objects of the module also contain functions of set-up and teardown,
which may sleep, so only the functions that are reached by calls are checked there (the
marker of a drain, the poll of a solicited CQ, the mark of all queued events, the counters
of users).

  1. Every kernel symbol must be in ALLOWED, with the reason why it neither sleeps nor
     allocates.
  2. Every indirect call must be in INDIRECT: the number in each function after inlining,
     and the target.

The targets of indirect calls are not checked: the driver's verbs, which must not sleep
by the rules of the RDMA core, and the Consumer's upcall. The module's own hooks are in
HOOKS, and are checked. Queued work is not, because it runs in process context. Prints a line for
each fault.
"""

import fnmatch
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
import fastpath  # noqa: E402 (in this directory)

# Tracepoints call functions of the kernel: see __SCT__ below
TRACE = "base/trace"

# Kernel symbols, and why they neither sleep nor allocate. Names may have wildcards.
ALLOWED = {
    # locks and reference counts
    "_raw_spin_lock": "spin lock",
    "_raw_spin_lock_irq": "spin lock",
    "_raw_spin_lock_irqsave": "spin lock",
    "_raw_spin_unlock": "spin lock",
    "_raw_spin_unlock_irq": "spin lock",
    "_raw_spin_unlock_irqrestore": "spin lock",
    "__rcu_read_lock": "counts in the task",
    "__rcu_read_unlock": "counts in the task",
    "refcount_warn_saturate": "WARN() for a wrong count",
    "__list_del_entry_valid_or_report": "compares the pointers of a list, likewise",
    "__list_add_valid_or_report": "compares the pointers of a list; WARN() if they are wrong",
    # deferred work: kDAPL's own work items, which were allocated earlier
    "queue_work_on": "links a work item",
    "mod_delayed_work_on": "starts a timer or links a work item",
    "queue_delayed_work_on": "starts a timer",
    "queue_rcu_work": "links a work item with call_rcu()",
    "kvfree_call_rcu": "links an object; with an rcu_head in it, it allocates no page",
    "__wake_up": "makes tasks runnable",
    "__local_bh_enable_ip": "runs softirqs that are due",
    # verbs that only write to existing memory
    "ib_map_mr_sg": "writes the page table of the MR; calls the driver",
    "ib_dma_virt_map_sg": "writes the entries of the scatterlist",
    "sg_next": "arithmetic",
    "xa_load": "walks a tree under RCU",
    # DMA: only dat_lmr_fmr and kdat_lmr_fmr_sg. Does not sleep; an IOMMU driver may take memory from its own
    # reserves, and a failure is reported as DAT_INSUFFICIENT_RESOURCES
    "dma_map_sg_attrs": "any context",
    "dma_unmap_sg_attrs": "any context",
    "__dma_need_sync": "reads flags",
    "iommu_get_domain_for_dev": "reads a pointer",
    "iommu_iova_to_phys": "walks page tables of the IOMMU; calls its driver",
    "sme_me_mask": "data: the bit of encrypted memory",
    # reserved pages: only the same two
    "lookup_address": "walks page tables of the kernel",
    "zero_pfn": "data: the zero page",
    "page_offset_base": "data: address of a page",
    # preemption: only in preemptible callers
    "__SCT__preempt_schedule": "preempt_enable()",
    "__SCT__preempt_schedule_notrace": "preempt_enable_notrace()",
    # tracepoints: static calls, patched in while a tracepoint is enabled
    "__tracepoint_kdapl_*": "data: is the tracepoint enabled?",
    "__SCK__tp_func_kdapl_*": "data: the function to call",
    "__SCT__tp_func_kdapl_*": "writes to the trace buffer, which exists",
    # inserted by the compiler
    "__fentry__": "function tracer, patched out",
    "__x86_return_thunk": "return",
    "__x86_indirect_thunk_*": "indirect call, see INDIRECT",
    "__stack_chk_fail": "panics",
    "pv_ops": "interrupt flag, patched to one instruction",
    "BUG_func": "never called; the target before pv_ops is patched",
    "memcpy": "copies", "memset": "fills",
    # data
    "pcpu_hot": "data: current, preempt count",
    "const_pcpu_hot": "data: the same",
    "__cpu_online_mask": "data",
    "boot_cpu_data": "data: bits of a physical address",
    "mem_section": "data: is this a valid page?",
    "vmemmap_base": "data: struct page of a page",
    "jiffies": "data",
}

# Indirect calls: function -> number and target
INDIRECT = {
    "dat_ep_post_send": (1, "ib_device_ops.post_send"),
    "dat_ep_post_rdma_write": (1, "ib_device_ops.post_send"),
    "dat_ep_post_rdma_read": (1, "ib_device_ops.post_send"),
    "dat_ep_post_send_with_invalidate": (1, "ib_device_ops.post_send"),
    **{f"kdapl_{op}_{path}": (1, "ib_device_ops.post_send") for op in ("send", "write", "read")
       for path in ("vector", "quiet", "quiet_vector")},
    "kdapl_submit": (1, "ib_device_ops.post_send"),
    "kdapl_mr_wr_post": (1, "ib_device_ops.post_send"),
    "dat_ep_post_recv": (1, "ib_device_ops.post_recv"),
    "kdapl_recv_rest": (1, "ib_device_ops.post_recv"),
    "kdapl_recv_any": (1, "ib_device_ops.post_recv"),
    "dat_srq_post_recv": (1, "ib_device_ops.post_srq_recv"),
    "kdapl_srq_recv_rest": (1, "ib_device_ops.post_srq_recv"),
    "kdapl_srq_recv_any": (1, "ib_device_ops.post_srq_recv"),
    "kdapl_evd_complete": (1, "the Consumer's upcall"),
    "kdapl_evd_deliver": (1, "the Consumer's upcall"),
    # A message has invalidated a key: kdapl_rmr_invalidated or kdapl_lmr_invalidated
    "kdapl_rkey_invalidated": (1, "kdapl_obj_ops.invalidated"),
    # dat_evd_dequeue() polls the CQs of an EVD that seems empty
    "kdapl_polled_cq_batch": (2, "ib_device_ops.poll_cq; kDAPL's done callback"),
    "kdapl_evd_arm_drained": (1, "ib_device_ops.req_notify_cq"),
}

# Targets of the module's own hooks in INDIRECT; they are checked like direct calls
HOOKS = "kdapl_lmr_invalidated kdapl_rmr_invalidated".split()

INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(.*)$")
RELOCATION = re.compile(r"^\t+[0-9a-f]+: (R_X86_64_\S+)\t(.*)$")
SECTION = re.compile(r"^Disassembly of section (.*):$")
DIRECT = re.compile(r"^(?:call|j[a-z]+) +[0-9a-f]+ <([^>+]+)")
STAR = re.compile(r"^(?:notrack )?(?:call|jmp) +\*")
THUNK = "__x86_indirect_thunk_"
# Suffixes of the parts of a function that the compiler split
PART = re.compile(r"\.(cold|constprop|isra|part)(\.\d+)*")


def output(*command):
    return subprocess.run(command, check=True, text=True,
                          capture_output=True).stdout


def undefined(obj):
    return {line.split()[-1] for line in output("nm", "-u", obj).splitlines()}


class Object:
    """An object file: its functions, the symbols that each uses, and its indirect calls."""

    def __init__(self, path, name):
        self.name = name                    # directory/file
        self.uses = defaultdict(set)        # function: symbols
        self.indirect = Counter()           # function: sites
        self.starts = defaultdict(list)     # section: (address, function)
        self.read_symbols(path)
        self.read_code(path)

    def read_symbols(self, path):
        for line in output("objdump", "-t", path).splitlines():
            left, _, right = line.partition("\t")
            if right and left.split()[-2:-1] == ["F"]:
                function = PART.sub("", right.split()[-1])
                self.starts[left.split()[-1]].append((int(left.split()[0], 16),
                                                      function))
        self.functions = {name for starts in self.starts.values()
                          for _, name in starts}

    def function_at(self, section, address):
        """The function at an address, or the next one if the address is in padding."""
        starts = sorted(self.starts[section])
        found = [name for at, name in starts if at <= address]
        return found[-1] if found else starts[0][1] if starts else None

    def target(self, where, text):
        """The symbol of a relocation; a section and an offset are resolved to a function."""
        match = re.fullmatch(r"(.*?)([-+]0x[0-9a-f]+)?", text)
        symbol, offset = match[1], int(match[2] or "0", 16)
        if symbol in self.starts:
            return self.function_at(symbol, offset + where)
        return PART.sub("", symbol) if symbol in self.functions or \
            PART.sub("", symbol) in self.functions else symbol

    def read_code(self, path):
        section = function = direct = None
        star = False
        text = output("objdump", "-dr", "--no-show-raw-insn", path)
        for line in text.splitlines() + [" 0:\tend"]:
            if match := SECTION.match(line):
                section = match[1]
            elif match := INSTRUCTION.match(line):
                # The previous instruction had no relocation with a target
                self.indirect[function] += star
                if direct:
                    self.uses[function].add(PART.sub("", direct[1]))
                function = self.function_at(section, int(match[1], 16))
                star = bool(STAR.match(match[2]))
                direct = DIRECT.match(match[2])
            elif (match := RELOCATION.match(line)) and section in self.starts:
                direct = None
                # A call's displacement counts from the next instruction
                relative = 4 if match[1] in ("R_X86_64_PLT32",
                                             "R_X86_64_PC32") else 0
                symbol = self.target(relative, match[2])
                self.indirect[function] += symbol.startswith(THUNK)
                if symbol == "pv_ops" or symbol.startswith(".rodata"):
                    star = False            # patched; or a switch
                if not symbol.startswith("."):
                    self.uses[function].add(symbol)


def allowed(symbol):
    return any(fnmatch.fnmatchcase(symbol, name) for name in ALLOWED)


def reach(objects):
    """The functions to check: (object, function) -> its caller."""
    home = {name: obj for obj in objects.values() for name in obj.functions
            if obj.name not in fastpath.ANY_CONTEXT + [TRACE]}
    todo = [(objects[name], function, name) for name in fastpath.ANY_CONTEXT
            for function in sorted(objects[name].functions)]
    todo += [(home[hook], hook, "a hook") for hook in HOOKS if hook in home]
    found = {}
    while todo:
        obj, function, via = todo.pop(0)
        if (obj.name, function) in found:
            continue
        found[obj.name, function] = via
        for symbol in sorted(obj.uses[function]):
            if symbol in obj.functions:
                todo.append((obj, symbol, function))
            elif symbol in home:
                todo.append((home[symbol], symbol, function))
    return found


def check_symbols(objects, folder, found):
    """Messages about kernel symbols that are not in ALLOWED."""
    own = {line.split()[-1] for name in objects if name != TRACE
           for line in output("nm", "--defined-only",
                              folder / f"{name}.o").splitlines()}
    own |= {PART.sub("", name) for name in own}
    used = defaultdict(set)             # (object, symbol): functions
    for name in fastpath.ANY_CONTEXT:
        for symbol in undefined(folder / f"{name}.o") - own:
            used[name, symbol] = set()
    for name, function in found:
        for symbol in objects[name].uses[function] - own:
            used[name, symbol].add(function)
    return [f"{name}.o uses {symbol}" +
            (f" (in {', '.join(sorted(where))})" if where else "")
            for (name, symbol), where in sorted(used.items())
            if not allowed(symbol)]


def check_indirect(objects, found):
    """Messages about functions whose indirect calls differ from INDIRECT."""
    bad = []
    for name, function in sorted(found):
        sites = objects[name].indirect[function]
        count, what = INDIRECT.get(function, (0, "none"))
        if sites != count:
            bad.append(f"{name}.o: {function}: expected {count} indirect calls "
                       f"({what}), found {sites}")
    known = {function for _, function in found}
    return bad + [f"INDIRECT or HOOKS lists {function}, which was not found"
                  for function in [*INDIRECT, *HOOKS] if function not in known]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    objects = {name: Object(path, name) for path in sorted(folder.glob("*/*.o"))
               if (name := f"{path.parent.name}/{path.stem}") and path.parent.name != "tests"}
    missing = [f"expected {folder}/{name}.o: no such file"
               for name in fastpath.ANY_CONTEXT if name not in objects]
    found = {} if missing else reach(objects)
    for fault in missing or check_symbols(objects, folder, found) + check_indirect(objects, found):
        print(fault)


main()
