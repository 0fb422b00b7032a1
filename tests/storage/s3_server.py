#!/usr/bin/env python3
"""An S3 service in memory, for tests: checks signatures, pages its lists, and fails as it is told. Beside it the services that give keys.

  s3_server.py [CERTIFICATE KEY]   listens on a free port of loopback (TLS with a certificate), prints it, and runs until it is killed

POST /-/set with JSON changes how it behaves from then on: slow_down, cut (shares of requests), page (keys a page), region, token (of the
first keys), skew (seconds), forbid (methods), redirect, ignore_ranges, no_etags, plain (keys in lists are not encoded), directories (HEAD finds an empty object where keys have a slash), public (read without a signature), seed; outage_at (a
number of requests: with it all connections end, and nobody listens for outage seconds); hold (methods that wait until it says otherwise); lifetime (seconds that given keys are good for),
lose (what the next request begins with, "PUT /books/key", that is done and not answered), refuse (what requests begin with that are refused after that),
late (words of errors that completions of uploads are answered with, each once, as 200), most (requests that are answered from now on: others are refused, as if their client was killed; -1: all), identity (the token that proves it), container (what a container shows), role (of the instance), sts (the word of a refusal), expire (now).
GET /-/listed tells the prefixes that were listed.
GET /-/state tells what there is: objects, uploads, requests, slowed, cut, outages, held (requests that wait), given (keys, by who
gave them).
PUT /-/object/KEY stores an object of the bucket "books" without a signature. PUT /-/huge/KEY stores one that claims as many bytes as the
body says: lines of 64 bytes that end with their number, made when they are read. What is uploaded below huge/ is counted and forgotten."""
import base64
import hashlib
import hmac
import json
import random
import socket
import ssl
import sys
import threading
import time
import urllib.parse
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

ACCESS, SECRET, BUCKET = "AKIAWEFT", "secret/of+weft", "books"
EMPTY = {"slow_down": 0.0, "cut": 0.0, "page": 1000, "region": "us-east-1", "token": "", "skew": 0, "forbid": "", "redirect": False, "most": -1,
         "lose": "", "refuse": "", "late": "", "plain": False,
         "ignore_ranges": False, "no_etags": False, "directories": False, "public": False, "seed": 1, "outage_at": 0, "outage": 1.0, "hold": "", "lifetime": 3600, "identity": "",
         "container": "", "role": "", "sts": ""}
SECRETS = {ACCESS: (SECRET, None, None)}  # by access key: the secret, the token and when it expires


class State:
    def __init__(self):
        self.lock = threading.Lock()
        self.settings = dict(EMPTY)
        self.random = random.Random(1)
        self.objects = {}  # key: (bytes or Lines, etag)
        self.uploads = {}  # id: (key, {number: (bytes, etag, checksum)}, its x-amz-meta-weft-upload)
        self.names = {}  # of the uploads that objects were made by, by key
        self.requests = self.slowed = self.cut = self.next = self.under_way = self.most_under_way = self.outages = self.held = 0
        self.released = threading.Condition(self.lock)
        self.given = {"sts": 0, "container": 0, "instance": 0}
        self.listed = []  # prefixes
        self.connections = set()


STATE = State()


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return base64.b64encode((crc ^ 0xFFFFFFFF).to_bytes(4, "big")).decode()


def quoted(text, safe="-_.~"):
    return urllib.parse.quote(text, safe=safe)


class Lines:
    """Content that is not kept: lines of 64 bytes that end with their number."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, bounds):
        first, last = bounds.start or 0, min(self.size if bounds.stop is None else bounds.stop, self.size)
        lines = b"".join(b"%063d\n" % number for number in range(first // 64, (last + 63) // 64))
        return lines[first % 64:first % 64 + last - first]


class Refusal(Exception):
    def __init__(self, status, word, message="", **more):
        super().__init__(word)
        self.status, self.word, self.message, self.more = status, word, message, more


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=(), length=None, cut=False):
        self.send_response_only(status)
        self.send_header("Date", formatdate(time.time() + STATE.settings["skew"], usegmt=True))
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.wfile.flush()
            self.close_connection = True

    def refuse(self, refusal):
        more = "".join(f"<{k}>{escape(v)}</{k}>" for k, v in refusal.more.items())
        body = f"<?xml version='1.0'?><Error><Code>{refusal.word}</Code><Message>{escape(refusal.message)}</Message>{more}</Error>"
        headers = [("x-amz-bucket-region", STATE.settings["region"])] if "Region" in refusal.more else []
        if refusal.status == 503:
            headers.append(("Retry-After", "60"))  # as MinIO says, whatever the reason
        self.answer(refusal.status, body.encode(), headers)

    def setup(self):
        super().setup()
        with STATE.lock:
            STATE.connections.add(self.connection)

    def finish(self):
        with STATE.lock:
            STATE.connections.discard(self.connection)
        super().finish()

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        raw_path, _, raw_query = self.path.partition("?")
        if raw_path.startswith("/-/"):
            return self.control(raw_path, body)
        if raw_path == "/" and self.command == "POST":
            return self.web_identity(dict(urllib.parse.parse_qsl(body.decode())))
        if raw_path == "/keys/container":
            return self.container()
        if raw_path.startswith("/latest/"):
            return self.instance(raw_path)
        with STATE.lock:
            STATE.requests += 1
            if STATE.settings["outage_at"] and STATE.requests >= STATE.settings["outage_at"]:
                STATE.settings["outage_at"] = 0
                STATE.outages += 1
                threading.Thread(target=self.server.shutdown).start()
            STATE.under_way += 1
            STATE.most_under_way = max(STATE.most_under_way, STATE.under_way)
            draw = STATE.random.random()
            slow = draw < STATE.settings["slow_down"]
            cut = not slow and draw < STATE.settings["slow_down"] + STATE.settings["cut"]
            STATE.slowed += slow
            STATE.cut += cut
            line = f"{self.command} {self.path}"
            lost = bool(STATE.settings["lose"]) and line.startswith(STATE.settings["lose"])
            if lost:
                STATE.settings["lose"] = ""
            refuse = not lost and bool(STATE.settings["refuse"]) and line.startswith(STATE.settings["refuse"])
        try:
            with STATE.lock:
                STATE.held += 1
                STATE.released.wait_for(lambda: self.command not in STATE.settings["hold"].split())
                STATE.held -= 1
            if STATE.settings["redirect"]:
                return self.answer(307, b"", [("Location", self.path)])
            with STATE.lock:
                refused = refuse or STATE.settings["most"] == 0
                STATE.settings["most"] -= STATE.settings["most"] > 0
            if refused:
                raise Refusal(403, "AccessDenied", "Killed.")
            if slow:
                raise Refusal(503, "SlowDown", "Please reduce your request rate.")
            self.check_signature(raw_path, raw_query)
            if lost or cut and self.command != "GET":  # done, and the answer is lost
                self.act(raw_path, raw_query, body, lose=True)
                self.close_connection = True
                return None
            return self.act(raw_path, raw_query, body, cut=cut)
        except Refusal as refusal:
            return self.refuse(refusal)
        finally:
            with STATE.lock:
                STATE.under_way -= 1

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def give_keys(self, whom):
        """Of the next role session."""
        with STATE.lock:
            STATE.given[whom] += 1
            number = sum(STATE.given.values())
            expires = time.time() + STATE.settings["lifetime"]
            access, secret, token = "ASIA%d" % number, "secret %d" % number, "token/%d+=" % number
            SECRETS[access] = (secret, token, expires)
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(expires + STATE.settings["skew"]))
        return access, secret, token, end

    def web_identity(self, form):
        settings = STATE.settings
        word = settings["sts"]
        if not word and (form.get("Action"), form.get("Version")) != ("AssumeRoleWithWebIdentity", "2011-06-15"):
            word = "InvalidAction"
        if not word and form.get("WebIdentityToken") != settings["identity"]:
            word = "InvalidIdentityToken"
        if not word and (form.get("RoleArn"), form.get("RoleSessionName")) != ("arn:aws:iam::1:role/reader", "me@weft"):
            word = "AccessDenied"
        if word:
            text = f"<ErrorResponse xmlns='https://sts.amazonaws.com/doc/2011-06-15/'><Error><Type>Sender</Type><Code>{word}</Code><Message>Not so.</Message></Error></ErrorResponse>"
            return self.answer(403 if word == "AccessDenied" else 400, text.encode())
        access, secret, token, end = self.give_keys("sts")
        text = (f"<AssumeRoleWithWebIdentityResponse xmlns='https://sts.amazonaws.com/doc/2011-06-15/'><AssumeRoleWithWebIdentityResult><Credentials>"
                f"<AccessKeyId>{access}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey><SessionToken>{token}</SessionToken>"
                f"<Expiration>{end}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>")
        return self.answer(200, text.encode())

    def keys_as_json(self, whom):
        access, secret, token, end = self.give_keys(whom)
        return json.dumps({"Code": "Success", "AccessKeyId": access, "SecretAccessKey": secret, "Token": token, "Expiration": end,
                           "Other": [1, {"a": None}]}).encode()

    def container(self):
        if self.headers.get("Authorization") != STATE.settings["container"]:
            return self.answer(403, b"no")
        return self.answer(200, self.keys_as_json("container"))

    def instance(self, path):
        if path == "/latest/api/token":
            good = self.command == "PUT" and int(self.headers.get("X-aws-ec2-metadata-token-ttl-seconds") or 0) > 0
            return self.answer(200, b"session==") if good else self.answer(400)
        roles = "/latest/meta-data/iam/security-credentials/"
        if self.headers.get("X-aws-ec2-metadata-token") != "session==":
            return self.answer(401)
        if path == roles and STATE.settings["role"]:
            return self.answer(200, STATE.settings["role"].encode())
        if STATE.settings["role"] and path == roles + STATE.settings["role"]:
            return self.answer(200, self.keys_as_json("instance"))
        return self.answer(404)

    def control(self, path, body):
        if path == "/-/set":
            changes = json.loads(body)
            with STATE.lock:
                STATE.settings.update(changes)
                STATE.released.notify_all()
            if "seed" in changes:
                STATE.random.seed(changes["seed"])
            if "expire" in changes:  # all that were given until now
                SECRETS.update((name, (keys[0], keys[1], 1)) for name, keys in SECRETS.items() if keys[2])
        elif path == "/-/listed":
            return self.answer(200, json.dumps(STATE.listed).encode())
        elif path.startswith("/-/object/"):
            store(urllib.parse.unquote(path[len("/-/object/"):]), body)
        elif path.startswith("/-/huge/"):
            STATE.objects[urllib.parse.unquote(path[len("/-/huge/"):])] = (Lines(int(body)), '"huge"')
        state = {"objects": {k: len(v[0]) for k, v in STATE.objects.items()}, "uploads": [u[0] for u in STATE.uploads.values()],
                 "requests": STATE.requests, "slowed": STATE.slowed, "cut": STATE.cut, "most_under_way": STATE.most_under_way, "outages": STATE.outages, "held": STATE.held,
                 "given": STATE.given}
        self.answer(200, json.dumps(state).encode())

    def check_signature(self, raw_path, raw_query):
        """As the documentation of AWS Signature Version 4 says."""
        settings = STATE.settings
        fields = dict(part.strip().split("=", 1) for part in self.headers.get("Authorization", "").partition(" ")[2].split(",") if "=" in part)
        if not fields:
            if settings["public"] and self.command in ("GET", "HEAD"):
                return
            raise Refusal(403, "AccessDenied", "no signature")
        access, day, region, service, _ = fields["Credential"].split("/")
        if access not in SECRETS:
            raise Refusal(403, "InvalidAccessKeyId")
        secret, token, expires = SECRETS[access]
        token = token or settings["token"]
        if expires and time.time() >= expires or token and self.headers.get("x-amz-security-token") != token:
            raise Refusal(400, "ExpiredToken", "The provided token has expired.")
        if region != settings["region"]:
            raise Refusal(400, "AuthorizationHeaderMalformed", "the region is wrong", Region=settings["region"])
        if abs(settings["skew"]) > 900:
            raise Refusal(403, "RequestTimeTooSkewed")
        names = fields["SignedHeaders"].split(";")
        headers = "".join(f"{n}:{' '.join((self.headers.get(n) or '').split())}\n" for n in names)
        query = "&".join(f"{quoted(k)}={quoted(v)}" for k, v in sorted(urllib.parse.parse_qsl(raw_query, keep_blank_values=True)))
        path = quoted(urllib.parse.unquote(raw_path), "/-_.~")
        content = self.headers.get("x-amz-content-sha256") or ""
        request = "\n".join([self.command, path, query, headers, ";".join(names), content])
        scope = "/".join([day, region, service, "aws4_request"])
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers.get("x-amz-date") or "", scope, hashlib.sha256(request.encode()).hexdigest()])
        key = ("AWS4" + secret).encode()
        for part in (day, region, service, "aws4_request", text):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        if not hmac.compare_digest(key.hex(), fields["Signature"]) or not content:
            raise Refusal(403, "SignatureDoesNotMatch")
        if settings["forbid"] and self.command in settings["forbid"].split():
            raise Refusal(403, "AccessDenied", "Access Denied.")

    def act(self, raw_path, raw_query, body, cut=False, lose=False):
        host = (self.headers.get("Host") or "").partition(".localhost")[0]
        where = urllib.parse.unquote(raw_path)[1:]
        bucket, _, key = where.partition("/") if host == (self.headers.get("Host") or "") else (host, "", where)
        query = dict(urllib.parse.parse_qsl(raw_query, keep_blank_values=True))
        if bucket != BUCKET:
            raise Refusal(404, "NoSuchBucket")
        with STATE.lock:
            status, answer, headers, length = self.done(key, query, body)
        if not lose:
            self.answer(status, answer, headers, length, cut)

    def done(self, key, query, body):
        if self.command in ("GET", "HEAD"):
            if "uploadId" in query:
                return list_parts(query)
            if "uploads" in query:
                return list_uploads(query)
            return list_objects(query) if not key else self.read(key)
        if self.command == "PUT" and self.headers.get("x-amz-checksum-crc32c") and len(body) < 100_000:
            if crc32c(body) != self.headers["x-amz-checksum-crc32c"]:
                raise Refusal(400, "XAmzContentChecksumMismatch")
        if self.command == "PUT" and "uploadId" in query:
            etag = '"%s"' % hashlib.md5(body[:1000] if key.startswith("huge/") else body).hexdigest()
            if key.startswith("huge/"):
                body = Lines(len(body))
            upload(query["uploadId"])[1][int(query["partNumber"])] = (body, etag, self.headers.get("x-amz-checksum-crc32c"))
            return 200, b"", [("ETag", etag)], None
        if self.command == "PUT":
            return 200, b"", [("ETag", store(key, body))], None
        if self.command == "POST" and "uploads" in query:
            STATE.next += 1
            name = "upload/%d.+=" % STATE.next
            STATE.uploads[name] = (key, {}, self.headers.get("x-amz-meta-weft-upload"))
            return 200, f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>".encode(), [], None
        if self.command == "POST" and STATE.settings["late"]:
            word, _, STATE.settings["late"] = STATE.settings["late"].partition(" ")
            raise Refusal(200, word)
        if self.command == "POST":
            parts = upload(query["uploadId"])[1]
            small = [n for n in sorted(parts)[:-1] if len(parts[n][0]) < 5 << 20]
            if small or body.count(b"<Part>") != len(parts) or any(p[1].strip('"').encode() not in body for p in parts.values()):
                raise Refusal(200, "InvalidPart")  # as S3 does when it notices late
            if key.startswith("huge/"):
                STATE.objects[key] = (Lines(sum(len(part[0]) for part in parts.values())), '"huge-%d"' % len(parts))
            else:
                store(key, b"".join(parts[n][0] for n in sorted(parts)), "-%d" % len(parts))
            STATE.names[key] = upload(query["uploadId"])[2]
            del STATE.uploads[query["uploadId"]]
            return 200, b"<CompleteMultipartUploadResult/>", [], None
        if "uploadId" in query:
            upload(query["uploadId"])
            del STATE.uploads[query["uploadId"]]
        else:
            STATE.objects.pop(key, None)
        return 204, b"", [], None

    def read(self, key):
        if key not in STATE.objects:
            if STATE.settings["directories"] and self.command == "HEAD" and any(k.startswith(key + "/") for k in STATE.objects):
                return 200, b"", [("ETag", '"directory"'), ("Content-Type", "application/x-directory")], 0
            raise Refusal(404, "NoSuchKey")
        data, etag = STATE.objects[key]
        if self.headers.get("If-Match", etag) != etag:
            raise Refusal(412, "PreconditionFailed")
        headers = [] if STATE.settings["no_etags"] else [("ETag", etag)]
        if self.command == "HEAD":
            if STATE.names.get(key):
                headers.append(("x-amz-meta-weft-upload", STATE.names[key]))
            return 200, b"", headers, len(data)
        bounds = self.headers.get("Range")
        if not bounds or STATE.settings["ignore_ranges"]:
            return 200, data, headers, None
        first, last = bounds[len("bytes="):].split("-")
        if int(first) >= len(data):
            raise Refusal(416, "InvalidRange")
        part = data[int(first):int(last) + 1]
        headers.append(("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"))
        return 206, part, headers, None


def upload(name):
    if name not in STATE.uploads:
        raise Refusal(404, "NoSuchUpload")
    return STATE.uploads[name]


def store(key, data, suffix=""):
    etag = '"%s%s"' % (hashlib.md5(data).hexdigest(), suffix)
    STATE.objects[key] = (data, etag)
    STATE.names.pop(key, None)
    return etag


def listed(name):
    return escape(name) if STATE.settings["plain"] else urllib.parse.quote_plus(name, safe="/")


def encoding():
    return "" if STATE.settings["plain"] else "<EncodingType>url</EncodingType>"


def list_objects(query):
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    STATE.listed.append(prefix)
    after, most = query.get("continuation-token", ""), min(int(query.get("max-keys", 1000)), STATE.settings["page"])
    rows, seen, last = [], set(), ""
    truncated = False
    for key in sorted(k for k in STATE.objects if k.startswith(prefix)):
        cut = key.find(delimiter, len(prefix)) if delimiter else -1
        name = key if cut < 0 else key[: cut + 1]
        if name <= after or name in seen:
            continue
        if len(rows) == most:
            truncated = True
            break
        seen.add(name)
        last = name
        shown = listed(name)
        data, etag = STATE.objects[key]
        rows.append(f"<CommonPrefixes><Prefix>{shown}</Prefix></CommonPrefixes>" if cut >= 0 else
                    f"<Contents><Key>{shown}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified>"
                    f"<ETag>{escape(etag)}</ETag><Size>{len(data)}</Size></Contents>")
    more = f"<NextContinuationToken>{escape(last)}</NextContinuationToken>" if truncated else ""
    text = (f"<ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'><IsTruncated>{str(truncated).lower()}</IsTruncated>"
            f"{encoding()}{more}{''.join(rows)}</ListBucketResult>")
    return 200, text.encode(), [], None


def list_parts(query):
    parts = upload(query["uploadId"])[1]
    after, most = int(query.get("part-number-marker", 0)), min(int(query.get("max-parts", 1000)), STATE.settings["page"])
    left = [n for n in sorted(parts) if n > after]
    rows = "".join(f"<Part><PartNumber>{n}</PartNumber><Size>{len(parts[n][0])}</Size><ETag>{escape(parts[n][1])}</ETag></Part>"
                   for n in left[:most])
    return 200, f"<ListPartsResult><IsTruncated>{str(len(left) > most).lower()}</IsTruncated>{rows}</ListPartsResult>".encode(), [], None


def list_uploads(query):
    most = min(int(query.get("max-uploads", 1000)), STATE.settings["page"])
    after = (query.get("key-marker", ""), query.get("upload-id-marker", ""))
    left = sorted((u[0], name) for name, u in STATE.uploads.items() if u[0].startswith(query.get("prefix", "")) and (u[0], name) > after)
    rows = "".join(f"<Upload><Key>{listed(k)}</Key><UploadId>{n}</UploadId></Upload>" for k, n in left[:most])
    more = "".join(f"<NextKeyMarker>{listed(k)}</NextKeyMarker><NextUploadIdMarker>{n}</NextUploadIdMarker>"
                   for k, n in left[most - 1:most]) if len(left) > most else ""
    text = f"<ListMultipartUploadsResult><IsTruncated>{str(len(left) > most).lower()}</IsTruncated>{encoding()}{more}{rows}</ListMultipartUploadsResult>"
    return 200, text.encode(), [], None


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, *_):  # a client that went away
        pass


def main():
    guard = socket.socket()  # keeps the port during an outage
    guard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    guard.bind(("127.0.0.1", 0))
    port = guard.getsockname()[1]
    told = False
    while True:
        server = Server(("127.0.0.1", port), Handler)
        if len(sys.argv) == 3:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*sys.argv[1:])
            server.socket = context.wrap_socket(server.socket, server_side=True)
        if not told:
            print(port, flush=True)
        told = True
        server.serve_forever(poll_interval=0.02)
        server.server_close()  # an outage
        with STATE.lock:
            for connection in STATE.connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        time.sleep(STATE.settings["outage"])


main()
