#!/usr/bin/env python3
"""The Secrets with certificates that a cluster in Kubernetes makes for itself, without a Kubernetes: `weft security kubernetes` against a pretended
API server, a cluster of real processes with what it made, and, where there is Helm, what the chart gives to its pods.

  kubernetes_secrets_test.py BUILD
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
CHART = TREE + "/docker/kubernetes/chart"
ROLES = ("authority", "master", "worker", "user")


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


class Api:
    def __init__(self, scratch):
        self.process = subprocess.Popen([sys.executable, TREE + "/tests/engine/master/election/lease_server.py", scratch + "/objects"],
                                        stdout=subprocess.PIPE, text=True)
        self.url = "http://127.0.0.1:" + self.process.stdout.readline().strip()

    def ask(self, path, body=None):
        with urllib.request.urlopen(self.url + path, json.dumps(body).encode() if body is not None else None, timeout=30) as answer:
            return json.loads(answer.read())

    def secrets(self):
        """Their files, by their names."""
        objects = self.ask("/-/state")["objects"]
        return {key.rsplit("/", 1)[1]: {name: base64.b64decode(value) for name, value in secret["data"].items()}
                for key, secret in objects.items() if key.startswith("secrets/")}


class Certificates:
    def __init__(self, build, scratch):
        self.weft, self.scratch, self.api = build + "/bin/weft", scratch, Api(scratch)

    def run(self, *words, refused=None):
        done = subprocess.run([self.weft, "security", "kubernetes", "weft", "--kubernetes-server", self.api.url, "--kubernetes-namespace",
                               "weft", *words], capture_output=True, text=True, timeout=120, env={**os.environ, "TMPDIR": self.scratch})
        check((done.returncode == 0) == (refused is None), f"{words}: {done.stdout}{done.stderr}")
        check(refused is None or (refused in done.stderr and done.stderr.count("\n") == 1), f"refused with {done.stderr}")
        check("-----BEGIN" not in done.stdout + done.stderr, "a key was printed")
        check(not [name for name in os.listdir(self.scratch) if name.startswith("weft-security-")], "keys are left on the disk")
        return done.stdout

    def directory(self, secret):
        """As a pod has it."""
        path = f"{self.scratch}/mounted-{secret}"
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path, 0o700)
        for name, content in self.api.secrets()[secret].items():
            with open(os.open(f"{path}/{name}", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(content)
        return path


def made_once(certificates):
    said = certificates.run()
    made = certificates.api.secrets()
    check(sorted(made) == sorted("weft-" + role for role in ROLES), f"made {sorted(made)}: {said}")
    for role in ROLES:
        check(("ca.key" in made["weft-" + role]) == (role == "authority"), f"the authority's key is in the Secret of {role}")
    check(certificates.run() == "" and certificates.api.secrets() == made, "the second time there was something to do")
    return made


def renewed(certificates, made):
    certificates.run("--renew-before", "400")
    now = certificates.api.secrets()
    for role in ROLES[1:]:
        check(now["weft-" + role]["identity.pem"] != made["weft-" + role]["identity.pem"], f"{role} was not renewed")
        check(now["weft-" + role]["ca.crt"] == made["weft-" + role]["ca.crt"], f"{role} trusts another authority")
    certificates.api.ask("/-/set", {"conflicts": 2})
    said = certificates.run("--renew-before", "400")
    check(said.count("weft-worker") == 1, f"after a conflict: {said}")
    certificates.api.ask("/-/set", {"conflicts": 1000})
    certificates.run("--renew-before", "400", refused="change again and again")
    certificates.api.ask("/-/set", {"conflicts": 0})
    with_lost = certificates.api.secrets()
    check(sorted(with_lost) == sorted(now), "a Secret is lost")


def renewed_after_a_round_that_did_not_end(certificates):
    """Of a certificate that the authority has noted, and which never came into its Secret, nobody has anything."""
    certificates.run("--user", "late", "--days", "60", "--renew-before", "10")
    short = certificates.api.secrets()["weft-user-late"]["identity.pem"]
    certificates.api.ask("/-/set", {"broken": "weft-user-late"})
    certificates.run("--user", "late", refused="request timed out")
    certificates.api.ask("/-/set", {"broken": ""})
    certificates.run("--user", "late")
    long = certificates.api.secrets()["weft-user-late"]["identity.pem"]
    check(long != short, "the certificate that ends soon is still there")
    certificates.run("--user", "late")
    check(certificates.api.secrets()["weft-user-late"]["identity.pem"] == long, "it was renewed twice")


def refused(certificates):
    certificates.api.ask("/-/set", {"deny": True})
    certificates.run(refused="it needs a Role with the verbs get, create and update for the resource secrets")
    certificates.api.ask("/-/set", {"deny": False})
    certificates.run("--user", "Eve/x", refused="is no name of a Secret")
    certificates.run("--user", "worker", refused="worker is the name of a worker")
    certificates.run("--revoke", "nobody", refused="there is no valid certificate of nobody")
    objects = certificates.api.ask("/-/state")["objects"]
    authority = objects["secrets/weft/weft-authority"]
    key = "/-/lease/secrets/weft/weft-authority"
    urllib.request.urlopen(urllib.request.Request(certificates.api.url + key, method="DELETE"), timeout=30).close()
    certificates.run(refused="there is a Secret weft-master, but not the Secret weft-authority")
    urllib.request.urlopen(urllib.request.Request(certificates.api.url + key, json.dumps(authority).encode(), method="PUT"), timeout=30).close()


def cluster_works(certificates, build):
    """A master and a worker with what is in the Secrets, a user, and one who is put out while they run."""
    certificates.run("--user", "eve")
    paths = {role: certificates.directory("weft-" + role) for role in ("master", "worker", "user", "user-eve")}
    port = certificates.scratch + "/port"
    master = subprocess.Popen([build + "/bin/weft", "master", "--listen", "127.0.0.1:0", "--http", "none", "--port-file", port, "--security",
                               paths["master"]], stderr=subprocess.DEVNULL)
    worker = None
    try:
        def weft(user, *words):
            return subprocess.run([build + "/bin/weft", *words, "--master", open(port).read().strip(), "--security", paths[user]],
                                  capture_output=True, text=True, timeout=120)

        until(lambda: os.path.exists(port) and open(port).read().endswith("\n"), "the master listens")
        worker = subprocess.Popen([build + "/bin/weft", "worker", "--master", open(port).read().strip(), "--slots", "1", "--security",
                                   paths["worker"], "--directory", certificates.scratch + "/work"], stderr=subprocess.DEVNULL)
        done = weft("user", "node", "wait", "1", "--timeout", "60s")
        check(done.returncode == 0, f"the worker did not come: {done.stderr}")
        done = weft("user-eve", "node", "list")
        check(done.returncode == 0, f"eve is not answered: {done.stderr}")
        certificates.run("--revoke", "eve")
        certificates.directory("weft-master")
        until(lambda: "revoked" in weft("user-eve", "node", "list").stderr, "eve is put out")
        check(weft("user", "node", "list").returncode == 0, "the user is put out, too")
    finally:
        for process in (worker, master):
            if process:
                process.terminate()
                process.wait(60)


def until(condition, what):
    import time
    ends = time.monotonic() + 60
    while not condition():
        check(time.monotonic() < ends, f"not within a minute: {what}")
        time.sleep(0.05)


def chart():
    helm = shutil.which("helm") or os.environ.get("WEFT_KUBERNETES", "") + "/bin/helm"
    if not os.access(helm, os.X_OK):
        print("without Helm (scripts/counterparts --kubernetes builds it)")
        return
    import yaml

    def render(*options, refused=None):
        done = subprocess.run([helm, "template", "weft", CHART, "--kube-version", "1.31.0", *options], capture_output=True, text=True, timeout=120)
        check((done.returncode == 0) == (refused is None) and (refused or "") in done.stderr, f"{options}: {done.stderr}")
        return [one for one in yaml.safe_load_all(done.stdout) if one]

    def pods(rendered):
        for one in rendered:
            spec = one.get("spec") or {}
            template = spec.get("template") or spec.get("jobTemplate", {}).get("spec", {}).get("template")
            if template:
                yield one, template["spec"]

    check(subprocess.run([helm, "lint", CHART], capture_output=True, timeout=120).returncode == 0, "helm lint finds something")
    for options, secrets in (((), ("weft-master", "weft-worker")), (("--set", "certificates.masters=m,certificates.workers=w"), ("m", "w"))):
        rendered = render(*options)
        check("insecure" not in json.dumps(rendered), "something is in plain text")
        for one, spec in pods(rendered):
            component = one["metadata"]["labels"]["app.kubernetes.io/component"]
            mounted = [volume["secret"]["secretName"] for volume in spec["volumes"] if "secret" in volume]
            expected = {"master": [secrets[0]], "worker": [secrets[1]], "security": []}[component]
            check(mounted == expected, f"{one['metadata']['name']} has {mounted}")
            check(all(volume["secret"]["defaultMode"] == 0o440 for volume in spec["volumes"] if "secret" in volume), "others can read a key")
        check(any(one["kind"] == "CronJob" for one in rendered) == (not options), "certificates are made when they are not given")
    rights = next(one for one in render() if one["kind"] == "Role" and one["metadata"]["name"] == "weft-security")["rules"]
    named = ["weft-" + role for role in ROLES]
    check(rights == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
                     {"apiGroups": [""], "resources": ["secrets"], "resourceNames": named, "verbs": ["get", "update"]}], f"rights: {rights}")
    bound = [one["subjects"] for one in render() if one["kind"] == "RoleBinding" and one["roleRef"]["name"] == "weft-security"]
    check(bound == [[{"kind": "ServiceAccount", "name": "weft-security", "namespace": "default"}]], f"they are those of {bound}")
    plain = render("--set", "insecure=true")
    check("certificates" not in json.dumps(plain) and not any(one["kind"] in ("Job", "CronJob") for one in plain), "plain text is plain")
    check("HTTPS" not in json.dumps(plain) and "HTTPS" in json.dumps(render()), "probes ask as the pods answer")
    render("--set", "certificates.masters=m", refused="masters and workers need one each")
    render("--set", "insecure=true,certificates.masters=m,certificates.workers=w", refused="exclude each other")
    arguments = [spec["containers"][0]["args"] for one, spec in pods(render()) if one["kind"] in ("Job", "CronJob")]
    known = subprocess.run([sys.argv[1] + "/bin/weft", "security", "kubernetes", "--help"], capture_output=True, text=True, timeout=60).stdout
    for word in {re.match("--[a-z-]+", word)[0] for words in arguments for word in words if word.startswith("--")}:
        check(word in known, f"weft security kubernetes has no {word}")


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        certificates = Certificates(build, scratch)
        try:
            renewed(certificates, made_once(certificates))
            refused(certificates)
            renewed_after_a_round_that_did_not_end(certificates)
            cluster_works(certificates, build)
        finally:
            certificates.api.process.kill()
            certificates.api.process.wait()
    chart()
    print("the Secrets of Kubernetes are right")


main()
