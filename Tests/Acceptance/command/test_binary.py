"""The one file that ships."""

import pathlib
import shutil
import subprocess

import pytest

from server import binary

MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def stripped(tmp_path_factory):
    path = tmp_path_factory.mktemp("binary") / "shareserve"
    shutil.copy(binary(), path)
    subprocess.run(["strip", str(path)], check=True)
    return path


def is_static():
    shown = subprocess.run(["readelf", "-d", str(binary())], capture_output=True, text=True, check=True).stdout
    return "libswiftCore" not in shown


pytestmark = [
    pytest.mark.memory,
    pytest.mark.skipif(not is_static(), reason="a debug build links the Swift libraries of the compiler"),
]


def test_needs_only_libraries_of_the_system():
    shown = subprocess.run(["readelf", "-d", str(binary())], capture_output=True, text=True, check=True).stdout
    needed = {line.split("[")[1].rstrip("]") for line in shown.splitlines() if "(NEEDED)" in line}
    allowed = {"libc.so.6", "libm.so.6", "libz.so.1", "libxml2.so.2", "libstdc++.so.6", "libgcc_s.so.1", "libcrypt.so.1",
               "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "ld-linux-x86-64.so.2",
               "ld-linux-aarch64.so.1"}
    assert needed <= allowed, needed - allowed


def test_full_foundation_is_not_linked():
    """Full Foundation and its ICU data cost 45 MB; only FoundationEssentials may be in the binary."""
    names = subprocess.run(["nm", str(binary())], capture_output=True, text=True, check=True).stdout
    # $s10Foundation is the mangled module name; FoundationEssentials mangles as $s20FoundationEssentials.
    found = [line for line in names.splitlines() if "$s10Foundation" in line.split()[-1][:14]]
    assert not found, found[:5]
    assert "icudt" not in names and "uloc_getDefault" not in names


def test_size(stripped):
    assert stripped.stat().st_size <= 35 * MEBIBYTE, stripped.stat().st_size / MEBIBYTE


def test_needs_no_file_beside_it(stripped, folder):
    place = folder / "bin"
    place.mkdir()
    shutil.copy(stripped, place)
    shown = subprocess.run([str(place / "shareserve"), "--version"], capture_output=True, env={}, cwd="/")
    assert shown.returncode == 0
    assert [path.name for path in pathlib.Path(place).iterdir()] == ["shareserve"]
