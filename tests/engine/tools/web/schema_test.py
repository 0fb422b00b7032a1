#!/usr/bin/env python3
"""Every operation of the REST interface on a real cluster: what it answers is what its schema in /api/v1/openapi.json says, no member more or
less, and what is asked for wrongly is refused with an Error. Programs are submitted, stopped, and end with their master.

schema_test.py BIN
"""
import http.client, json, os, re, shutil, signal, subprocess, sys, tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../../support")
from waiting import until  # noqa: E402

bin_dir = os.path.abspath(sys.argv[1])
scratch = tempfile.mkdtemp(prefix="weft-schema-")
started, called, page = [], set(), None
CHANGES = {"X-Weft": "1"}


def ask(method, path, body=None, headers=None):
    """The status and the JSON."""
    connection = http.client.HTTPConnection(page, timeout=30)
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
    try:
        connection.request(method, "/api/v1" + path, body, {**({"Content-Type": "application/json"} if body is not None else {}), **(headers or {})})
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused before all of the body was sent: the answer is there
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text else None


def mismatch(value, schema, schemas, at="answer"):
    """What of the value is not as the schema says; nothing when all is. Members that the schema does not name are wrong, too: it lacks them."""
    if "$ref" in schema:
        return mismatch(value, schemas[schema["$ref"].rsplit("/", 1)[1]], schemas, at)
    if value is None:
        return None if schema.get("nullable") else f"{at} is null"
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
    kind = schema["type"]
    if not isinstance(value, kinds[kind]) or (kind in ("integer", "number") and isinstance(value, bool)):
        return f"{at} is no {kind}: {value!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at} is none of {schema['enum']}: {value!r}"
    if kind == "array":
        return next(filter(None, (mismatch(item, schema["items"], schemas, f"{at}[{i}]") for i, item in enumerate(value))), None)
    if kind != "object":
        return None
    missing = [name for name in schema.get("required", []) if name not in value]
    if missing:
        return f"{at} lacks {missing}"
    if "properties" not in schema and "additionalProperties" not in schema:
        return None
    for name, member in value.items():
        of = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        wrong = f"{at}.{name} is not in the schema" if of is None else mismatch(member, of, schemas, f"{at}.{name}")
        if wrong:
            return wrong
    return None


def expect(method, template, names=(), query="", body=None, status=200):
    """Asks, checks the answer, and returns it."""
    path = template
    for name in names:
        path = re.sub(r"\{\w+\}", name, path, count=1)
    got, answer = ask(method, path + query, body, CHANGES if method != "GET" else None)
    assert got == status, f"{method} {path}{query}: {got} {answer}"
    operation = document["paths"][template][method.lower()]
    schema = operation["responses"]["200" if status == 200 else "default"]["content"]["application/json"]["schema"]
    wrong = mismatch(answer, schema, document["components"]["schemas"])
    assert not wrong, f"{method} {path}{query}: {wrong}"
    if status == 200:
        called.add((method.lower(), template))
    return answer


def refused(method, path, status, body=None, headers=None):
    got, answer = ask(method, path, body, headers)
    assert got == status, f"{method} {path} {str(body)[:80]}: {got} {answer}, not {status}"
    if method != "HEAD":
        wrong = mismatch(answer, {"$ref": "#/Error"}, document["components"]["schemas"])
        assert not wrong and "\n" not in answer["error"], f"{method} {path}: {wrong} {answer}"


def start(*words, out):
    started.append(subprocess.Popen([f"{bin_dir}/{words[0]}", *words[1:]], stdout=open(f"{scratch}/{out}", "w"), stderr=subprocess.STDOUT))
    return started[-1]


def start_master(*options):
    number = len(started)
    process = start("weft", "master", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--port-file", f"{scratch}/port{number}", *options, out=f"master{number}")
    where = until(lambda: re.search(r"http://([^/]+)/", open(f"{scratch}/master{number}").read()), "the master")[1]
    until(lambda: os.path.exists(f"{scratch}/port{number}") and open(f"{scratch}/port{number}").read().strip(), "its port")
    return process, where, open(f"{scratch}/port{number}").read().strip()


def program_of(pid):
    """Empty when the process has ended, which it may do between any two calls."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as words:
            return words.read().split(b"\0")[0]
    except OSError:
        return b""


def weft(*words):
    subprocess.run([bin_dir + "/weft", *words, "--master", master], check=True, capture_output=True, timeout=60)


def job(*words, ok=True):
    done = subprocess.run([f"{bin_dir}/{words[0]}", *words[1:], "--quiet", "--cluster", master], capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == ok, done.stderr


def everything():
    """Each operation once, at least, with something in its answer."""
    job("cluster_probe", "sums", "--records", "20000", "--deadline", "1h")
    job("cluster_probe", "bad", "--max-bad-records", "100%")
    job("cluster_probe", "throw", ok=False)
    marker = scratch + "/spins"
    spinning = start("cluster_probe", "spin", "--marker", marker, "--tasks", "40", "--shuffle-replicas", "2", "--pool", "a", "--quiet", "--cluster", master, out="spin")
    until(lambda: os.path.exists(marker), "a task")
    weft("fs", "put", "--replication", "1", f"{scratch}/text", "/text")
    weft("table", "create", "users", "--partitions", "2", "--replication", "1")

    jobs = expect("GET", "/jobs")
    assert [each["state"] for each in jobs] == ["finished", "finished", "failed", "running"], jobs
    for number in "1234":
        for part in ("", "/counters", "/logs", "/tasks", "/findings", "/trace", "/shuffle", "/path", "/runs", *(("/explain",) if number == "4" else ())):
            expect("GET", "/jobs/{job}" + part, [number])
    assert expect("GET", "/past", query="?span=day")["span"] == "day"
    assert expect("GET", "/jobs/{job}/tasks", "3", "?fate=failed&count=1")["tasks"], "no attempt failed"
    assert expect("GET", "/jobs/{job}/shuffle", "1", "?by=rack")["bytes"], "no shuffle"
    assert expect("GET", "/jobs/{job}/findings", "3")[0]["kind"] == "user_code"
    for path in ("/masters", "/nodes", "/racks", "/pools", "/pools/past", "/queues", "/scheduler", "/files", "/files/report", "/tables", "/openapi.json"):
        expect("GET", path)
    assert expect("GET", "/files", query="?path=/text")[0]["bytes"] == 7
    chunks = expect("GET", "/files/chunks", query="?path=/text")["chunks"]
    assert [(each["state"], each["bytes"], len(each["workers"])) for each in chunks] == [("healthy", 7, 1)], chunks
    expect("GET", "/tables/{table}", ["users"])

    assert expect("DELETE", "/jobs/{job}", "4", "?reason=enough") == {"id": 4, "killed": True}
    assert spinning.wait(30) != 0
    for method in ("POST", "DELETE"):
        expect(method, "/nodes/{worker}/drain", ["w1"])
    expect("POST", "/nodes/{worker}/capacity", ["w1"], body={"capacity": "slots=1", "reason": "a test"})
    expect("POST", "/nodes/{worker}/capacity", ["w1"], body={"capacity": "nominal"})
    assert expect("POST", "/scheduler", body={"scheduler": "fair"})["scheduler"] == "fair"
    expect("POST", "/scheduler/reload")


def advice():
    """What the jobs above would have done under other schedulers."""
    assert expect("GET", "/advice") == {"state": "none"}
    refused("POST", "/advice", 400, {"span": "yesterday"}, CHANGES)
    refused("POST", "/advice", 400, {"span": "-1h"}, CHANGES)
    assert expect("POST", "/advice", body={"span": "6h"})["span_seconds"] == 21600
    refused("POST", "/advice", 409, {}, CHANGES)
    answered = until(lambda: (said := expect("GET", "/advice"))["state"] != "running" and said, "the answer", 180)
    assert answered["state"] == "answered", answered
    assert answered["advice"]["present"].startswith("fair") and len(answered["advice"]["candidates"]) > 5, answered
    assert answered["advice"]["accuracy"]["jobs"] >= 1, answered
    said = answered["advice"]["warnings"]
    assert said and not any("--" in one for one in said), f"a page has no options of the command line: {said}"
    assert len(answered["advice"]["remedies"]) == len(said), answered


def submissions():
    refused("POST", "/submissions", 400, {"program": "../weft"}, CHANGES)
    refused("POST", "/submissions", 400, {"program": ".hidden"}, CHANGES)
    refused("POST", "/submissions", 400, {"program": ""}, CHANGES)
    refused("POST", "/submissions", 400, {"program": "wordcount", "arguments": "--input"}, CHANGES)
    refused("POST", "/submissions", 400, {"program": "wordcount", "arguments": ["x"] * 1001}, CHANGES)
    refused("POST", "/submissions", 400, {"program": "wordcount", "arguments": ["a\0b"]}, CHANGES)
    for program in ("none", "folder", "not_executable"):
        refused("POST", "/submissions", 404, {"program": program}, CHANGES)
    refused("POST", "/submissions", 403, {"program": "wordcount"}, {"Origin": "http://evil.example"})
    refused("POST", "/submissions", 403, "program=wordcount", {"Content-Type": "application/x-www-form-urlencoded"})
    refused("GET", "/submissions/1", 404)
    assert expect("GET", "/submissions") == []

    out = scratch + "/counts"
    answer = expect("POST", "/submissions", body={"program": "wordcount", "arguments": ["--input", scratch + "/text", "--output", out]})
    number = str(answer["submission"])
    ended = until(lambda: (said := expect("GET", "/submissions/{submission}", [number]))["state"] == "ended" and said, "the program's end")
    assert ended["exit_code"] == 0 and os.path.exists(out + "/_SUCCESS"), ended
    again = expect("POST", "/submissions", body={"program": "wordcount", "arguments": ["--input", scratch + "/text", "--output", out]})
    ended = until(lambda: (said := expect("GET", "/submissions/{submission}", [str(again["submission"])]))["state"] == "ended" and said, "its end")
    assert ended["exit_code"] == 1 and "--overwrite" in ended["output"], ended

    marker = scratch + "/waits"
    waits = lambda: str(expect("POST", "/submissions", body={"program": "cluster_probe", "arguments": ["spin", "--marker", marker]})["submission"])
    number = waits()
    until(lambda: os.path.exists(marker), "its task")
    expect("DELETE", "/submissions/{submission}", [number])
    ended = until(lambda: (said := expect("GET", "/submissions/{submission}", [number]))["state"] == "ended" and said, "the end that was asked for")
    assert ended["exit_code"] != 0, ended
    assert [each["submission"] for each in expect("GET", "/submissions")] == [1, 2, 3]
    waits()  # it ends with its master


def wrong():
    for method in ("PUT", "PATCH", "OPTIONS", "TRACE"):
        refused(method, "/jobs", 405)
    for template, operations in document["paths"].items():
        path = re.sub(r"\{\w+\}", "1", template)
        for method in {"GET", "POST", "DELETE"} - {name.upper() for name in operations}:
            refused(method, path, 405, headers=CHANGES)
        for method in {"POST", "DELETE"} & {name.upper() for name in operations}:
            refused(method, path, 403)  # without what a page of another server cannot send
    for path in ("", "/", "/job", "/jobs/", "/jobs/x", "/jobs/1/2", "/jobs/99", "/nodes/w1", "/tables/none", "/%00", "/%2e%2e/jobs", "/files/chunks?path=/none"):
        refused("GET", path, 404)
    posts = [path for path, operations in document["paths"].items() if "requestBody" in operations.get("post", {})]
    assert len(posts) >= 3, posts
    for template in posts:
        path = re.sub(r"\{\w+\}", "w1", template)
        for body in ("{", "[]", "3", "null", '"x"', "{} {}", '{"unknown":"x"}', '{"scheduler":1,"capacity":1,"program":1}', "[" * 100000, b"\xff\xfe"):
            refused("POST", path, 400, body)
        refused("POST", path, 413, "x" * (1 << 20) + "x")
    refused("GET", "/jobs/1/logs?bytes=many", 400)
    refused("GET", "/jobs/1/tasks?count=100001", 400)
    refused("GET", "/files/chunks?path=/", 400)
    refused("POST", "/scheduler", 400, {"scheduler": "no such"})
    refused("POST", "/nodes/nobody/capacity", 404, {"capacity": "slots=1"})
    refused("DELETE", "/jobs/99", 404, headers=CHANGES)


try:
    with open(scratch + "/text", "w") as file:
        file.write("to be \n")
    os.makedirs(scratch + "/programs/folder")
    for program in ("wordcount", "cluster_probe"):
        os.symlink(f"{bin_dir}/{program}", f"{scratch}/programs/{program}")
    open(scratch + "/programs/not_executable", "w").close()
    first, page, master = start_master("--event-log", scratch + "/events", "--data-dir", scratch + "/names", "--submit-dir", scratch + "/programs", "--scheduler", "fair")
    for name in ("w1", "w2"):
        start("weft", "worker", "--master", master, "--name", name, "--rack", "r" + name[1], "--slots", "2", "--directory", f"{scratch}/{name}", "--chunk-dir", f"{scratch}/chunks-{name}",
              "--stop-grace", "100ms", out=name + ".out")
    weft("node", "wait", "2")
    document = ask("GET", "/openapi.json")[1]
    everything()
    advice()
    submissions()
    wrong()
    operations = {(method, path) for path, methods in document["paths"].items() for method in methods}
    assert called == operations, f"not asked: {operations - called}"

    drivers = lambda: [pid for pid in os.listdir("/proc") if pid.isdigit() and program_of(pid).startswith(scratch.encode() + b"/programs/")]
    assert drivers(), "no driver runs"
    samples = len(until(lambda: (said := expect("GET", "/past")) and said["events"] and said, "a sample after the failure")["seconds_ago"])
    first.send_signal(signal.SIGTERM)
    assert first.wait(30) == 0
    until(lambda: not drivers(), "the drivers to end with their master")

    _, page, master = start_master("--data-dir", scratch + "/names")
    past = until(lambda: (said := expect("GET", "/past")) and len(said["seconds_ago"]) > samples and said, "the samples of the master before, and one more")
    assert [event["kind"] for event in past["events"]].count("job_failed") == 1, past["events"]
    refused("POST", "/submissions", 404, {"program": "wordcount"}, CHANGES)
    refused("GET", "/submissions", 404)
    print("ok:", len(operations), "operations")
finally:
    for process in started[::-1]:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in started:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
    shutil.rmtree(scratch, ignore_errors=True)
