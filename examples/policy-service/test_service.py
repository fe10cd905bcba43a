"""The service over real connections: python3 -m unittest (in this folder)."""

import http.client
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import service as policy_service

HERE = os.path.dirname(os.path.abspath(__file__))
RULES = os.path.join(HERE, "rules.json")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def event(tool="run_shell_command", **tool_input):
    return {"session_id": "s1", "hook_event_name": "BeforeTool", "tool_name": tool, "tool_input": tool_input}


class Judged(unittest.TestCase):
    def setUp(self):
        self.log = io.StringIO()
        self.service = policy_service.Service(
            ("127.0.0.1", 0), policy_service.Policy(RULES), "the-token", self.log
        )
        threading.Thread(target=self.service.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.client = http.client.HTTPConnection(*self.service.server_address, timeout=10)

    def tearDown(self):
        self.client.close()
        self.service.shutdown()
        self.service.server_close()

    def ask(self, body, token="the-token", path="/hook"):
        text = body if isinstance(body, (str, bytes)) else json.dumps(body)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.client.request("POST", path, text, headers)
        answer = self.client.getresponse()
        return answer.status, json.loads(answer.read())

    def decided(self, **tool_input):
        status, answer = self.ask(event(**tool_input))
        self.assertEqual(status, 200)
        return answer.get("decision")

    def test_rules_decide(self):
        for command, decision in [
            ("git push --force origin main", "deny"),
            ("git -C x push -f", "deny"),
            ("git push origin +main", "deny"),
            ("git push origin main", None),
            ("kubectl delete pod x", "ask"),
            ("git push --force && kubectl get pods", "deny"),
            ("ls", None),
        ]:
            self.assertEqual(self.decided(command=command), decision, command)
        for path, decision in [(".env", "deny"), ("a/.env.local", "deny"), ("a/key.pem", "deny"), ("env.py", None)]:
            self.assertEqual(self.decided(tool="read_file", file_path=path), decision, path)
        self.assertEqual(self.ask({"hook_event_name": "SessionStart"})[1], {})

    def test_what_is_no_event_is_an_error_and_no_yes(self):
        for body in ["", "{", "[]", "null", "5", '"x"', "{}", '{"hook_event_name": 5}', b"\xff\xfe", "[" * 100_000]:
            self.assertEqual(self.ask(body)[0], 400, body[:20])
        # An event whose fields are not what they should be.
        strange = {"hook_event_name": "BeforeTool", "tool_name": "read_file", "tool_input": "text"}
        self.assertEqual(self.ask(strange)[0], 500)
        self.assertEqual(self.ask(event(command=["git", "push", "--force"]))[1]["decision"], "deny")

    def test_only_who_has_the_token_is_answered(self):
        for token in [None, "", "the-tokem", "the-token2", "\xe4"]:
            self.assertEqual(self.ask(event(command="ls"), token)[0], 401, token)
        self.assertEqual(self.ask(event(command="ls"), path="/other")[0], 404)

    def test_the_log_tells_who_and_not_what(self):
        self.ask(event(command="git push --force https://user:hunter2@host"))
        deadline = time.monotonic() + 10
        while not self.log.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        line = json.loads(self.log.getvalue())
        self.assertEqual((line["decision"], line["rule"], line["session_id"]), ("deny", "no-force-push", "s1"))
        self.assertNotIn("hunter2", self.log.getvalue())

    def test_connections_are_kept(self):
        self.decided(command="ls")
        kept = self.client.sock
        for _ in range(20):
            self.decided(command="ls")
        self.assertIs(self.client.sock, kept)

    def test_a_body_without_a_length_or_beyond_all_measure_is_not_read(self):
        for length in ["", "x", "-1", str(policy_service.LARGEST_BODY + 1)]:
            client = http.client.HTTPConnection(*self.service.server_address, timeout=10)
            client.putrequest("POST", "/hook")
            if length:
                client.putheader("content-length", length)
            client.endheaders()
            self.assertEqual(client.getresponse().status, 413, length)
            client.close()

    def test_it_says_that_it_leaves(self):
        self.client.request("GET", "/healthz")
        answer = self.client.getresponse()
        self.assertEqual((answer.status, answer.read()), (200, b'{"ok": true}'))
        self.service.leaving.set()
        self.client.request("GET", "/healthz")
        answer = self.client.getresponse()
        self.assertEqual((answer.status, answer.getheader("connection")), (503, "close"))
        answer.read()
        self.assertEqual(self.decided(command="git push -f"), "deny")


class Rules(unittest.TestCase):
    def test_a_mistake_refuses_the_file(self):
        good = json.loads(read(RULES))["rules"][0]
        for wrong in [
            {**good, "decision": "allow"},
            {**good, "matches": "("},
            {**good, "tools": "run_shell_command"},
            {**good, "tool": []},
            {key: value for key, value in good.items() if key != "name"},
            [],
        ]:
            with self.assertRaises(ValueError):
                policy_service.Rules(json.dumps({"rules": [good, wrong]}))
        for text in ["", "[]", "{}", '{"rules": {}}']:
            with self.assertRaises(ValueError):
                policy_service.Rules(text)


class Program(unittest.TestCase):
    def start(self, rules, env=None):
        environment = {"PATH": os.environ.get("PATH", ""), **(env or {})}
        command = [sys.executable, os.path.join(HERE, "service.py"), "--port", "0", "--rules", rules]
        return subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
        )

    def test_rules_are_replaced_while_it_runs_and_a_mistake_changes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rules.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write('{"rules": []}')
            running = self.start(path)
            try:
                address = running.stderr.readline().split("//")[1].split("/")[0]

                def decided():
                    client = http.client.HTTPConnection(address, timeout=10)
                    client.request("POST", "/hook", json.dumps(event(command="git push -f")))
                    answer = json.loads(client.getresponse().read())
                    client.close()
                    return answer.get("decision")

                self.assertIsNone(decided())
                for text, said, decision in [
                    (read(RULES), "rules: 3", "deny"),
                    ("{", "rules: kept", "deny"),
                    ('{"rules": []}', "rules: 0", None),
                ]:
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                    running.send_signal(signal.SIGHUP)
                    self.assertIn(said, running.stderr.readline())
                    self.assertEqual(decided(), decision)
                running.send_signal(signal.SIGTERM)
                self.assertEqual(running.wait(timeout=20), 0)
            finally:
                running.kill()
                running.wait()
                running.stderr.close()

    def test_it_does_not_start_with_a_mistake_or_open_to_everybody(self):
        for arguments in [["--rules", "/no/such/file"], ["--host", "0.0.0.0"]]:
            command = [sys.executable, os.path.join(HERE, "service.py"), "--port", "0", *arguments]
            ended = subprocess.run(command, capture_output=True, text=True, env={}, timeout=30)
            self.assertEqual(ended.returncode, 2, ended.stderr)


if __name__ == "__main__":
    unittest.main()
