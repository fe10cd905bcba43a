"""From samples to rows: what each piece of work cost, beside the floor and beside Gemini CLI, and which targets that meets."""

import work


def rows(samples):
    """One row per line of the table. Times are seconds, memory is bytes; `None` where nothing was measured."""
    floor = lambda name: samples.median(f"floor: {name}")
    ours = lambda name: samples.median(f"hookwright: {name}")
    theirs = lambda name: samples.median(f"gemini: {name}")
    added = lambda of, name, without, count=1: None if of(name) is None else (of(name) - of(without)) / count
    trip, paced, trips = floor("trip"), floor("paced trip"), floor("trip") * work.CHUNKS
    pace = (ours("many calls") - ours("call")) / (work.MANY_CALLS - 1)
    # What a worker's first event costs more than the others is its start.
    start = added(ours, "call, worker", "call")
    warm = (added(ours, "many calls, worker", "many calls") - start) / (work.MANY_CALLS - 1)
    chunks = added(ours, "chunks, worker", "chunks")
    warm_chunks = (chunks - added(ours, "chunk, worker", "turn")) * work.CHUNKS / (work.CHUNKS - 1)
    peer_chunks = added(theirs, "chunks, node", "chunks", work.FEW_CHUNKS)
    peer_history = added(theirs, "history, node", "history", work.FEWER_CHUNKS)
    scaled = lambda one: one and one * work.CHUNKS
    burst = lambda of: None if of("bursts") is None else (
        added(of, "bursts, hundred", "bursts") - added(of, "call, hundred", "call")) / (work.BURSTS - 1)
    plain, long = ours("chunks, worker"), ours("history, worker")
    return [
        row("start to exit, headless, one turn, no hooks", ours("turn"), theirs("turn"), floor("true"),
            [beside("peer", 1 / 300), beside("floor", 4)], "floor: `true`"),
        row("one `sh` command hook on BeforeTool", added(ours, "calls, sh", "calls", work.CALLS), added(theirs, "calls, sh", "calls", work.CALLS),
            floor("sh"), [beside("floor", 1.10)], f"added per event, {work.CALLS} events in a session; floor: bare spawn of the same argv"),
        row("node hook on BeforeTool, as a command", added(ours, "calls, node", "calls", work.CALLS),
            added(theirs, "calls, node", "calls", work.CALLS), floor("node"), [], "the same; floor: bare spawn of it"),
        row("the same hook as a worker", warm, added(theirs, "calls, node", "calls", work.CALLS), trip,
            [beside("floor", 5), within("a round trip at the same pace", warm / paced, 5), beside("peer", 1 / 100)],
            f"added per event after the first; floor: pipe round trip to a bare node process, one after another without a pause, so that nobody "
            f"falls asleep. With {shown(pace)} of work before each, as from one call to the next, it takes {shown(paced)}. Gemini CLI: as a command. "
            f"With its start shared by {work.CALLS} events {shown(added(ours, 'calls, worker', 'calls', work.CALLS))}; start and end alone {shown(start)}"),
        row(f"AfterModel over {work.CHUNKS:,} chunks, node hook", chunks, scaled(peer_chunks), trips, [beside("floor", 5), beside("peer", 1 / 200)],
            f"added in all by a worker, its start included; without it {shown(warm_chunks)}, {ratio(warm_chunks / trips)} × floor; floor: as many "
            f"round trips without a pause. Gemini CLI: a command, {work.FEW_CHUNKS} chunks, scaled"),
        row("the same with a 10 MB history", added(ours, "history, worker", "history"), scaled(peer_history), trips,
            [within("the whole run without history", long / plain, 2.0)],
            f"added in all; the whole run takes {shown(long)}, without history {shown(plain)}. Gemini CLI: {work.FEWER_CHUNKS} chunks, "
            f"scaled, and {work.SHORTER_HISTORY / 2**20} MB: it refuses more"),
        row(f"{work.MANY} parallel `sh` hooks", burst(ours), burst(theirs), floor("hundred"), [beside("floor", 1.0)],
            f"added per event after the first, which takes {shown(added(ours, 'call, hundred', 'call'))}, "
            f"{ratio(added(ours, 'call, hundred', 'call') / floor('hundred'))} × floor, with all that is done once for so many hooks; floor: as many bare spawns at once"),
        row("peak memory of the one-turn run", ours("memory"), theirs("memory"), floor("memory"), [beside("peer", 1 / 18)],
            "largest resident set, children included; floor: `true` measured the same way", unit="bytes"),
    ]


def beside(which, limit):
    """A target: at most so many times the floor or Gemini CLI."""
    return {"of": which, "limit": limit}


def within(of, ratio, limit):
    """A target whose ratio is known."""
    return {"of": of, "ratio": ratio, "limit": limit, "met": ratio <= limit}


def row(what, ours, theirs, floor, targets, note, unit="seconds"):
    judged = []
    for target in targets:
        other = {"floor": floor, "peer": theirs}.get(target["of"])
        if "ratio" in target:
            judged.append(target)
        elif other is not None:
            judged.append({**target, "ratio": ours / other, "met": ours / other <= target["limit"]})
    return {"what": what, "hookwright": ours, "gemini": theirs, "floor": floor, "unit": unit, "note": note, "targets": judged}


def shown(value, unit="seconds"):
    """A figure for people, three digits of it."""
    if value is None:
        return "–"
    if unit == "bytes":
        return f"{value / 1e6:.1f} MB"
    for scale, name in [(1, "s"), (1e-3, "ms")]:
        if abs(value) >= scale:
            return f"{digits(value / scale)} {name}"
    return f"{digits(value / 1e-6)} µs"


def digits(number):
    return f"{number:.2f}" if abs(number) < 10 else f"{number:.1f}" if abs(number) < 100 else f"{number:,.0f}"


def ratio(value):
    """1/400 for what is much smaller, 1.05 for what is not."""
    return f"1/{1 / value:,.0f}" if 0 < value < 0.1 else f"{value:.2f}"


def judged(target):
    of = {"floor": "× floor", "peer": "of Gemini CLI"}.get(target["of"], "× " + target["of"])
    word = "met" if target["met"] else "**missed**"
    return f"≤ {ratio(target['limit'])} {of}: {ratio(target['ratio'])}, {word}"


def machine(found):
    machine, versions = found["machine"], found["versions"]
    load = "measured at real-time priority (`chrt -f 10`), which keeps others' work out" if machine["realtime"] else "at ordinary priority"
    peer = f"Gemini CLI {versions['gemini']} on " if versions["gemini"] else ""
    return (
        f"**{found['date']}** · {machine['cores']} cores, {machine['processor']} · {machine['kernel']} · load {machine['load'][0]}, {load} · "
        f"Hookwright {versions['hookwright']} · {peer}node {versions['node']} · medians of {found['rounds']} rounds"
    )


def markdown(found):
    lines = [machine(found), "", "| work | Hookwright | Gemini CLI | floor | targets |", "|---|--:|--:|--:|---|"]
    for at, one in enumerate(found["rows"], 1):
        figures = [shown(one[key], one["unit"]) for key in ("hookwright", "gemini", "floor")]
        lines.append(f"| {at}. {one['what']} | {' | '.join(figures)} | {'; '.join(map(judged, one['targets']))} |")
    lines.append("")
    lines += [f"{at}. {one['note'][0].upper()}{one['note'][1:]}." for at, one in enumerate(found["rows"], 1)]
    return "\n".join(lines) + "\n"


def text(found):
    lines = [machine(found).replace("**", "").replace("`", ""), ""]
    lines.append(f"{'work':<46}{'hookwright':>12}{'gemini cli':>12}{'floor':>12}  targets")
    for one in found["rows"]:
        figures = [shown(one[key], one["unit"]) for key in ("hookwright", "gemini", "floor")]
        targets = "; ".join(map(judged, one["targets"])).replace("**", "")
        lines.append(f"{one['what'].replace('`', ''):<46}" + "".join(f"{figure:>12}" for figure in figures) + f"  {targets}")
        lines.append(f"    {one['note'].replace('`', '')}")
    return "\n".join(lines)
