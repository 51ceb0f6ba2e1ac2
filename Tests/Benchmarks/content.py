"""The files of all workloads, the same for every server."""

import os

GIBIBYTE = 1 << 30


def make_content(root):
    """What most workloads read, and a place to write to. Servers that run as another user may write there too."""
    for name in ("get", "put", ".nginx"):
        (root / name).mkdir(parents=True)
        (root / name).chmod(0o777)
    root.chmod(0o777)
    (root / "get" / "1k").write_bytes(os.urandom(1024))
    (root / "get" / "64k").write_bytes(os.urandom(65536))
    (root / "get" / "text.txt").write_bytes(
        b"".join(b"%d the quick brown fox jumps over %d lazy dogs\n" % (n, n * n % 977) for n in range(90_000))[:4 << 20])
    with open(root / "get" / "1g", "wb") as file:
        file.truncate(GIBIBYTE)


def make_folder(place, members):
    """A folder of empty files."""
    place.mkdir()
    folder = os.open(place, os.O_DIRECTORY)
    for index in range(members):
        os.close(os.open(f"file {index:06}.txt", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)


def make_archive(place):
    """10,000 files in 100 folders, 1 GiB."""
    block = os.urandom(107_374)
    for folder in range(100):
        (place / f"{folder:02}").mkdir(parents=True)
        for index in range(100):
            (place / f"{folder:02}" / f"{index:02}").write_bytes(block)
