#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of datblkctl with files in place of the kernel's attributes. Prints TAP.

tests/selftests/datblkctl.sh runs it with the kernel.
"""

import contextlib
import errno
import importlib.machinery
import importlib.util
import io
import json
import os
import shutil
import sys
import tempfile
import types
import unittest
import unittest.mock
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATH_UUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


class Kernel:
    """What the kernel does when datblkctl writes an attribute. A node of a device is a file with
    the text "block MAJOR:MINOR"."""

    def __init__(self, tool):
        self.order = []
        self.errors = {}
        self.states = []
        self.enable = None
        self.save_record = tool.save_record
        tool.put = self.put
        tool.device_number = self.device_number
        tool.save_record = self.saved
        tool.time.sleep = self.sleep

    def put(self, path, value):
        self.order.append(f"{path.name}={value}")
        if path.name == "enable":
            self.enable = path
        error = self.errors.get(path.name)
        if not error or error == errno.EINPROGRESS:
            path.write_text(f"{self.states.pop(0) if error else value}\n")
        if error:
            raise OSError(error, os.strerror(error))
        if path.name == "path":
            (path.parent / "uuid").write_text(f"{uuid.uuid4()}\n")

    def saved(self, name, text):
        self.order.append("saved" if text else "forgotten")
        self.save_record(name, text)

    def sleep(self, _seconds):
        if self.states:
            self.enable.write_text(f"{self.states.pop(0)}\n")

    @staticmethod
    def device_number(path):
        if path.is_dir():
            return None
        word, _, number = path.read_bytes()[:64].decode(errors="replace").partition(" ")
        return number.strip() if word == "block" else None


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        for name in ("devices", "ports"):
            (self.root / "sys/kernel/config/datblk" / name).mkdir(parents=True)
        self.write("dev/datblk-control", "")
        self.rdma_port("rxe0", 1, "ACTIVE")
        loader = importlib.machinery.SourceFileLoader("datblkctl", str(HERE / "datblkctl"))
        self.tool = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("datblkctl", loader))
        with unittest.mock.patch.dict(os.environ, DATBLK_ROOT=str(self.root)):
            loader.exec_module(self.tool)
        self.tool.time = unittest.mock.Mock(wraps=self.tool.time)
        self.kernel = Kernel(self.tool)

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
                      "recoveries": "0", "errors": "0", "policy": "failover",
                      "paths": "10.0.0.1 rxe0/1 live"} | attributes
        for key, value in attributes.items():
            self.write(f"sys/block/{name}/datblk/{key}", f"{value}\n")
        self.write(f"sys/block/{name}/size", "2048\n")
        self.write(f"sys/block/{name}/ro", "0\n")
        self.write(f"sys/block/{name}/wwid", f"uuid.{PATH_UUID}\n")
        self.write(f"sys/block/{name}/stat", " ".join("1" * 17) + "\n")

    def run_it(self, *args, status=0):
        out, err = io.StringIO(), io.StringIO()
        # A directory of configfs is removed with its attributes
        with unittest.mock.patch.object(Path, "rmdir", shutil.rmtree), \
             unittest.mock.patch.object(sys, "argv", ["datblkctl", *args]), \
             contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                done = self.tool.main()
            except SystemExit as left:
                done = left.code
        self.assertEqual(done, status, err.getvalue())
        self.errors = err.getvalue()
        return self.errors if status else out.getvalue()

    def key_file(self, text, mode=0o600):
        path = self.root / "key"
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    def fail_commands(self, *numbers):
        """The commands to the control device fail, one after the other; 0: success."""
        numbers = list(numbers)
        self.lines = []

        def command(line):
            self.lines.append(line)
            if number := numbers.pop(0):
                raise OSError(number, os.strerror(number))
            return "datblk0"
        self.tool.command = command


class Client(Case):
    def test_connect_uses_the_only_active_port(self):
        self.rdma_port("mlx5_0", 1, "DOWN")
        self.run_it("connect", "10.0.0.1", "data", "--queues", "2", "--io-kib", "64")
        self.assertEqual(self.read("dev/datblk-control"),
                         "connect ia=rxe0/1 address=10.0.0.1 device=data queues=2 io_kib=64")

    def test_connect_asks_for_one_of_several_ports(self):
        self.rdma_port("mlx5_0", 1, "ACTIVE")
        said = self.run_it("connect", "10.0.0.1", "data", status=1)
        self.assertIn("--ia", said)
        self.assertIn("mlx5_0/1 rxe0/1", said)
        self.assertEqual(self.read("dev/datblk-control"), "")

    def test_connect_refuses_what_is_not_an_address(self):
        self.run_it("connect", "server", "data", status=2)

    def test_connect_once_finds_the_disk(self):
        self.disk("datblk3")
        self.assertEqual(self.run_it("connect", "10.0.0.1", "data", "--once"), "datblk3\n")
        self.assertEqual(self.read("dev/datblk-control"), "")
        self.run_it("connect", "10.0.0.2", "data", "--once")
        self.assertIn("address=10.0.0.2", self.read("dev/datblk-control"))

    def test_connect_once_compares_address_port_and_name(self):
        self.disk("datblk3", address="FE80::0:1 5000", paths="FE80::0:1 rxe0/1 live")
        self.assertEqual(self.run_it("connect", "fe80::1", "data", "--once", "--qual", "5000"),
                         "datblk3\n")
        self.run_it("connect", "fe80::1", "data", "--once")
        self.assertIn("address=fe80::1", self.read("dev/datblk-control"))

    def test_connect_with_several_addresses(self):
        self.rdma_port("mlx5_0", 1, "ACTIVE")
        self.run_it("connect", "10.0.0.1", "data", "--ia", "rxe0/1", "--share", "--depth", "8")
        self.assertEqual(self.read("dev/datblk-control"),
                         "connect ia=rxe0/1 address=10.0.0.1 device=data share=1 depth=8")
        self.assertIn("exclude each other", self.run_it(
            "connect", "10.0.0.1", "data", "--share", "--resubmit-kib", "64", status=1))
        self.run_it("connect", "10.0.0.1@rxe0/1,fe80::0:1@mlx5_0/1", "data")
        self.assertEqual(self.read("dev/datblk-control"),
                         "connect address=10.0.0.1@rxe0/1 address=fe80::1@mlx5_0/1 device=data")
        self.run_it("connect", "10.0.0.1@rxe0/1,10.0.1.1", "data", "--ia", "mlx5_0/1")
        self.assertEqual(self.read("dev/datblk-control"),
                         "connect ia=mlx5_0/1 address=10.0.0.1@rxe0/1 address=10.0.1.1 device=data")
        self.run_it("connect", "10.0.0.1,10.0.1.1", "data", "--ia", "rxe0/1", "--policy",
                    "round-robin", "--queues", "2")
        self.assertEqual(self.read("dev/datblk-control"),
                         "connect ia=rxe0/1 address=10.0.0.1 address=10.0.1.1 device=data "
                         "policy=round-robin queues=2")
        self.run_it("connect", "10.0.0.1", "data", "--policy", "random", status=2)
        for text in ("10.0.0.1,", "10.0.0.1@", "@rxe0/1", ""):
            self.run_it("connect", text, "data", status=2)

    def test_connect_once_knows_each_address_of_a_disk(self):
        self.disk("datblk3", address="10.0.1.1 4421",
                  paths="10.0.0.1 rxe0/1 failed the connection was lost\n10.0.1.1 rxe1/1 live")
        for addresses in ("10.0.0.1", "10.0.9.1,10.0.1.1"):
            self.assertEqual(self.run_it("connect", addresses, "data", "--once"), "datblk3\n")
        found = json.loads(self.run_it("list", "--json"))[0]
        self.assertEqual(found["paths"], [
            {"address": "10.0.0.1", "ia": "rxe0/1", "state": "failed",
             "reason": "the connection was lost"},
            {"address": "10.0.1.1", "ia": "rxe1/1", "state": "live", "reason": ""}])

    def test_connect_once_refuses_a_disk_that_has_given_up(self):
        self.disk("datblk3", state="dead")
        said = self.run_it("connect", "10.0.0.1", "data", "--once", status=1)
        self.assertIn("datblkctl disconnect datblk3", said)
        self.assertEqual(self.read("dev/datblk-control"), "")

    def test_discover_lists_what_the_kernel_prints(self):
        lines = []
        self.tool.command = lambda line: lines.append(line) or "a 1048576 ro\nb 512 rw new"
        self.assertEqual(self.run_it("discover", "10.0.0.1", "--qual", "5"),
                         "EXPORT  SIZE     ACCESS\na       1.0 MiB  read-only\n"
                         "b       512 B    read-write\n")
        self.assertEqual(lines, ["discover ia=rxe0/1 address=10.0.0.1 qual=5"])
        self.assertEqual(json.loads(self.run_it("discover", "10.0.0.1", "--json"))[1],
                         {"export": "b", "bytes": 512, "read_only": False})

    def test_an_error_says_what_to_do(self):
        for number, text in ((errno.EACCES, "Only root"), (errno.EINVAL, "dmesg names"),
                             (errno.EPROTO, "same version"), (errno.EOPNOTSUPP, "io_kib"),
                             (errno.EBUSY, "earlier connection"), (errno.EIO, "dmesg")):
            self.fail_commands(number)
            self.assertIn(text, self.run_it("connect", "10.0.0.1", "data", status=1))

    def test_a_key_comes_from_a_file(self):
        key = "0123456789abcdef" * 4
        self.run_it("connect", "10.0.0.1", "data", "--key-file", self.key_file(f"{key}\n"))
        self.assertEqual(self.read("dev/datblk-control"),
                         f"connect ia=rxe0/1 address=10.0.0.1 device=data key={key}")
        self.fail_commands(errno.EKEYREJECTED)
        said = self.run_it("connect", "10.0.0.1", "data", "--key-file", self.key_file(key),
                           status=1)
        self.assertIn("--key-file", said)
        self.assertNotIn(key, said)

    def test_a_key_that_others_can_read_is_refused(self):
        key = "0123456789abcdef" * 4
        for mode in (0o640, 0o604, 0o620, 0o602):
            self.assertIn("chmod 600", self.run_it(
                "connect", "10.0.0.1", "data", "--key-file", self.key_file(key, mode), status=1))
        self.assertEqual(self.read("dev/datblk-control"), "")

    def test_a_file_without_a_key_is_refused(self):
        for text in ("", "0123456789abcde", "0" * 31, "0" * 33, "0" * 130, "xx" * 16,
                     "00" * 16 + " queues=1"):
            said = self.run_it("connect", "10.0.0.1", "data", "--key-file", self.key_file(text),
                               status=1)
            self.assertIn("has no key", said)
            self.assertNotIn("queues=1", said)
        self.assertIn("No such file", self.run_it("connect", "10.0.0.1", "data", "--key-file",
                                                  str(self.root / "none"), status=1))
        self.assertEqual(self.read("dev/datblk-control"), "")

    def test_a_missing_module_is_named(self):
        (self.root / "dev/datblk-control").unlink()
        self.assertIn("datblk_client", self.run_it("disconnect", "datblk0", status=1))

    def test_disconnect_takes_a_path(self):
        self.run_it("disconnect", "/dev/datblk0", "--force")
        self.assertEqual(self.read("dev/datblk-control"), "disconnect datblk0 force")
        self.assertIn("--all", self.run_it("disconnect", status=1))

    def test_disconnect_goes_on_after_an_error(self):
        for name in ("datblk0", "datblk1", "datblk2"):
            self.disk(name)
        self.fail_commands(errno.EBUSY, errno.EBUSY, 0, 0)
        said = self.run_it("disconnect", "--all", status=1)
        self.assertEqual(self.lines, ["disconnect datblk0", "disconnect datblk0",
                                      "disconnect datblk1", "disconnect datblk2"])
        self.assertIn("datblk0 is in use", said)

    def test_a_disk_that_udev_has_open_is_removed(self):
        self.fail_commands(errno.EBUSY, 0)
        self.run_it("disconnect", "datblk0")

    def test_disconnect_lost_spares_disks_with_a_connection(self):
        self.disk("datblk0")
        self.disk("datblk1", state="recovering")
        self.disk("datblk2", state="recovering")
        self.fail_commands(0)
        self.tool.time.monotonic.side_effect = [0, 1, 9]
        self.tool.time.sleep = lambda _: self.disk("datblk2")
        self.run_it("disconnect", "--lost", "5")
        self.assertEqual(self.lines, ["disconnect datblk1 force"])

    def test_list(self):
        self.disk("datblk10", state="recovering", reason="the server does not answer")
        self.disk("datblk9")
        found = json.loads(self.run_it("list", "--json"))
        self.assertEqual([d["disk"] for d in found], ["datblk9", "datblk10"])
        self.assertEqual(found[0] | {"disk": ""}, {
            "disk": "", "export": "data", "address": "10.0.0.1", "qual": 4421, "ia": "rxe0/1",
            "paths": [{"address": "10.0.0.1", "ia": "rxe0/1", "state": "live", "reason": ""}],
            "policy": "failover", "state": "live", "reason": "", "bytes": 1 << 20,
            "read_only": False, "queues": 2, "depth": 32, "recoveries": 0, "errors": 0,
            "uuid": PATH_UUID})
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
        self.run_it("stat", "--interval", "0", status=2)

    def test_stat_shows_errors(self):
        self.disk(errors=5)
        self.tool.time.sleep = lambda _: self.write("sys/block/datblk0/datblk/errors", "7\n")
        row = json.loads(self.run_it("stat", "--json"))[0]
        self.assertEqual((row["errors"], row["errors_in_all"]), (2, 7))
        lines = [line.split() for line in self.run_it("stat").splitlines()]
        self.assertEqual(lines[1][lines[0].index("ERRORS")], "7")


class Server(Case):
    DEVICE = "sys/kernel/config/datblk/devices/data"

    def attribute(self, name):
        return self.read(f"{self.DEVICE}/{name}").strip()

    def setUp(self):
        super().setUp()
        self.device("sdb", "8:16", wwid="naa.1")

    def device(self, name, number, parent="", **attributes):
        """A block device, with attributes of sysfs."""
        self.write(f"dev/{name}", f"block {number}\n")
        folder = f"sys/devices/{parent or name}" + (f"/{name}" if parent else "")
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        for key, value in attributes.items():
            self.write(f"{folder}/{key.replace('__', '/')}", f"{value}\n")
        link = self.root / "sys/dev/block" / number
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(self.root / folder)

    def link(self, name, device):
        path = self.root / "dev/disk" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(self.root / "dev" / device)

    def restart(self):
        """Configfs is empty when a machine starts."""
        shutil.rmtree(self.root / self.DEVICE)

    def export(self, path, *args, status=0):
        """Returns the UUID of the export, or what the tool says."""
        said = self.run_it("export", "data", path, *args, status=status)
        return said if status else self.attribute("uuid")

    def test_export(self):
        self.run_it("export", "data", "/dev/sdb", "--read-only", "--client", "10.0.0.2",
                    "--client", "fe80::1", "--uuid", PATH_UUID)
        self.assertEqual([self.attribute(name) for name in
                          ("path", "read_only", "clients", "uuid", "enable")],
                         ["/dev/sdb", "1", "10.0.0.2 fe80::1", PATH_UUID, "1"])

    def test_an_export_is_changed(self):
        self.export("/dev/sdb", "--direct")
        self.assertEqual((self.attribute("direct"), self.attribute("read_only")), ("1", "0"))
        self.run_it("access", "data", "ro")
        self.assertEqual(self.attribute("read_only"), "1")
        self.run_it("access", "data", "rw")
        self.run_it("resize", "data")
        self.assertEqual((self.attribute("read_only"), self.attribute("revalidate_size")),
                         ("0", "1"))
        self.assertIn("no export", self.run_it("resize", "other", status=1))

    def test_the_uuid_stays_with_the_device(self):
        was = self.export("/dev/sdb")
        self.restart()
        self.device("sdc", "8:32", wwid="naa.1")
        self.assertEqual(self.export("/dev/sdc"), was)

    def test_another_device_with_the_same_path_is_refused(self):
        was = self.export("/dev/sdb")
        self.restart()
        self.device("sdb", "8:16", wwid="naa.2")
        said = self.export("/dev/sdb", status=1)
        for text in ("naa.1", "--uuid new", f"--uuid {was}"):
            self.assertIn(text, said)
        self.assertFalse((self.root / self.DEVICE).exists())
        new = self.export("/dev/sdb", "--uuid", "new")
        self.assertNotEqual(new, was)
        self.restart()
        self.assertEqual(self.export("/dev/sdb"), new)

    def test_a_device_without_identity_needs_a_uuid(self):
        self.device("vda", "253:0", serial="")
        self.assertIn("--uuid", self.export("/dev/vda", status=1))
        self.assertEqual(self.export("/dev/vda", "--uuid", PATH_UUID), PATH_UUID)
        self.restart()
        self.assertIn("--uuid", self.export("/dev/vda", status=1))

    def test_a_lasting_path_identifies_a_device(self):
        self.device("dm-0", "254:0", dm__uuid="")
        self.link("by-label/data", "dm-0")
        was = self.export("/dev/disk/by-label/data")
        self.restart()
        self.assertEqual(self.export("/dev/disk/by-label/data"), was)
        self.restart()
        self.link("by-path/pci-0", "dm-0")
        self.assertIn("--uuid", self.export("/dev/disk/by-path/pci-0", status=1))

    def test_a_link_of_udev_identifies_a_device(self):
        self.device("md0", "9:0")
        self.link("by-id/md-name-host:0", "md0")
        self.assertIn("--uuid", self.export("/dev/md0", status=1))
        self.link("by-id/md-uuid-1", "md0")
        was = self.export("/dev/md0")
        self.restart()
        self.assertEqual(self.export("/dev/md0"), was)
        self.restart()
        (self.root / "dev/disk/by-id/md-uuid-1").unlink()
        self.link("by-id/md-uuid-2", "md0")
        self.assertIn("md-uuid-1", self.export("/dev/md0", status=1))

    def test_a_partition_is_known_by_its_disk_and_uuid(self):
        self.device("sdb1", "8:17", "sdb", partition=1)
        self.device("sdb2", "8:18", "sdb", partition=2)
        self.link("by-partuuid/p1", "sdb1")
        was = self.export("/dev/sdb1")
        self.restart()
        self.assertIn("part 1", self.export("/dev/sdb2", status=1))
        self.assertEqual(self.export("/dev/sdb1"), was)
        self.restart()
        (self.root / "dev/disk/by-partuuid/p1").unlink()
        self.link("by-partuuid/p2", "sdb1")
        self.assertIn("partuuid p1", self.export("/dev/sdb1", status=1))

    def file_system(self, name):
        """The file system of the test has this UUID, if it is on a device."""
        number = os.stat(self.root).st_dev
        self.write("dev/disk-of-test", f"block {os.major(number)}:{os.minor(number)}\n")
        shutil.rmtree(self.root / "dev/disk/by-uuid", ignore_errors=True)
        self.link(f"by-uuid/{name}", "disk-of-test")
        self.tool.os = types.SimpleNamespace(**vars(os) | {
            "statvfs": lambda _: types.SimpleNamespace(f_fsid=int(name, 16))})

    def test_a_file_is_known_by_file_system_and_inode(self):
        self.file_system("a1")
        self.write("srv/one", "1" * 4096)
        was = self.export("/srv/one")
        self.restart()
        os.rename(self.root / "srv/one", self.root / "srv/moved")
        self.assertEqual(self.export("/srv/moved"), was)
        self.restart()
        self.write("srv/one", "2" * 4096)
        self.assertIn("is not the device", self.export("/srv/one", status=1))
        self.file_system("b2")
        self.assertIn("is not the device", self.export("/srv/moved", status=1))

    def test_a_file_system_without_identity(self):
        self.file_system("0")
        shutil.rmtree(self.root / "dev/disk/by-uuid")
        self.write("srv/one", "1" * 4096)
        self.assertIn("--uuid", self.export("/srv/one", status=1))

    def test_only_a_missing_record_means_a_new_export(self):
        was = self.export("/dev/sdb")
        record = self.root / "var/lib/datblk/data"
        self.restart()
        text = record.read_text()
        for damaged in ("", "damaged", "[]", '{"uuid": "", "identity": {"wwid": "naa.1"}}'):
            record.write_text(damaged)
            self.assertIn("is damaged", self.export("/dev/sdb", status=1))
        record.unlink()
        record.mkdir()
        self.assertIn("directory", self.export("/dev/sdb", status=1))
        os.rmdir(record)
        record.write_text(text)
        self.assertEqual(self.export("/dev/sdb"), was)

    def test_the_record_is_written_first(self):
        self.export("/dev/sdb")
        self.assertEqual(self.kernel.order[-2:], ["saved", "enable=1"])

    def test_the_record_is_undone_if_the_device_cannot_be_opened(self):
        self.kernel.errors = {"enable": errno.EBUSY}
        self.assertIn("in use", self.export("/dev/sdb", status=1))
        self.assertFalse((self.root / self.DEVICE).exists())
        self.assertFalse((self.root / "var/lib/datblk/data").exists())
        self.kernel.errors = {}
        was = self.export("/dev/sdb")
        self.restart()
        self.kernel.errors = {"enable": errno.EBUSY}
        self.export("/dev/sdb", "--uuid", "new", status=1)
        self.kernel.errors = {}
        self.assertEqual(self.export("/dev/sdb"), was)

    def test_export_waits_for_a_slow_device(self):
        self.kernel.errors = {"enable": errno.EINPROGRESS}
        self.kernel.states = ["opening", "opening", "1"]
        self.export("/dev/sdb")
        self.assertIn("waiting", self.errors)
        self.assertEqual((self.attribute("enable"), self.kernel.states), ("1", []))

    def test_export_says_if_a_slow_device_fails(self):
        self.kernel.errors = {"enable": errno.EINPROGRESS}
        self.kernel.states = ["opening", "0"]
        self.assertIn("dmesg", self.export("/dev/sdb", status=1))
        self.assertFalse((self.root / self.DEVICE).exists())

    def test_export_once_joins_an_earlier_command(self):
        was = self.export("/dev/sdb")
        self.assertIn("is enabled", self.export("/dev/sdb", status=1))
        self.assertEqual(self.export("/dev/sdb", "--once"), was)
        self.device("sdc", "8:32", wwid="naa.3")
        self.assertIn("is enabled", self.export("/dev/sdc", "--once", status=1))

    def test_unexport_waits_for_the_end(self):
        self.export("/dev/sdb")
        self.kernel.errors = {"enable": errno.EINPROGRESS}
        self.kernel.states = ["closing", "closing", "0"]
        self.run_it("unexport", "data")
        self.assertEqual(self.kernel.states, [])
        self.assertFalse((self.root / self.DEVICE).exists())

    def test_what_cannot_be_exported_is_named(self):
        (self.root / "srv").mkdir()
        self.assertIn("neither", self.export("/srv", status=1))
        self.assertIn("No such file", self.export("/none", status=1))

    def test_a_path_is_absolute(self):
        self.assertIn("absolute", self.run_it("export", "data", "sdb", status=1))

    def test_export_writes_keys(self):
        key = "0123456789abcdef" * 4
        name = self.key_file(f"{key}\n")
        self.export("/dev/sdb", "--key-file", name, "--host-key", f"0x10={name}")
        self.assertEqual((self.attribute("key"), self.attribute("host_keys")), (key, f"16 {key}"))
        order = self.kernel.order
        self.assertLess(order.index(f"key={key}"), order.index("enable=1"))

    def test_export_without_a_key_removes_an_old_one(self):
        self.write(f"{self.DEVICE}/enable", "0\n")
        self.write(f"{self.DEVICE}/key", "1\n")
        self.write(f"{self.DEVICE}/host_keys", "0x10\n0x11\n")
        self.export("/dev/sdb")
        order = self.kernel.order
        self.assertEqual([word for word in order if "key" in word],
                         ["key=", "host_keys=0x10", "host_keys=0x11"])

    def test_export_needs_a_good_key(self):
        said = self.export("/dev/sdb", "--key-file", self.key_file("secret"), status=1)
        self.assertIn("has no key", said)
        self.assertNotIn("secret", said)
        self.assertNotIn("enable=1", self.kernel.order)
        self.assertFalse((self.root / self.DEVICE).exists())
        for text in ("x=f", "0=f", "1=", "5"):
            self.export("/dev/sdb", "--host-key", text, status=2)

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

    def test_connections_that_the_kernel_has_cut(self):
        self.run_it("export", "data", "/dev/sdb")
        for text, number in (("x" * 50 + "\n") * 80, "80"), (("x" * 50 + "\n") * 90, "81+"):
            self.write(f"{self.DEVICE}/connections", text[:4095])
            self.assertEqual(self.run_it("exports").splitlines()[1].split()[6], number)

    def test_what_does_not_exist_is_not_removed(self):
        self.assertIn("there is no export", self.run_it("unexport", "data", status=1))
        self.assertIn("there is no port", self.run_it("unlisten", "p", status=1))


if __name__ == "__main__":
    RESULT = unittest.main(exit=False).result
    GOOD = RESULT.wasSuccessful() and RESULT.testsRun
    print(f"1..1\n{'ok' if GOOD else 'not ok'} 1 - the tests of datblkctl, {RESULT.testsRun} in all")
    sys.exit(not GOOD)
