#!/usr/bin/env python3
"""A real Prometheus reads a master and a worker that have certificates, by a token and by a certificate, as docs/monitoring has it; it goes on when
the certificates are renewed, and is refused when the token is revoked.

prometheus_secure_test.py BIN DOCS    exit code 77 where there is no prometheus (Debian's package of that name)
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
from waiting import until  # noqa: E402

BIN, DOCS = map(os.path.abspath, sys.argv[1:3])
if not shutil.which("prometheus"):
    print("skipped: there is no prometheus; apt-get install prometheus")
    sys.exit(77)


def security(*words):
    return subprocess.run([BIN + "/weft", "security", *words], check=True, capture_output=True, text=True).stdout


def printed_page(path, what):
    return until(lambda: re.search(r"https://([^/]+)/", open(path).read()), what)[1]


def start(scratch, started, name, *words):
    started.append(subprocess.Popen([BIN + "/weft", *words], stdout=open(f"{scratch}/{name}", "w")))


def configuration(scratch, page, worker):
    """That of the documentation, with the addresses of this test; the worker is read by a certificate."""
    text = open(DOCS + "/monitoring/prometheus-secure.yaml").read()
    by_certificate = re.search(r"tls_config: ({ ca_file.*cert_file.*})", text)[1]
    text = text.replace("127.0.0.1:7078", page).replace("127.0.0.1:7080", worker).replace("scrape_interval: 5s", "scrape_interval: 1s")
    first, second = text.split("  - job_name: weft_workers")
    second = second.replace("    authorization: { credentials_file: weft/token }\n", "").replace("{ ca_file: weft/ca.crt }", by_certificate)
    with open(scratch + "/prometheus.yaml", "w") as file:
        file.write(first.replace("rule_files: [alerts.yaml]\n", "") + "  - job_name: weft_workers" + second)


def main(scratch, started):
    certificates = scratch + "/certificates"
    security("init", certificates, "--user", "monitor", "--host", "127.0.0.1")
    shutil.copytree(security("token", "issue", certificates, "--user", "monitor", "--ttl", "1h").strip(), scratch + "/weft")
    shutil.copy(certificates + "/monitor/identity.pem", scratch + "/weft/identity.pem")
    start(scratch, started, "master", "master", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--port-file", scratch + "/port", "--security",
          certificates + "/master")
    page = printed_page(scratch + "/master", "the master's page")
    master = until(lambda: os.path.exists(scratch + "/port") and open(scratch + "/port").read().strip(), "the master's port")
    start(scratch, started, "worker", "worker", "--master", master, "--name", "w1", "--slots", "3", "--directory", scratch + "/work", "--http",
          "127.0.0.1:0", "--security", certificates + "/worker")
    configuration(scratch, page, printed_page(scratch + "/worker", "the worker's metrics"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        at = "127.0.0.1:%d" % free.getsockname()[1]
    started.append(subprocess.Popen(["prometheus", "--config.file", scratch + "/prometheus.yaml", "--storage.tsdb.path", scratch + "/tsdb",
                                     "--web.listen-address", at, "--log.level", "error"], cwd=scratch))

    def ask(path):
        try:
            with urllib.request.urlopen(f"http://{at}{path}", timeout=10) as answer:
                return json.loads(answer.read())["data"]
        except OSError:
            return None

    def value(expression):
        found = ask("/api/v1/query?query=" + urllib.parse.quote(expression))
        return found["result"][0]["value"][1] if found and found["result"] else None

    def errors():
        return {target["labels"]["job"]: target["lastError"] for target in (ask("/api/v1/targets") or {"activeTargets": []})["activeTargets"]}

    until(lambda: value('up{job="weft"}') == "1" and value("weft_slots") == "3", "Prometheus to read the master")
    until(lambda: value('up{job="weft_workers"}') == "1", "Prometheus to read the worker")
    security("rotate", certificates, "--all")
    before = float(value("process_cpu_seconds_total") or 0)
    until(lambda: float(value("process_cpu_seconds_total") or 0) > before and value('up{job="weft"}') == "1", "figures after the renewal")
    security("token", "revoke", certificates, "--user", "monitor")
    until(lambda: value('up{job="weft"}') == "0" and "401" in errors().get("weft", ""), "Prometheus to be refused")
    if value('up{job="weft_workers"}') != "1":
        sys.exit(f"FAILED: the certificate of the same user is refused, too: {errors()}")
    print("ok: Prometheus reads by a token and by a certificate, and is refused when the token is revoked")


SCRATCH, STARTED = tempfile.mkdtemp(prefix="weft-prometheus-"), []
try:
    main(SCRATCH, STARTED)
finally:
    for one in reversed(STARTED):
        one.terminate()
    for one in STARTED:
        one.wait(30)
    shutil.rmtree(SCRATCH, ignore_errors=True)
