// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that lists the memory accesses and the locked instructions in marked parts of
 * the guest's kernel.
 *
 * touch.py compiles it and reads the list; count.py passes it to the emulator. kdapl_bench.ko
 * marks the parts by an instruction that does nothing, 0f 1f 80 MARK 61 64 6b, which is
 * nopl 0x6b6461MARK(%rax). The line of a mark is "mark MARK". After the marks 2 and 3, up to the
 * next mark, each access to memory has a line "PC ADDRESS BYTES r|w", and each locked instruction
 * a line "PC lock". The emulator has one CPU, so no two callbacks run at the same time.
 */
#include <stdio.h>
#include <string.h>
#include "plugin.h"

#define KERNEL		0xffff800000000000	/* the guest's kernel is above */
#define MARK_SIZE	7
#define MARK_CALL	2
#define MARK_DONE	3

int qemu_plugin_version = PLUGIN_VERSION;

static FILE *list;
static bool inside;

static void on_mark(unsigned int cpu, void *arg)
{
	uintptr_t mark = (uintptr_t)arg;

	inside = mark == MARK_CALL || mark == MARK_DONE;
	fprintf(list, "mark %u\n", (unsigned int)mark);
	/* QEMU may be killed before it closes the file */
	if (!inside)
		fflush(list);
}

static void on_lock(unsigned int cpu, void *arg)
{
	if (inside)
		fprintf(list, "%lx lock\n", (unsigned long)arg);
}

static void on_access(unsigned int cpu, uint32_t how, uint64_t address, void *arg)
{
	if (inside)
		fprintf(list, "%lx %lx %u %c\n", (unsigned long)arg, (unsigned long)address,
			1u << qemu_plugin_mem_size_shift(how),
			qemu_plugin_mem_is_store(how) ? 'w' : 'r');
}

/* A lock prefix, or an exchange of a register with memory, which is locked without one */
static bool is_locked(const uint8_t *code, size_t size)
{
	size_t i;

	for (i = 0; i < size && code[i] && strchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf2\xf3\xf0",
						  code[i]); i++)
		if (code[i] == 0xf0)
			return true;
	if (i < size && (code[i] & 0xf0) == 0x40)
		i++;
	return i + 1 < size && (code[i] & 0xfe) == 0x86 && code[i + 1] < 0xc0;
}

/* The number of a mark, or 0 */
static uintptr_t mark_of(const uint8_t *code, size_t size)
{
	if (size != MARK_SIZE || memcmp(code, "\x0f\x1f\x80", 3) || memcmp(code + 4, "adk", 3))
		return 0;
	return code[3];
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *block)
{
	size_t i, n = qemu_plugin_tb_n_insns(block);

	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
		const uint8_t *code = qemu_plugin_insn_data(insn);
		size_t size = qemu_plugin_insn_size(insn);
		uint64_t pc = qemu_plugin_insn_vaddr(insn);
		void *arg = (void *)(uintptr_t)pc;
		uintptr_t mark;

		if (pc < KERNEL)
			return;
		mark = mark_of(code, size);
		if (mark)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, PLUGIN_NO_REGISTERS,
							       (void *)mark);
		if (is_locked(code, size))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_lock, PLUGIN_NO_REGISTERS,
							       arg);
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, PLUGIN_NO_REGISTERS,
						 PLUGIN_READS_AND_WRITES, arg);
	}
}

/* The only argument is out=FILE */
int qemu_plugin_install(uint64_t id, const void *machine, int argc, char **argv)
{
	if (argc != 1 || strncmp(argv[0], "out=", 4))
		return 1;
	list = fopen(argv[0] + 4, "w");
	if (!list)
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
