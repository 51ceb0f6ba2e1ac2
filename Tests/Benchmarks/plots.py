"""Plots as SVG, on two logarithmic axes, without any library."""

import html
import math

WIDTH, HEIGHT, MARGIN = 640, 400, 60
COLOURS = {"seconds": "#1f77b4", "cpu": "#d62728", "memory": "#2ca02c"}
LABELS = {"seconds": "time, s", "cpu": "CPU, s", "memory": "peak memory, MiB"}


def chart(title, points):
    """One line each for time, CPU and memory; `points` are in order of their `size`."""
    floor = 1e-5
    sizes = [point["size"] for point in points]
    values = [max(point[key], floor) for point in points for key in COLOURS]
    left, right = math.log10(min(sizes)), math.log10(max(sizes))
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def x(size):
        return MARGIN + (math.log10(size) - left) / max(right - left, 1e-9) * (WIDTH - 2 * MARGIN)

    def y(value):
        return HEIGHT - MARGIN - (math.log10(max(value, floor)) - low) / max(high - low, 1) * (HEIGHT - 2 * MARGIN)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             f'<text x="{WIDTH / 2}" y="24" text-anchor="middle" font-size="15">{html.escape(title)}</text>']
    for power in range(low, high + 1):
        parts.append(f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y(10 ** power):.1f}" y2="{y(10 ** power):.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{MARGIN - 6}" y="{y(10 ** power) + 4:.1f}" text-anchor="end">{10 ** power:g}</text>')
    for size in sizes:
        parts.append(f'<text x="{x(size):.1f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{amount(size)}</text>')
    for index, (key, colour) in enumerate(COLOURS.items()):
        line = " ".join(f"{x(point['size']):.1f},{y(point[key]):.1f}" for point in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(point["size"]):.1f}" cy="{y(point[key]):.1f}" r="3" fill="{colour}"/>' for point in points]
        parts.append(f'<text x="{MARGIN + index * 150}" y="{HEIGHT - 12}" fill="{colour}">{LABELS[key]}</text>')
    return "\n".join(parts) + "\n</svg>\n"


def amount(size):
    """A short number: 1K, 10K, 1M."""
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor}{unit}"
    for unit, factor in (("M", 10**6), ("K", 10**3)):
        if size >= factor and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)
