#!/usr/bin/env python3
"""Stands between clients and an HTTP server of loopback, for tests, and does what goes wrong between them.

  faulty_proxy.py PORT    forwards to that port, listens on a free one, prints it, and runs until it is killed

POST /-/set with JSON: {"match": "kv/txn", "fault": "lose", "count": 1}. So many requests whose "METHOD PATH" contains the text have the fault:
  refuse   the connection ends, and the server never sees the request
  lose     the server carries it out, and the connection ends without an answer
  hang     the server carries it out, and no answer comes
  hold     no answer comes, and the server gets the request only with POST /-/release, whose answer comes when it is carried out
  cut      the answer ends in the middle
  garbage  the answer is a page that some other server sends
  status   the server never sees the request; the answer has the status "status" and the body "body"
GET /-/state tells how many requests had a fault, and how many are held."""
import http.client
import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOCK = threading.Lock()
RULE = {"match": "", "fault": "", "count": 0, "status": 500, "body": ""}
HELD = []
COUNTS = {"faults": 0}


def take_fault(what):
    with LOCK:
        if RULE["count"] <= 0 or RULE["match"] not in what:
            return ""
        RULE["count"] -= 1
        COUNTS["faults"] += 1
        return RULE["fault"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def forward(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection", "content-length")}
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data

    def answer(self, status, data, announced=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data) if announced is None else announced))
        self.end_headers()
        self.wfile.write(data)

    def end(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the client was quicker

    def control(self, body):
        with LOCK:
            if self.path == "/-/set":
                RULE.update(json.loads(body))
            held = HELD[:]
            if self.path == "/-/release":
                HELD.clear()
        if self.path == "/-/release":
            for handler, held_body in held:
                handler.forward(held_body)
        self.answer(200, json.dumps(dict(COUNTS, held=len(held))).encode())

    def suffer(self, fault, body):
        if fault == "hold":
            with LOCK:
                HELD.append((self, body))
        if fault in ("hold", "hang"):
            if fault == "hang":
                self.forward(body)
            self.connection.settimeout(60)
            try:
                self.connection.recv(1)  # until the client gives up
            except OSError:
                pass
            return self.end()
        if fault == "refuse":
            return self.end()
        if fault == "status":
            return self.answer(RULE["status"], RULE["body"].encode())
        status, data = self.forward(body)
        if fault == "garbage":
            return self.answer(200, b"<html><body>Welcome!</body></html>")
        if fault == "cut":
            self.answer(status, data[:len(data) // 2], len(data))
        return self.end()

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/-/"):
            return self.control(body)
        fault = take_fault(f"{self.command} {self.path}")
        if fault:
            return self.suffer(fault, body)
        try:
            status, data = self.forward(body)
        except OSError:
            return self.end()
        return self.answer(status, data)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


main()
