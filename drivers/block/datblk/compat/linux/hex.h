/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The <linux/hex.h> of kernels that have none: Linux 6.1 declares hex2bin() in <linux/kernel.h>.
 * The directory comes after those of the kernel, so a kernel that has the file uses its own.
 */
#include <linux/kernel.h>
