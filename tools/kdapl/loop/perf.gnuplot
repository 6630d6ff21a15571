# SPDX-License-Identifier: GPL-2.0
# Median latency and bandwidth of each operation against the size of the message, for kDAPL and for
# plain verbs. "table" is the file with the output of "kdapl-loop perf".

set terminal svg size 1500,900 dynamic background rgb "white"
set multiplot layout 2,3
set logscale x 2
set logscale y
set format x "%.0b%B"
set grid
set xlabel "size of the message in bytes"

# The size, and another column, of the rows of a side in the table with this title
rows(title, side, column) = sprintf("<awk '/^%s/ { on = 1 } !NF { on = 0 } on && $2 == \"%s\" \
	{ print $1, $%d }' %s", title, side, column, table)

do for [op in "Send 'RDMA write' 'RDMA read'"] {
	set title op.": latency".(op eq "RDMA read" ? " of the whole read" : ", half round trip")
	set ylabel "median, in microseconds"
	plot rows(op." latency", "kdapl", 6) with linespoints title "kDAPL", \
		rows(op." latency", "verbs", 6) with linespoints title "plain verbs"
}
do for [op in "Send 'RDMA write' 'RDMA read'"] {
	set title op.": bandwidth"
	set ylabel "MiB per second"
	plot rows(op." bandwidth", "kdapl", 5) with linespoints title "kDAPL", \
		rows(op." bandwidth", "verbs", 5) with linespoints title "plain verbs"
}
