# SPDX-License-Identifier: GPL-2.0
# The two Consumers of kdapl-tutorial.rst, as a reader would run them.

. "${0%/*}/lib.sh"

address=10.9.9.1
said="tutorial_server: the client wrote"

tidy() {
	rmmod tutorial_client tutorial_server 2>/dev/null
	kdapl_unload
}
trap tidy EXIT

# client TEXT: loads the client, which has done everything when insmod returns
client() { kdapl_insmod tutorial_client device=rxe0 address="$address" text="$1"; }

tap_plan 10
kdapl_unload
tap_check "rxe0" rxe_setup
kdapl_insmod kdapl
tap_check "the server" kdapl_insmod tutorial_server device=rxe0
tap_check "a client" client first
tap_check "the server has printed its text" wait_for 10 logged 1 "$said \"first\""
tap_check "rmmod of the client" rmmod tutorial_client
tap_check "another client" client second
tap_check "the server has printed that text, too" wait_for 10 logged 1 "$said \"second\""
rmmod tutorial_client
tap_check "rmmod of the server" rmmod tutorial_server
tap_refuse "a client without a server" client third
tap_check "kdapl unloads" rmmod kdapl
