"""A policy service for a team, whole: one POST per event of an agent, one JSON object back.

Python's standard library and nothing else. It keeps no state, so that any number of them can stand behind a load balancer.
Whatever it is not sure of is an error status, never a yes: the guard that asked stays closed.

    POLICY_TOKEN=... python3 service.py --rules rules.json --port 8437
"""

import argparse
import hmac
import json
import os
import re
import signal
import socket
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LARGEST_BODY = 32 * 1024 * 1024
DECISIONS = ("deny", "ask")


class Rules:
    """The rules of a file, compiled. A file with a mistake in it is refused whole."""

    def __init__(self, text):
        parsed = json.loads(text)
        if not isinstance(parsed, dict) or not isinstance(parsed.get("rules"), list):
            raise ValueError('expected {"rules": [...]}')
        self.rules = [self._rule(number, rule) for number, rule in enumerate(parsed["rules"], 1)]

    @staticmethod
    def _rule(number, rule):
        known = {"name", "events", "tools", "field", "matches", "decision", "reason"}
        if not isinstance(rule, dict) or not known >= set(rule):
            raise ValueError(f"rule {number}: expected an object of {', '.join(sorted(known))}")
        for key in ("name", "field", "matches", "reason"):
            if not isinstance(rule.get(key), str):
                raise ValueError(f"rule {number}: `{key}` should be a string")
        for key in ("events", "tools"):
            if not isinstance(rule.get(key), list) or not all(isinstance(name, str) for name in rule[key]):
                raise ValueError(f"rule {number}: `{key}` should be a list of names")
        if rule.get("decision") not in DECISIONS:
            raise ValueError(f"rule {number}: `decision` should be one of {', '.join(DECISIONS)}")
        try:
            return {**rule, "matches": re.compile(rule["matches"])}
        except re.error as error:
            raise ValueError(f"rule {number}: `matches` is no pattern: {error}") from error

    def judge(self, event):
        """The answer to one event, and the rule that gave it. A deny beats an ask; no rule is no objection."""
        found = None
        for rule in self.rules:
            if event["hook_event_name"] not in rule["events"] or event.get("tool_name") not in rule["tools"]:
                continue
            value = (event.get("tool_input") or {}).get(rule["field"])
            text = value if isinstance(value, str) else json.dumps(value)
            if not rule["matches"].search(text):
                continue
            if rule["decision"] == "deny":
                found = rule
                break
            found = found or rule
        if found is None:
            return {}, None
        return {"decision": found["decision"], "reason": found["reason"]}, found["name"]


class Policy:
    """Rules that can be replaced while events are judged."""

    def __init__(self, path):
        self.path = path
        self.rules = self._read()

    def _read(self):
        with open(self.path, encoding="utf-8") as file:
            return Rules(file.read())

    def reload(self):
        """Takes the file's rules over; one with a mistake changes nothing."""
        try:
            self.rules = self._read()
            say(f"rules: {len(self.rules.rules)} from {self.path}")
        except (OSError, ValueError) as error:
            say(f"rules: kept, because {self.path} can't be used: {error}")


class Handler(BaseHTTPRequestHandler):
    """One connection, which is kept for many events."""

    protocol_version = "HTTP/1.1"
    server_version = "policy-service"
    sys_version = ""
    # Headers and body leave in one packet.
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = 75

    def do_GET(self):
        """For load balancers."""
        status, answer = (200, {"ok": True}) if self.path == "/healthz" else (404, {"error": "not found"})
        self._send(503 if self.server.leaving.is_set() else status, answer)

    def do_POST(self):
        started = time.perf_counter()
        status, answer, audit = self._judge()
        self._send(status, answer)
        took = round((time.perf_counter() - started) * 1000, 3)
        self.server.audit({"status": status, "ms": took, "from": self.client_address[0], **audit})

    def _judge(self):
        body = self._body()
        if body is None:
            self.close_connection = True
            return 413, {"error": f"a body of at most {LARGEST_BODY} bytes, with its length"}, {}
        if self.path.split("?")[0] != "/hook":
            return 404, {"error": "not found"}, {}
        if not self._is_allowed():
            return 401, {"error": "a token is needed"}, {}
        try:
            event = json.loads(body)
            event["hook_event_name"] + event.get("session_id", "")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return 400, {"error": "expected an event as a hook gets it"}, {}
        # What was judged, never what it held: names and ids only.
        audit = {key: event.get(key) for key in ("session_id", "hook_event_name", "tool_name")}
        try:
            answer, rule = self.server.policy.rules.judge(event)
        except Exception as error:  # whatever it is, it is no yes
            return 500, {"error": "the rules failed"}, {**audit, "error": repr(error)}
        return 200, answer, {**audit, "decision": answer.get("decision", "allow"), "rule": rule}

    def _body(self):
        length = self.headers.get("content-length", "")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return None
        body = self.rfile.read(int(length))
        return body if len(body) == int(length) else None

    def _is_allowed(self):
        token = self.server.token
        sent = self.headers.get("authorization", "")
        return token is None or hmac.compare_digest(sent.encode(), f"Bearer {token}".encode())

    def _send(self, status, answer):
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if self.server.leaving.is_set():
            self.send_header("connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_):
        """The audit log says more, and less."""


class Service(ThreadingHTTPServer):
    """Listens; with `shared`, several processes at the same port."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address, policy, token, audit_file, tls=None, shared=False):
        self.policy, self.token, self.audit_file, self.shared = policy, token, audit_file, shared
        self.leaving = threading.Event()
        self.lock = threading.Lock()
        super().__init__(address, Handler)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def server_bind(self):
        if self.shared:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        super().server_bind()

    def handle_error(self, request, client_address):
        """Somebody hung up in the middle: no news."""

    def audit(self, record):
        """One line of JSON per event."""
        line = json.dumps({"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **record}) + "\n"
        with self.lock:
            self.audit_file.write(line)
            self.audit_file.flush()


def say(text):
    print(text, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description="judges the events of agents by a file of rules")
    parser.add_argument("--rules", default=os.path.join(os.path.dirname(__file__), "rules.json"))
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8437)
    parser.add_argument("--audit", help="append the audit log to this file (default: stdout)")
    parser.add_argument("--certificate", help="serve TLS with this PEM file …")
    parser.add_argument("--key", help="… and this key")
    parser.add_argument("--shared", action="store_true", help="let other processes listen at the same port (Linux)")
    options = parser.parse_args()
    token = os.environ.get("POLICY_TOKEN") or None
    if token is None and options.host not in ("127.0.0.1", "::1", "localhost"):
        parser.error("POLICY_TOKEN is needed where others can reach the service")
    tls = None
    if options.certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(options.certificate, options.key)
    try:
        policy = Policy(options.rules)
    except (OSError, ValueError) as error:
        parser.error(f"{options.rules}: {error}")
    audit = open(options.audit, "a", encoding="utf-8") if options.audit else sys.stdout
    service = Service((options.host, options.port), policy, token, audit, tls, options.shared)

    def leave(*_):
        # The load balancer hears of it first, whoever is being served is served.
        service.leaving.set()
        threading.Thread(target=lambda: (time.sleep(0.5), service.shutdown())).start()

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGHUP, lambda *_: policy.reload())
    say(f"listening on {'https' if tls else 'http'}://{options.host}:{service.server_address[1]}/hook")
    service.serve_forever(poll_interval=0.1)


if __name__ == "__main__":
    main()
