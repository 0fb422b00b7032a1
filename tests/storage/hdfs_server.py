#!/usr/bin/env python3
"""HDFS by WebHDFS in memory, for tests: two NameNodes, a datanode, and what goes wrong with them.

  hdfs_server.py          listens on free ports of loopback, prints those of both NameNodes, and runs until it is killed

POST /-/set with JSON changes how it behaves from then on: busy, cut, lose (shares of requests: 503, answers cut off in the middle, done
and not answered), lose_next (the op whose next request is done and not answered), standby (NameNodes, "0 1"), safe_mode, no_writes (safe mode for so many requests that write), redirect, deny (a user),
dead (a datanode that is not there comes first), old (as Hadoop 2), page (entries a page), block (bytes), grow (a file that is written to
when it is read first), seed. GET /-/state tells what there is: files, directories, requests, busied, cut, lost, most_under_way.
PUT /-/file/PATH stores a file."""
import json
import posixpath
import random
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SETTINGS = {"busy": 0.0, "cut": 0.0, "lose": 0.0, "lose_next": "", "standby": "1", "safe_mode": False, "no_writes": 0, "redirect": False, "deny": "", "dead": False,
            "old": False, "page": 1000, "block": 1 << 20, "grow": "", "token": "", "seed": 1}


class State:
    def __init__(self):
        self.lock = threading.RLock()
        self.settings = dict(SETTINGS)
        self.random = random.Random(1)
        self.nodes = {"/": None}  # path: None for a directory, else (bytes, time, id)
        self.time = 1767225600000
        self.next_id = 16386
        self.requests = self.busied = self.cut = self.lost = self.under_way = self.most_under_way = 0


STATE = State()
PORTS = {}


class Refusal(Exception):
    def __init__(self, status, name, message):
        super().__init__(message)
        self.status, self.name, self.message = status, name, message


def parents(path):
    while path != "/":
        path = posixpath.dirname(path)
        yield path


def store(path, data):
    for parent in parents(path):
        STATE.nodes.setdefault(parent, None)
    STATE.time += 1000
    STATE.next_id += 1
    STATE.nodes[path] = (data, STATE.time, STATE.next_id)


def below(path):
    prefix = path.rstrip("/") + "/"
    return [p for p in STATE.nodes if p.startswith(prefix)]


def status_of(path, suffix=""):
    node = STATE.nodes[path]
    data, time, number = (b"", STATE.time, 1) if node is None else node
    return {"accessTime": 0, "blockSize": STATE.settings["block"], "fileId": number, "length": len(data), "modificationTime": time,
            "owner": "weft", "pathSuffix": suffix, "permission": "644", "type": "DIRECTORY" if node is None else "FILE"}


def need(path):
    if path not in STATE.nodes:
        raise Refusal(404, "FileNotFoundException", "File does not exist: " + path)
    return STATE.nodes[path]


def move(source, target):
    for old in [source] + below(source):
        STATE.nodes[target + old[len(source):]] = STATE.nodes.pop(old)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=(), kind="application/json", cut=False):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.wfile.flush()
            self.close_connection = True

    def answer_json(self, value, status=200, cut=False):
        self.answer(status, json.dumps(value).encode(), cut=cut)

    def body(self):
        if "chunked" not in (self.headers.get("Transfer-Encoding") or ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while True:
            line = self.rfile.readline()
            if not line:
                raise ConnectionError
            size = int(line.split(b";")[0], 16)
            parts.append(self.rfile.read(size))
            self.rfile.readline()
            if size == 0:
                return b"".join(parts)

    def handle_any(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path.startswith("/-/"):
            return self.control(url.path)
        settings = STATE.settings
        with STATE.lock:
            STATE.requests += 1
            STATE.under_way += 1
            STATE.most_under_way = max(STATE.most_under_way, STATE.under_way)
            draw = STATE.random.random()
            busy = draw < settings["busy"]
            cut = not busy and draw < settings["busy"] + settings["cut"]
            lose = not busy and not cut and draw < settings["busy"] + settings["cut"] + settings["lose"]
            STATE.busied += busy
            STATE.cut += cut
            STATE.lost += lose
        try:
            if busy:
                self.close_connection = True
                return self.answer(503, b"busy", kind="text/plain")
            query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
            if not url.path.startswith("/webhdfs/v1"):
                return self.answer(404, b"<html>not found</html>", kind="text/html")
            path = urllib.parse.unquote(url.path[len("/webhdfs/v1"):]) or "/"
            with STATE.lock:
                if settings["lose_next"] and query.get("op") == settings["lose_next"]:
                    settings["lose_next"] = ""
                    STATE.lost += not lose
                    lose = True
            if lose:
                self.wfile = open("/dev/null", "wb")
                self.close_connection = True
            if self.server.role == "datanode":
                return self.data(path, query, cut)
            return self.name(path, query, cut)
        except Refusal as refusal:
            self.answer_json({"RemoteException": {"exception": refusal.name, "javaClassName": "org." + refusal.name,
                                                  "message": refusal.message + "\n\tat org.apache.hadoop"}}, refusal.status)
        except ConnectionError:
            self.close_connection = True
        finally:
            with STATE.lock:
                STATE.under_way -= 1
        return None

    do_GET = do_PUT = do_POST = do_DELETE = handle_any

    def control(self, path):
        body = self.body()
        if path == "/-/set":
            changes = json.loads(body)
            STATE.settings.update(changes)
            if "seed" in changes:
                STATE.random.seed(changes["seed"])
        elif path.startswith("/-/file/"):
            store(urllib.parse.unquote(path[len("/-/file"):]), body)
        with STATE.lock:
            files = {p: len(n[0]) for p, n in STATE.nodes.items() if n is not None}
            self.answer_json({"files": files, "directories": sorted(p for p, n in STATE.nodes.items() if n is None), "requests": STATE.requests,
                              "busied": STATE.busied, "cut": STATE.cut, "lost": STATE.lost, "most_under_way": STATE.most_under_way})

    def name(self, path, query, cut):
        settings = STATE.settings
        self.body()
        if settings["redirect"]:
            return self.answer(307, headers=[("Location", self.path)])
        if str(self.server.number) in settings["standby"].split():
            raise Refusal(403, "StandbyException", "Operation category READ is not supported in state standby")
        if settings["token"] and query.get("delegation") != settings["token"]:
            raise Refusal(401, "SecurityException", "Failed to obtain user group information: token is missing")
        if query.get("user.name", "") == settings["deny"] and settings["deny"]:
            raise Refusal(403, "AccessControlException", "Permission denied: user=%s, access=WRITE" % settings["deny"])
        op = query.get("op", "")
        if settings["old"] and op in ("LISTSTATUS_BATCH", "GETFILEBLOCKLOCATIONS"):
            raise Refusal(400, "IllegalArgumentException", 'Invalid value for webhdfs parameter "op": %s' % op)
        if self.command != "GET":
            with STATE.lock:
                waiting = settings["no_writes"] > 0
                settings["no_writes"] -= waiting
            if settings["safe_mode"] or waiting:
                raise Refusal(403, "SafeModeException", "Cannot do it. Name node is in safe mode.")
        if op in ("OPEN", "CREATE"):
            return self.redirect(path, query, op)
        with STATE.lock:
            value = getattr(self, "do_" + op.lower())(path, query)
        if value is None:
            return self.answer(200, kind="application/octet-stream")
        return self.answer_json(value, cut=cut)

    def redirect(self, path, query, op):
        if op == "OPEN":
            with STATE.lock:
                node = need(path)
                if node is None or int(query.get("offset", 0)) > len(node[0]):
                    raise Refusal(403, "IOException", "Offset=%s out of the range" % query.get("offset"))
        host = "127.0.0.1"
        if STATE.settings["dead"] and "127.0.0.2" not in query.get("excludedatanodes", ""):
            host = "127.0.0.2"
        location = "http://%s:%d%s" % (host, PORTS["datanode"], self.path)
        if query.get("noredirect") == "true" and not STATE.settings["old"]:
            return self.answer_json({"Location": location})
        return self.answer(307, headers=[("Location", location)])

    def do_getfilestatus(self, path, _):
        need(path)
        return {"FileStatus": status_of(path)}

    def names(self, path):
        if need(path) is not None:
            return [""]
        depth = path.rstrip("/").count("/") + 1
        return sorted(posixpath.basename(p) for p in below(path) if p.count("/") == depth)

    def do_liststatus(self, path, _):
        return {"FileStatuses": {"FileStatus": [status_of(posixpath.join(path, n) if n else path, n) for n in self.names(path)]}}

    def do_liststatus_batch(self, path, query):
        left = [n for n in self.names(path) if n > query.get("startAfter", "") or not n]
        page = left[: STATE.settings["page"]]
        entries = [status_of(posixpath.join(path, n) if n else path, n) for n in page]
        return {"DirectoryListing": {"partialListing": {"FileStatuses": {"FileStatus": entries}}, "remainingEntries": len(left) - len(page)}}

    def do_getfileblocklocations(self, path, _):
        size, block = len(need(path)[0]), STATE.settings["block"]
        blocks = [{"offset": at, "length": min(block, size - at), "corrupt": False, "cachedHosts": [], "storageTypes": ["DISK"],
                   "hosts": ["h%d" % (at // block % 3 + 1), "h%d" % ((at // block + 1) % 3 + 1)],
                   "names": ["10.0.0.%d:9866" % (at // block % 3 + 1)]} for at in range(0, size, block)]
        return {"BlockLocations": {"BlockLocation": blocks}}

    def do_mkdirs(self, path, _):
        for part in [path, *parents(path)]:
            if STATE.nodes.setdefault(part, None) is not None:
                raise Refusal(403, "ParentNotDirectoryException", part + " is not a directory")
        return {"boolean": True}

    def do_delete(self, path, _):
        found = path in STATE.nodes
        for one in [path] + below(path):
            STATE.nodes.pop(one, None)
        return {"boolean": found}

    def do_rename(self, path, query):
        target = query["destination"]
        options = "" if STATE.settings["old"] else query.get("renameoptions", "")
        if path not in STATE.nodes:
            if not options:
                return {"boolean": False}
            raise Refusal(404, "FileNotFoundException", "rename source %s is not found." % path)
        if posixpath.dirname(target) not in STATE.nodes:
            raise Refusal(404, "FileNotFoundException", "rename destination parent of %s not found." % target)
        there = target in STATE.nodes
        if not options:  # into a directory, and onto nothing else
            if there and STATE.nodes[target] is None:
                target = posixpath.join(target, posixpath.basename(path))
            if target in STATE.nodes:
                return {"boolean": False}
            move(path, target)
            return {"boolean": True}
        if there and (options == "NONE" or below(target) or (STATE.nodes[target] is None) != (STATE.nodes[path] is None)):
            raise Refusal(403, "FileAlreadyExistsException", "rename destination %s already exists" % target)
        move(path, target)
        return None

    def data(self, path, query, cut):
        if query.get("op") == "CREATE":
            if cut:
                self.rfile.read(1)
                self.close_connection = True
                return None
            data = self.body()
            with STATE.lock:
                if query.get("createparent") == "false" and STATE.nodes.get(posixpath.dirname(path), b"") is not None:
                    raise Refusal(404, "FileNotFoundException", "Parent directory doesn't exist: " + posixpath.dirname(path))
                if any(STATE.nodes.get(parent) is not None for parent in parents(path)):
                    raise Refusal(403, "ParentNotDirectoryException", "A parent of %s is not a directory" % path)
                store(path, data)
            return self.answer(201, headers=[("Location", "hdfs://localhost" + urllib.parse.quote(path))])
        with STATE.lock:
            data = need(path)[0]
            if STATE.settings["grow"] == path:
                STATE.settings["grow"] = ""
                store(path, data + b"more\n")
        begin = int(query.get("offset", 0))
        return self.answer(200, data[begin: begin + int(query.get("length", len(data)))], kind="application/octet-stream", cut=cut)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, role, number=0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.role, self.number = role, number

    def handle_error(self, *_):  # a client that went away
        pass


def main():
    servers = [Server("namenode", 0), Server("namenode", 1), Server("datanode")]
    PORTS["datanode"] = servers[2].server_address[1]
    for server in servers[1:]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(servers[0].server_address[1], servers[1].server_address[1], flush=True)
    servers[0].serve_forever()


main()
