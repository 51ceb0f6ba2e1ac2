"""The address as a QR code in the terminal."""

import subprocess

from server import wait_until

UPPER, LOWER, FULL = "\u2580", "\u2584", "\u2588"


def test_the_code_in_the_terminal_is_read_back(serve, folder):
    server = serve("--qr", "--path-prefix", "/files")
    lines = wait_until(lambda: [line for line in server.printed if FULL in line] or None, "the code is printed")
    wait_until(lambda: len([line for line in server.printed if line and not set(line) - {UPPER, LOWER, FULL, " "}]) >= 13, "all of it is printed")
    lines = [line for line in server.printed if line and not set(line) - {UPPER, LOWER, FULL, " "}]
    rows = []
    for line in lines:
        rows.append(["0" if mark in (FULL, UPPER) else "1" for mark in line])
        rows.append(["0" if mark in (FULL, LOWER) else "1" for mark in line])
    scale, border = 8, 4
    width = len(rows[0]) + 2 * border
    rows = [["0"] * width] * border + [["0"] * border + row + ["0"] * border for row in rows] + [["0"] * width] * border
    pixels = "\n".join(" ".join(mark for mark in row for _ in range(scale)) for row in rows for _ in range(scale))
    image = folder / "code.pbm"
    image.write_text(f"P1\n{width * scale} {len(rows) * scale}\n{pixels}\n")
    read = subprocess.run(["zbarimg", "--quiet", "--raw", str(image)], capture_output=True, text=True)
    assert read.stdout.strip() in server.urls
