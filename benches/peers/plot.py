"""A plot of the rows as SVG, made by hand: bars on a scale of tens, because the differences are."""

import html
import math

import report

COLOURS = [("hookwright", "Hookwright", "#2563eb"), ("floor", "floor", "#9ca3af"), ("gemini", "Gemini CLI", "#ea580c")]
LEFT, WIDTH, RIGHT, BAR, GAP, TOP = 290, 430, 90, 11, 12, 46


def bars(found):
    """All rows that are times, one group of bars each."""
    timed = [row for row in found["rows"] if row["unit"] == "seconds"]
    # What is lost in the noise of a very short measurement may be below nothing.
    is_there = lambda value: value is not None and value > 0
    values = [row[key] for row in timed for key, _, _ in COLOURS if is_there(row[key])]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    place = lambda value: LEFT + (math.log10(max(value, 10**low)) - low) / (high - low) * WIDTH
    parts, y = [], TOP
    for row in timed:
        here = [(row[key], colour) for key, _, colour in COLOURS if is_there(row[key])]
        parts.append(label(LEFT - 10, y + len(here) * BAR / 2 + 4, row["what"].replace("`", ""), "end"))
        for value, colour in here:
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{max(1, place(value) - LEFT):.1f}" height="{BAR - 1}" fill="{colour}"/>')
            parts.append(label(place(value) + 5, y + BAR - 2, report.shown(value), size=10))
            y += BAR
        y += GAP
    grid = []
    for power in range(low, high + 1):
        x = place(10**power)
        grid.append(f'<path d="M{x:.1f} {TOP - 6}V{y}" stroke="#ddd"/>')
        grid.append(label(x, y + 14, tick(power), "middle"))
    legend, x = [], LEFT
    for _, name, colour in COLOURS:
        legend += [f'<rect x="{x}" y="14" width="11" height="11" fill="{colour}"/>', label(x + 16, 24, name)]
        x += 34 + 7 * len(name)
    return frame(LEFT + WIDTH + RIGHT, y + 24, grid + parts + legend)


def stack(parts, total, title):
    """One bar in pieces, widest first in nobody's order but its own, and a list of them below."""
    width, y, x, shapes = 700, 40, 10.0, [label(10, 22, title)]
    shades = ["#1d4ed8", "#60a5fa", "#0f766e", "#5eead4", "#b45309", "#fbbf24", "#be185d", "#f9a8d4", "#4b5563", "#d1d5db", "#7c3aed", "#c4b5fd"]
    for at, (name, seconds) in enumerate(parts):
        wide = seconds / total * width
        shapes.append(f'<rect x="{x:.1f}" y="{y}" width="{max(0.5, wide):.1f}" height="36" fill="{shades[at % len(shades)]}"/>')
        x += wide
        column, line = at % 2, at // 2
        left, top = 10 + column * 360, 96 + line * 20
        shapes.append(f'<rect x="{left}" y="{top - 10}" width="11" height="11" fill="{shades[at % len(shades)]}"/>')
        shapes.append(label(left + 18, top, f"{name}: {report.shown(seconds)} ({seconds / total:.0%})"))
    return frame(width + 20, 96 + (len(parts) + 1) // 2 * 20, shapes)


def lines(seen, series):
    """Memory over time, one line per process."""
    left, width, top, height = 60, 640, 40, 200
    longest = max(one["at"] for one in seen)
    step = nice(max(one[key] for one in seen for key, _, _ in series) / 1e6)
    most = step * math.ceil(max(one[key] for one in seen for key, _, _ in series) / 1e6 / step)
    across = lambda at: left + at / longest * width
    up = lambda value: top + height - value / 1e6 / most * height
    shapes, x = [], left
    for value in range(0, most + 1, step):
        shapes.append(f'<path d="M{left} {up(value * 1e6):.1f}h{width}" stroke="#ddd"/>')
        shapes.append(label(left - 6, up(value * 1e6) + 4, f"{value} MB", "end"))
    for at in range(0, int(longest) + 1, nice(longest)):
        shapes.append(label(across(at), top + height + 18, f"{at} s", "middle"))
    for key, name, colour in series:
        points = " ".join(f"{across(one['at']):.1f},{up(one[key]):.1f}" for one in seen)
        shapes.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        shapes += [f'<rect x="{x}" y="14" width="11" height="11" fill="{colour}"/>', label(x + 16, 24, name)]
        x += 34 + 7 * len(name)
    return frame(left + width + 20, top + height + 30, shapes)


def nice(most):
    """A step that makes about five of them."""
    power = 10 ** math.floor(math.log10(max(most / 5, 1)))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= most / 5))


def tick(power):
    number = 10 ** (power % 3)
    return f"{number} {({-3: 'ns', -2: 'µs', -1: 'ms', 0: 's'})[power // 3]}" if -9 <= power < 3 else f"10^{power} s"


def label(x, y, text, anchor="start", size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="#333">{html.escape(text)}</text>'


def frame(width, height, shapes):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *shapes, "</svg>", ""])
