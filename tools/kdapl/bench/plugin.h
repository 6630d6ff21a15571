/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of QEMU 7.2's plugin interface that touch.c uses. Debian does not package its header.
 */
#ifndef _KDAPL_BENCH_PLUGIN_H_
#define _KDAPL_BENCH_PLUGIN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUGIN_VERSION		1
#define PLUGIN_NO_REGISTERS	0
#define PLUGIN_READS_AND_WRITES	3

struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef void plugin_translated(uint64_t id, struct qemu_plugin_tb *block);
typedef void plugin_executed(unsigned int cpu, void *arg);
typedef void plugin_accessed(unsigned int cpu, uint32_t how, uint64_t address, void *arg);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, plugin_translated *call);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, plugin_executed *call,
					    int registers, void *arg);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, plugin_accessed *call,
				      int registers, int accesses, void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
unsigned int qemu_plugin_mem_size_shift(uint32_t how);
bool qemu_plugin_mem_is_store(uint32_t how);

/* The symbols that QEMU looks up in a plugin */
extern int qemu_plugin_version;
int qemu_plugin_install(uint64_t id, const void *machine, int argc, char **argv);

#endif /* _KDAPL_BENCH_PLUGIN_H_ */
