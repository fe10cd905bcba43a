"""Measures the policy service on this machine, and what asking it adds to an event of Hookwright.

    python3 load.py                                    # the service of this folder, started for the occasion
    python3 load.py --processes 4                      # several of them at one port (Linux)
    python3 load.py --url http://127.0.0.1:8437/hook   # one that runs (POLICY_TOKEN is sent)
    python3 load.py --hookwright path/to/hookwright    # and the time per event through the program

Python's standard library and nothing else. Figures of a loopback say what the programs cost, not what a network does.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlsplit

HERE = os.path.dirname(os.path.abspath(__file__))
PIECES = 1000


def event(size):
    """An event as BeforeTool hooks get it, with about this many bytes of content."""
    return json.dumps(
        {
            "session_id": "load",
            "transcript_path": "/tmp/load.jsonl",
            "cwd": "/work/project",
            "hook_event_name": "BeforeTool",
            "timestamp": "2026-01-01T00:00:00.000Z",
            "tool_name": "write_file",
            "tool_input": {"file_path": "src/main.py", "content": "x" * size},
        }
    ).encode()


def ask_for(seconds, url, size, token, results):
    """One client: asks over one connection for as long as that, and reports how long each answer took."""
    target = urlsplit(url)
    kind = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
    client = kind(target.hostname, target.port, timeout=30)
    client.connect()
    client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    body, took, failed = event(size), [], 0
    end = time.perf_counter() + seconds
    while (started := time.perf_counter()) < end:
        client.request("POST", target.path or "/", body, headers)
        answer = client.getresponse()
        text = answer.read()
        took.append(time.perf_counter() - started)
        failed += answer.status != 200 or not text.startswith(b"{")
    results.put((took, failed))


def load(url, clients, seconds, size, token):
    """Many clients at once: answers a second, and percentiles in milliseconds."""
    results = multiprocessing.Queue()
    arguments = (seconds, url, size, token, results)
    running = [multiprocessing.Process(target=ask_for, args=arguments) for _ in range(clients)]
    for process in running:
        process.start()
    reports = [results.get(timeout=seconds + 60) for _ in running]
    for process in running:
        process.join()
    took = sorted(one * 1000 for report in reports for one in report[0])
    failed = sum(report[1] for report in reports)
    at = lambda share: took[min(len(took) - 1, int(len(took) * share))]
    return {
        "clients": clients,
        "bytes": len(event(size)),
        "per_second": round(len(took) / seconds),
        "p50_ms": round(at(0.50), 2),
        "p90_ms": round(at(0.90), 2),
        "p99_ms": round(at(0.99), 2),
        "max_ms": round(took[-1], 2),
        "failed": failed,
    }


def start_services(count, folder, token):
    """The service of this folder, so many times at one port; its address and its processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, os.path.join(HERE, "service.py"), "--port", str(port), "--audit"]
    running = []
    for number in range(count):
        audit = os.path.join(folder, f"audit-{number}.jsonl")
        shared = ["--shared"] if count > 1 else []
        process = subprocess.Popen(
            [*command, audit, *shared], stderr=subprocess.PIPE, env={**os.environ, "POLICY_TOKEN": token}
        )
        running.append(process)
        if not process.stderr.readline().startswith(b"listening"):
            raise SystemExit("the service does not start")
    return f"http://127.0.0.1:{port}/hook", running


def seconds_of(program, folder, token, arguments):
    """How long the program takes; what it says only matters where it fails."""
    env = {"PATH": os.environ.get("PATH", ""), "HOME": os.path.join(folder, "home"), "POLICY_TOKEN": token}
    env["GEMINI_CLI_TRUST_WORKSPACE"] = "true"
    started = time.perf_counter()
    ended = subprocess.run(
        [program, *arguments], cwd=os.path.join(folder, "project"), env=env, capture_output=True, text=True, timeout=600
    )
    took = time.perf_counter() - started
    if ended.returncode != 0:
        raise SystemExit(f"{program} ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return took


def through(program, url, token, rounds):
    """What one event more costs in a session that has its connection, and a single event with all that comes before it."""
    chunk = lambda text, last: {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, **({"finishReason": "STOP"} if last else {})}
        ]
    }
    pieces = [chunk(f"piece {at} ", at == PIECES - 1) for at in range(PIECES)]
    hook = {
        "type": "http",
        "name": "policy",
        "url": url,
        "headers": {"Authorization": "Bearer $POLICY_TOKEN"},
        "allowedEnvVars": ["POLICY_TOKEN"],
    }
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "home"))
        os.makedirs(os.path.join(folder, "project", ".gemini"))
        replay = os.path.join(folder, "replay.jsonl")
        with open(replay, "w", encoding="utf-8") as file:
            file.write(json.dumps({"method": "generateContentStream", "response": pieces}) + "\n")
        session = ["-p", "go", "--fake-responses", replay, "-o", "json"]
        single = ["hooks", "fire", "BeforeTool", "--tool", "glob"]

        def settle(hooks):
            with open(os.path.join(folder, "project", ".gemini", "settings.json"), "w", encoding="utf-8") as file:
                json.dump({"hooks": hooks}, file)

        def median(arguments):
            return statistics.median(seconds_of(program, folder, token, arguments) for _ in range(rounds))

        rule = {"type": "rule", "name": "none", "decision": "deny", "when": {"commands": ["no-such-program"]}}
        settle({"BeforeTool": [{"hooks": [rule]}]})
        seconds_of(program, folder, token, session)
        without, single_without = median(session), median(single)
        settle({"AfterModel": [{"hooks": [hook]}], "BeforeTool": [{"hooks": [hook]}]})
        with_it, single_with = median(session), median(single)
    return {
        "events": PIECES,
        "added_ms_per_event": round((with_it - without) / PIECES * 1000, 3),
        "added_ms_first_event": round((single_with - single_without) * 1000, 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a service that runs, instead of one that is started")
    parser.add_argument("--processes", type=int, default=1, help="how many services to start at one port")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--bytes", type=int, default=1024, help="size of the content in an event")
    parser.add_argument("--hookwright", help="the program, to measure events through it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    token = os.environ.get("POLICY_TOKEN") or "load-test"
    report = {"machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"}
    report["load_before"] = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        url, services = (options.url, []) if options.url else start_services(options.processes, folder, token)
        try:
            load(url, 1, 0.5, options.bytes, token)
            report["service"] = [load(url, count, options.seconds, options.bytes, token) for count in options.clients]
            if options.hookwright:
                report["hookwright"] = through(os.path.abspath(options.hookwright), url, token, options.rounds)
        finally:
            for service in services:
                service.send_signal(signal.SIGTERM)
            for service in services:
                service.wait(timeout=30)
                service.stderr.close()
    if options.json:
        print(json.dumps(report, indent=2))
        return
    print(f"{report['machine']}; load before: {report['load_before']:.1f}; services: {max(1, len(services))}")
    columns = list(report["service"][0])
    print(" ".join(f"{name:>11}" for name in columns))
    for row in report["service"]:
        print(" ".join(f"{row[name]:>11}" for name in columns))
    if "hookwright" in report:
        through_it = report["hookwright"]
        print(f"through hookwright: {through_it['added_ms_per_event']} ms more per event ({through_it['events']} events)")
        print(f"a single event, its connection included: {through_it['added_ms_first_event']} ms more")


if __name__ == "__main__":
    main()
