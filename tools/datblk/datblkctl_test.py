#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of datblkctl with files in place of the kernel's attributes. Prints TAP.

tests/selftests/datblkctl.sh runs it with the kernel.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATH_UUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        for name in ("devices", "ports"):
            (self.root / "sys/kernel/config/datblk" / name).mkdir(parents=True)
        self.write("dev/datblk-control", "")
        self.rdma_port("rxe0", 1, "ACTIVE")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name):
        return (self.root / name).read_text()

    def rdma_port(self, device, port, state):
        self.write(f"sys/class/infiniband/{device}/ports/{port}/state", f"4: {state}\n")

    def disk(self, name="datblk0", **attributes):
        attributes = {"export": "data", "address": "10.0.0.1 4421", "ia": "rxe0/1",
                      "state": "live", "reason": "", "queues": "2", "depth": "32",
                      "recoveries": "0"} | attributes
        for key, value in attributes.items():
            self.write(f"sys/block/{name}/datblk/{key}", f"{value}\n")
        self.write(f"sys/block/{name}/size", "2048\n")
        self.write(f"sys/block/{name}/ro", "0\n")
        self.write(f"sys/block/{name}/wwid", f"uuid.{PATH_UUID}\n")
        self.write(f"sys/block/{name}/stat", " ".join("1" * 17) + "\n")

    def run_it(self, *args, status=0):
        done = subprocess.run([sys.executable, "-B", HERE / "datblkctl", *args],
                              env=os.environ | {"DATBLK_ROOT": str(self.root)},
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr if not status else ""), (status, ""))
        return done.stdout if not status else done.stderr


class Client(Case):
    def test_connect_uses_the_only_active_port(self):
        self.rdma_port("mlx5_0", 1, "DOWN")
        self.run_it("connect", "10.0.0.1", "data", "--queues", "2", "--io-kib", "64")
        self.assertEqual(self.read("dev/datblk-control"),
                         "connect ia=rxe0/1 address=10.0.0.1 device=data queues=2 io_kib=64")

    def test_connect_asks_for_one_of_several_ports(self):
        self.rdma_port("mlx5_0", 1, "ACTIVE")
        said = self.run_it("connect", "10.0.0.1", "data", status=1)
        self.assertIn("--ia: mlx5_0/1 rxe0/1", said)
        self.assertEqual(self.read("dev/datblk-control"), "")

    def test_connect_refuses_what_is_not_an_address(self):
        self.run_it("connect", "server", "data", status=2)

    def test_connect_once_finds_the_disk(self):
        self.disk("datblk3")
        self.assertEqual(self.run_it("connect", "10.0.0.1", "data", "--once"), "datblk3\n")
        self.assertEqual(self.read("dev/datblk-control"), "")
        self.run_it("connect", "10.0.0.2", "data", "--once")
        self.assertIn("address=10.0.0.2", self.read("dev/datblk-control"))

    def test_a_missing_module_is_named(self):
        (self.root / "dev/datblk-control").unlink()
        self.assertIn("datblk_client", self.run_it("disconnect", "datblk0", status=1))

    def test_disconnect_takes_a_path(self):
        self.run_it("disconnect", "/dev/datblk0", "--force")
        self.assertEqual(self.read("dev/datblk-control"), "disconnect datblk0 force")
        self.assertIn("--all", self.run_it("disconnect", status=1))

    def test_list(self):
        self.disk("datblk10", state="recovering", reason="the server does not answer")
        self.disk("datblk9")
        found = json.loads(self.run_it("list", "--json"))
        self.assertEqual([d["disk"] for d in found], ["datblk9", "datblk10"])
        self.assertEqual(found[0] | {"disk": ""}, {
            "disk": "", "export": "data", "address": "10.0.0.1", "qual": 4421, "ia": "rxe0/1",
            "state": "live", "reason": "", "bytes": 1 << 20, "read_only": False, "queues": 2,
            "depth": 32, "recoveries": 0, "uuid": PATH_UUID})
        lines = self.run_it("list").splitlines()
        self.assertEqual(lines[2].split()[:6], ["datblk10", "data", "10.0.0.1", "rxe0/1", "1.0",
                                                "MiB"])
        self.assertTrue(lines[2].endswith("the server does not answer"))

    def test_stat(self):
        self.disk()
        rows = json.loads(self.run_it("stat", "--json", "--interval", "0.01"))
        self.assertEqual((rows[0]["disk"], rows[0]["reads_per_s"], rows[0]["in_flight"]),
                         ("datblk0", 0.0, 1))
        self.assertIn("list", self.run_it("stat", "datblk1", status=1))


class Server(Case):
    DEVICE = "sys/kernel/config/datblk/devices/data"

    def attribute(self, name):
        return self.read(f"{self.DEVICE}/{name}").strip()

    def test_export(self):
        self.run_it("export", "data", "/dev/sdb", "--read-only", "--client", "10.0.0.2",
                    "--client", "fe80::1", "--uuid", PATH_UUID)
        self.assertEqual([self.attribute(name) for name in
                          ("path", "read_only", "clients", "uuid", "enable")],
                         ["/dev/sdb", "1", "10.0.0.2 fe80::1", PATH_UUID, "1"])

    def test_the_uuid_belongs_to_a_path(self):
        self.run_it("export", "data", "/dev/sdb", "--uuid", PATH_UUID)
        (self.root / self.DEVICE / "uuid").unlink()
        self.run_it("export", "data", "/dev/sdb")
        self.assertEqual(self.attribute("uuid"), PATH_UUID)
        (self.root / self.DEVICE / "uuid").unlink()
        self.run_it("export", "data", "/dev/sdc")
        self.assertFalse((self.root / self.DEVICE / "uuid").exists())

    def test_a_path_is_absolute(self):
        self.assertIn("absolute", self.run_it("export", "data", "sdb", status=1))

    def test_listen_names_the_port_after_its_ia(self):
        self.run_it("listen", "--qual", "5000")
        port = "sys/kernel/config/datblk/ports/rxe0-1"
        self.assertEqual([self.read(f"{port}/{name}").strip() for name in ("ia", "qual", "enable")],
                         ["rxe0/1", "5000", "1"])

    def test_exports(self):
        self.run_it("export", "data", "/dev/sdb")
        self.write(f"{self.DEVICE}/connections", "10.0.0.2:1 host 1\n10.0.0.2:2 host 1\n")
        found = json.loads(self.run_it("exports", "--json"))["exports"][0]
        self.assertEqual((found["export"], found["path"], len(found["connections"])),
                         ("data", "/dev/sdb", 2))
        self.assertEqual(self.run_it("exports").splitlines()[1].split()[:5],
                         ["data", "/dev/sdb", "1", "read-write", "all"])

    def test_what_does_not_exist_is_not_removed(self):
        self.assertIn("there is no export", self.run_it("unexport", "data", status=1))
        self.assertIn("there is no port", self.run_it("unlisten", "p", status=1))


if __name__ == "__main__":
    RESULT = unittest.main(exit=False).result
    GOOD = RESULT.wasSuccessful() and RESULT.testsRun
    print(f"1..1\n{'ok' if GOOD else 'not ok'} 1 - the tests of datblkctl, {RESULT.testsRun} in all")
    sys.exit(not GOOD)
