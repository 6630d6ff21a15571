#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The two Consumers of kdapl-tutorial.rst, run as the page describes.
# covers: the Consumers of the tutorial, which must do what the page says
# tier: short

. "${0%/*}/lib.sh"

address=10.9.9.1
line="tutorial_server: the client wrote"

tidy() {
	rmmod tutorial_client tutorial_server 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

# client TEXT: load the client; insmod returns after it has transferred the text
client() { kdapl_insmod tutorial_client device=rxe0 address="$address" text="$1"; }

tap_plan 10
kdapl_unload
tap_check "rxe_setup" rxe_setup
kdapl_insmod kdapl
tap_check "the server loads" kdapl_insmod tutorial_server device=rxe0
tap_check "a client loads" client first
tap_check "the server prints the text of the client" wait_for logged 1 "$line \"first\""
tap_check "the client unloads" rmmod tutorial_client
tap_check "a second client loads" client second
tap_check "the server prints the text of the second client" wait_for logged 1 "$line \"second\""
rmmod tutorial_client
tap_check "the server unloads" rmmod tutorial_server
tap_refuse "without a server, insmod of a client fails" client third
tap_check "kdapl unloads" rmmod kdapl
