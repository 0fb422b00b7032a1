#!/usr/bin/env python3
"""The Leases and Secrets of a Kubernetes API server, for tests: GET, POST and PUT as the real one does them, with versions.

  lease_server.py STATE [PORT]    listens on that port of loopback, or on a free one, prints it, and runs until it is killed; keeps objects in STATE

POST /-/set with JSON changes how it behaves from then on: token (that clients need; empty: none), deny (who has the token may not use them),
conflicts (so many of the next requests that replace something find that somebody else has changed it), broken (the name of an object
that cannot be replaced).
GET /-/state tells what there is. PUT /-/lease/NAMESPACE/NAME stores an object as it is, DELETE removes it."""
import base64
import json
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATH = re.compile(r"/(?:apis/coordination\.k8s\.io|api)/v1/namespaces/([^/]+)/(leases|secrets)(?:/([^/]+))?$")
GROUPS = {"leases": "leases.coordination.k8s.io", "secrets": "secrets"}
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
NAMESPACES = ("default", "weft")
SETTINGS = {"token": "", "deny": False, "conflicts": 0, "broken": ""}
LOCK = threading.Lock()
STATE = {"version": 100, "objects": {}}


class Refusal(Exception):
    def __init__(self, status, reason, message):
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


def new_version():
    STATE["version"] += 1
    return str(STATE["version"])


def save():
    """A kill leaves the old file or the new one."""
    with open(sys.argv[1] + ".new", "w") as file:
        json.dump(STATE, file)
    os.rename(sys.argv[1] + ".new", sys.argv[1])


def checked_secret(body, namespace):
    """What the real one checks of a Secret."""
    try:
        secret = json.loads(body)
    except ValueError as error:
        raise Refusal(400, "BadRequest", str(error)) from error
    if secret.get("kind") != "Secret" or secret.get("apiVersion") != "v1":
        raise Refusal(400, "BadRequest", "the object provided is unrecognized")
    if secret.get("metadata", {}).get("namespace", namespace) != namespace:
        raise Refusal(400, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request")
    for name, value in secret.get("data", {}).items():
        if not re.fullmatch(r"[-._a-zA-Z0-9]+", name):
            raise Refusal(422, "Invalid", f"data[{name}]: Invalid value")
        base64.b64decode(value, validate=True)
    return secret


def checked(body, namespace):
    """What the real one checks of a Lease."""
    try:
        lease = json.loads(body)
    except ValueError as error:
        raise Refusal(400, "BadRequest", str(error)) from error
    if lease.get("kind") != "Lease" or lease.get("apiVersion") != "coordination.k8s.io/v1":
        raise Refusal(400, "BadRequest", "the object provided is unrecognized")
    metadata, spec = lease.get("metadata", {}), lease.get("spec", {})
    if metadata.get("namespace", namespace) != namespace:
        raise Refusal(400, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request")
    for name in ("acquireTime", "renewTime"):
        if name in spec and not MICRO_TIME.match(spec[name]):
            raise Refusal(400, "BadRequest", f"{name} is no MicroTime")
    if spec.get("leaseDurationSeconds", 1) <= 0 or spec.get("leaseTransitions", 0) < 0:
        raise Refusal(422, "Invalid", "spec: Invalid value")
    for value in metadata.get("annotations", {}).values():
        if not isinstance(value, str):
            raise Refusal(400, "BadRequest", "annotations are texts")
    return lease


def key_of(kind, namespace, name):
    return f"{namespace}/{name}" if kind == "leases" else f"{kind}/{namespace}/{name}"


def create(lease, kind, namespace):
    name = lease["metadata"]["name"]
    key = key_of(kind, namespace, name)
    if lease["metadata"].get("resourceVersion"):
        raise Refusal(400, "BadRequest", "resourceVersion should not be set on objects to be created")
    if key in STATE["objects"]:
        raise Refusal(409, "AlreadyExists", f'{GROUPS[kind]} "{name}" already exists')
    lease["metadata"].update({"namespace": namespace, "resourceVersion": new_version(), "uid": f"uid-{STATE['version']}"})
    STATE["objects"][key] = lease
    return 201, lease


def replace(lease, kind, key):
    old = STATE["objects"].get(key)
    if old is None:
        raise Refusal(404, "NotFound", f'{GROUPS[kind]} "{key}" not found')
    if SETTINGS["broken"] and key.endswith("/" + SETTINGS["broken"]):
        raise Refusal(500, "InternalError", "etcdserver: request timed out")
    if SETTINGS["conflicts"] > 0:
        SETTINGS["conflicts"] -= 1
        old["metadata"]["resourceVersion"] = new_version()
    version = lease["metadata"].get("resourceVersion")
    if version and version != old["metadata"]["resourceVersion"]:
        raise Refusal(409, "Conflict", f'Operation cannot be fulfilled on {GROUPS[kind]} "{key}": the object has been modified')
    lease["metadata"].update({"uid": old["metadata"]["uid"], "resourceVersion": new_version()})
    STATE["objects"][key] = lease
    return 200, lease


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, content):
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def control(self, body):
        if self.path == "/-/set":
            SETTINGS.update(json.loads(body))
        elif self.path.startswith("/-/lease/"):
            key = self.path[len("/-/lease/"):]
            version = new_version()
            if self.command == "DELETE":
                STATE["objects"].pop(key, None)
            else:
                lease = json.loads(body)
                lease.setdefault("metadata", {})["resourceVersion"] = version
                lease["metadata"].setdefault("uid", "by-hand")
                STATE["objects"][key] = lease
        return 200, STATE

    def serve(self, body):
        match = PATH.match(self.path)
        if not match:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        if SETTINGS["token"] and self.headers.get("Authorization") != f"Bearer {SETTINGS['token']}":
            raise Refusal(401, "Unauthorized", "Unauthorized")
        namespace, kind, name = match.groups()
        if SETTINGS["deny"]:
            raise Refusal(403, "Forbidden", GROUPS[kind] + ' is forbidden: User "system:serviceaccount:weft:default"')
        key = key_of(kind, namespace, name)
        check = checked if kind == "leases" else checked_secret
        if self.command == "POST" and name is None:
            if namespace not in NAMESPACES:
                raise Refusal(404, "NotFound", f'namespaces "{namespace}" not found')
            return create(check(body, namespace), kind, namespace)
        if self.command == "PUT" and name is not None:
            return replace(check(body, namespace), kind, key)
        if self.command == "GET" and name is not None:
            if key not in STATE["objects"]:
                raise Refusal(404, "NotFound", f'{GROUPS[kind]} "{name}" not found')
            return 200, STATE["objects"][key]
        raise Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with LOCK:
            try:
                status, content = self.control(body) if self.path.startswith("/-/") else self.serve(body)
                save()
            except Refusal as refusal:
                status = refusal.status
                content = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": refusal.message,
                           "reason": refusal.reason, "code": status}
        self.answer(status, content)

    do_GET = do_POST = do_PUT = do_DELETE = handle_any


def main():
    if os.path.exists(sys.argv[1]):
        with open(sys.argv[1]) as file:
            STATE.update(json.load(file))
    ThreadingHTTPServer.allow_reuse_address = True
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


main()
