#!/usr/bin/env python3
"""A real Prometheus reads a real master and a real worker: what it stores is what they say, the alert rules fire when they should, and the
rules and the dashboard name only what there is and can be asked.

prometheus_test.py BIN DOCS    exit code 77 where there is no prometheus (Debian's package of that name)
"""
import json, os, re, shutil, signal, subprocess, sys, tempfile, time, urllib.parse, urllib.request

sys.dont_write_bytecode = True
from waiting import until  # noqa: E402

bin_dir, docs = map(os.path.abspath, sys.argv[1:3])
if not (shutil.which("prometheus") and shutil.which("promtool")):
    print("skipped: there is no prometheus; apt-get install prometheus")
    sys.exit(77)


def get(url):
    try:
        return urllib.request.urlopen(url, timeout=10).read().decode()
    except OSError:
        return ""


scratch = tempfile.mkdtemp(prefix="weft-prometheus-")
started = []
try:
    rules = docs + "/monitoring/alerts.yaml"
    subprocess.run(["promtool", "check", "rules", rules], check=True, stdout=subprocess.DEVNULL)
    cases = open(os.path.dirname(os.path.abspath(__file__)) + "/alerts_test.yaml").read()
    open(scratch + "/alerts_test.yaml", "w").write(cases.replace("alerts.yaml", rules))
    subprocess.run(["promtool", "test", "rules", scratch + "/alerts_test.yaml"], check=True, stdout=subprocess.DEVNULL)
    untested = [name for name in re.findall(r"alert: (\w+)", open(rules).read()) if "alertname: " + name not in cases]
    assert not untested, f"alerts_test.yaml lacks {untested}"
    out = open(scratch + "/master", "w+")
    started.append(subprocess.Popen([bin_dir + "/weft", "master", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                                     "--port-file", scratch + "/port", "--data-dir", scratch + "/data"], stdout=out))
    page = until(lambda: re.search(r"http://([^/]+)/", open(scratch + "/master").read()), "the master")[1]
    master = until(lambda: os.path.exists(scratch + "/port") and open(scratch + "/port").read().strip(), "its port")
    started.append(subprocess.Popen([bin_dir + "/weft", "worker", "--master", master, "--name", "w1", "--slots", "3",
                                     "--directory", scratch + "/work", "--http", "127.0.0.1:0"], stdout=open(scratch + "/worker", "w")))
    worker = until(lambda: re.search(r"http://([^/]+)/", open(scratch + "/worker").read()), "the worker's metrics")[1]
    until(lambda: 'weft_workers{state="ready"} 1\n' in get(f"http://{page}/metrics"), "the worker")
    config = open(docs + "/monitoring/prometheus.yaml").read().replace("127.0.0.1:7078", page).replace("127.0.0.1:7080", worker).replace("scrape_interval: 5s", "scrape_interval: 1s\n  evaluation_interval: 1s")
    config = config.replace("alerts.yaml", docs + "/monitoring/alerts.yaml")
    open(scratch + "/prometheus.yaml", "w").write(config)
    subprocess.run(["promtool", "check", "config", scratch + "/prometheus.yaml"], check=True, stdout=subprocess.DEVNULL)
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
    until(lambda: query('up{job="weft_workers"}') and query('up{job="weft_workers"}')[0]["value"][1] == "1", "Prometheus to read the worker")
    until(lambda: query("weft_self_memory_bytes") and float(query("weft_self_memory_bytes")[0]["value"][1]) > 0, "the worker's memory")
    served = set(re.findall(r"^# TYPE (\S+)", get(f"http://{page}/metrics") + get(f"http://{worker}/metrics"), re.M))
    families = served | {name + "_total" for name in served}
    for path in ("alerts.yaml", "grafana.json"):
        named = set(re.findall(r"\b(weft_\w+|process_\w+)", open(f"{docs}/monitoring/{path}").read()))
        assert named <= families, f"{path} names {named - families}"
    page_text = open(docs + "/monitoring.md").read()
    missing = [name for name in served if name not in page_text]
    assert not missing, f"monitoring.md lacks {missing}"
    for target in json.loads(get(f"http://{at}/api/v1/targets"))["data"]["activeTargets"]:
        assert not target["lastError"], target["lastError"]

    # Everything that a person looks at can be asked, and all that is served comes in.
    asked = [target["expr"] for panel in json.load(open(docs + "/monitoring/grafana.json"))["panels"] for target in panel.get("targets", [])]
    assert asked, "the dashboard asks nothing"
    for expression in asked:
        answer = get(f"http://{at}/api/v1/query?query=" + urllib.parse.quote(re.sub(r"\$\w+", "1m", expression)))
        assert answer and json.loads(answer)["status"] == "success", expression
    stored = set(json.loads(get(f"http://{at}/api/v1/label/__name__/values"))["data"])
    lost = [name for name in served if not {name, name + "_total"} & stored and re.search(rf"^{name}(_total)?[ {{]", get(f"http://{page}/metrics"), re.M)]
    assert not lost, f"Prometheus did not store {lost}"

    # An alert in earnest: the worker is killed.
    alerts = lambda: {alert["labels"]["alertname"] for alert in json.loads(get(f"http://{at}/api/v1/alerts"))["data"]["alerts"]}
    assert "WeftWorkersLost" not in alerts(), alerts()
    started[1].kill()
    started[1].wait()
    until(lambda: query('weft_workers{state="dead"}') and query('weft_workers{state="dead"}')[0]["value"][1] == "1", "the loss to be stored")
    for group in json.loads(get(f"http://{at}/api/v1/rules"))["data"]["groups"]:
        for rule in group["rules"]:
            assert rule["health"] in ("ok", "unknown"), rule
    until(lambda: "WeftWorkersLost" in alerts(), "the alert that a worker is lost")
    print("ok:", len(served), "families,", len(asked), "queries of the dashboard")
finally:
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in started:
        process.wait(30)
    shutil.rmtree(scratch, ignore_errors=True)
