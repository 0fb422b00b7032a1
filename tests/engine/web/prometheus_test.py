#!/usr/bin/env python3
"""A real Prometheus reads a real master: what it stores is what the master says, and the rules and the dashboard name only what there is.

prometheus_test.py BIN DOCS    exit code 77 where there is no prometheus (Debian's package of that name)
"""
import json, os, re, shutil, signal, subprocess, sys, tempfile, time, urllib.parse, urllib.request

bin_dir, docs = sys.argv[1:3]
if not (shutil.which("prometheus") and shutil.which("promtool")):
    print("skipped: there is no prometheus; apt-get install prometheus")
    sys.exit(77)


def until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    sys.exit("FAILED: waited for " + what)


def get(url):
    try:
        return urllib.request.urlopen(url, timeout=10).read().decode()
    except OSError:
        return ""


scratch = tempfile.mkdtemp(prefix="weft-prometheus-")
started = []
try:
    subprocess.run(["promtool", "check", "rules", docs + "/monitoring/alerts.yaml"], check=True, stdout=subprocess.DEVNULL)
    out = open(scratch + "/master", "w+")
    started.append(subprocess.Popen([bin_dir + "/weft", "master", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                                     "--port-file", scratch + "/port", "--data-dir", scratch + "/data"], stdout=out))
    page = until(lambda: re.search(r"http://([^/]+)/", open(scratch + "/master").read()), "the master")[1]
    master = until(lambda: os.path.exists(scratch + "/port") and open(scratch + "/port").read().strip(), "its port")
    started.append(subprocess.Popen([bin_dir + "/weft", "worker", "--master", master, "--name", "w1", "--slots", "3",
                                     "--directory", scratch + "/work"]))
    until(lambda: 'weft_workers{state="ready"} 1\n' in get(f"http://{page}/metrics"), "the worker")
    config = open(docs + "/monitoring/prometheus.yaml").read().replace("127.0.0.1:7078", page).replace("5s", "1s")
    config = config.replace("alerts.yaml", docs + "/monitoring/alerts.yaml")
    open(scratch + "/prometheus.yaml", "w").write(config)
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        at = "127.0.0.1:%d" % free.getsockname()[1]
    started.append(subprocess.Popen(["prometheus", "--config.file", scratch + "/prometheus.yaml", "--storage.tsdb.path", scratch + "/tsdb",
                                     "--web.listen-address", at, "--log.level", "error"]))

    def query(expression):
        answer = get(f"http://{at}/api/v1/query?query=" + urllib.parse.quote(expression))
        return json.loads(answer)["data"]["result"] if answer else []

    until(lambda: query('up{job="weft"}') and query('up{job="weft"}')[0]["value"][1] == "1", "Prometheus to read the master")
    assert query("weft_slots")[0]["value"][1] == "3", query("weft_slots")
    assert query('weft_worker_slots{worker="w1"}')[0]["value"][1] == "3"
    assert query("weft_files")[0]["value"][1] == "0"
    served = set(re.findall(r"^# TYPE (\S+)", get(f"http://{page}/metrics"), re.M))
    families = served | {name + "_total" for name in served}
    for path in ("alerts.yaml", "grafana.json"):
        named = set(re.findall(r"\b(weft_\w+|process_\w+)", open(f"{docs}/monitoring/{path}").read()))
        assert named <= families, f"{path} names {named - families}"
    page_text = open(docs + "/monitoring.md").read()
    missing = [name for name in served if name not in page_text]
    assert not missing, f"monitoring.md lacks {missing}"
    for target in json.loads(get(f"http://{at}/api/v1/targets"))["data"]["activeTargets"]:
        assert not target["lastError"], target["lastError"]
    print("ok:", len(served), "families")
finally:
    for process in started:
        process.send_signal(signal.SIGTERM)
    for process in started:
        process.wait(30)
    shutil.rmtree(scratch, ignore_errors=True)
