"""The sample that lets others in the network find the share, read by the program that it is for."""

import shutil
import struct
import subprocess
import sys

import pytest

from server import PROJECT

DAEMON = """
[server]
enable-dbus=no
allow-interfaces=lo
use-ipv6=no
[wide-area]
enable-wide-area=no
"""

# In a separate network and mount namespace: the daemon reads only one folder, and nobody outside receives anything.
SCRIPT = """
set -e
ip link set lo multicast on up
ip route add 224.0.0.0/4 dev lo
mount -t tmpfs none /run
mkdir -p /etc/avahi/services /run/avahi-daemon
mount --bind "$1/services" /etc/avahi/services
avahi-daemon -f "$1/daemon.conf" --no-drop-root --no-chroot --no-rlimits > "$1/daemon.log" 2>&1 &
trap 'kill $!' EXIT
"$2" -c "$3" "$4"
"""


# One query for the services of a type (RFC 6762, section 5.4), repeated until a response describes one completely.
QUESTION = """
import socket, struct, sys, time
name = b"".join(bytes([len(label)]) + label.encode() for label in [*sys.argv[1].split("."), "local"]) + b"\\0"
question = struct.pack(">6H", 0, 0, 1, 0, 0, 0) + name + struct.pack(">2H", 12, 0x8001)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
    link.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
    link.settimeout(0.5)
    answer = b""
    for _ in range(40):
        link.sendto(question, ("224.0.0.251", 5353))
        try:
            answer = link.recv(9000)
        except TimeoutError:
            continue
        if b"path=" in answer:
            break
        time.sleep(0.2)
sys.stdout.buffer.write(answer)
"""


@pytest.mark.root
@pytest.mark.parametrize("kind", ["_webdav._tcp", "_http._tcp"])
def test_the_sample_for_avahi_announces_the_share(folder, kind):
    if subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True).returncode != 0:
        pytest.skip("there can be no network of the test's own here")
    (folder / "services").mkdir()
    shutil.copy(PROJECT / "config" / "avahi.service", folder / "services" / "shareserve.service")
    (folder / "daemon.conf").write_text(DAEMON)
    words = ["unshare", "--mount", "--net", "sh", "-c", SCRIPT, "sh", str(folder), sys.executable, QUESTION, kind]
    heard = subprocess.run(words, capture_output=True, timeout=60)
    log = (folder / "daemon.log").read_text()
    assert heard.returncode == 0, heard.stderr.decode() + log
    answer = heard.stdout
    assert b"Files on " in answer, answer
    assert struct.pack(">3H", 0, 0, 8080) in answer, "no SRV record names the port"
    assert b"\x06path=/" in answer, answer

