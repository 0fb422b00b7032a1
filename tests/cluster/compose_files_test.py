#!/usr/bin/env python3
"""The files of Compose in docker/, as Compose reads them, without an engine: options that programs do not have, masters that differ in more
than they should, services that ask one master where there are two, images of a registry, keys where they do not belong, plain text.

  compose_files_test.py BUILD

BUILD is the build tree whose program is asked for its options. Exit code 77 and a line that says why: it cannot run here.
"""
import os
import re
import shutil
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MASTERS = "master:7077,standby:7077"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def compose():
    if shutil.which("docker") and subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0:
        return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    return skip("there is neither docker compose nor docker-compose; scripts/setup --docker installs what is missing")


def services(program, read, *files):
    profiles = [word for profile in ("client", "shaped", "chaos") for word in ("--profile", profile)]
    names = [word for file in files for word in ("-f", file)]
    done = subprocess.run([*program, *names, *profiles, "config"], cwd=TREE + "/docker", capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"Compose refuses {' and '.join(files)}: {done.stderr}")
    return read(done.stdout)["services"]


def words(command):
    return command.split() if isinstance(command, str) else list(command)


def environment(service):
    found = service.get("environment", {})
    return dict(line.split("=", 1) for line in found) if isinstance(found, list) else found


def options_of(build, command):
    said = "".join(subprocess.run([build + "/bin/weft", *words, "--help"], capture_output=True, text=True, check=True).stdout
                   for words in ([], [command]))
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", said, re.M))


def mounts(service):
    """What is mounted, by the path in the container, with whether it can be changed there."""
    found = {}
    for one in service.get("volumes", []):
        if isinstance(one, str):
            source, target, *mode = one.split(":")
            found[target] = (source, mode != ["ro"])
        else:
            found[one["target"]] = (one["source"], not one.get("read_only", False))
    return found


def published(service, port):
    """The ports of this machine, all on loopback, that lead to that one."""
    found = set()
    for one in service.get("ports", []):
        host, outside, inside = one.rsplit("/", 1)[0].split(":") if isinstance(one, str) else (one["host_ip"], str(one["published"]), str(one["target"]))
        check(host == "127.0.0.1", f"other machines reach {one}")
        found |= {outside} if inside == str(port) else set()
    return found


def check_certificates(files):
    """Everybody who connects has a certificate, of the role that it needs, and nobody but `security` can make or change one."""
    roles = {"master": ["master", "user"], "standby": ["master", "user"], "client": ["user"]}
    for name, service in files.items():
        text = repr(service)
        check("insecure" not in text, f"{name} speaks plain text")
        has = {target: mount for target, mount in mounts(service).items() if "certificates-" in mount[0] or "authority" in mount[0]}
        if name == "security":
            check(len(has) == 4 and service["network_mode"] == "none", f"{name} has what it hands out, and no network: {has}")
            continue
        worker = "weft worker" in text
        expected = ["worker"] if worker else roles.get(name, [])
        check(sorted(has) == [f"/etc/weft/certificates/{role}" for role in expected], f"{name} has the certificates {sorted(has)}")
        check(all(source.endswith("-" + target.rsplit("/", 1)[1]) and not writable for target, (source, writable) in has.items()),
              f"{name} has another role's certificate, or can change its own: {has}")
        if expected:
            named = environment(service)["WEFT_SECURITY"]
            check(named == "/etc/weft/certificates/" + ("worker" if worker else "user"), f"{name} shows {named}")
        if "master" in expected:
            check("--security /etc/weft/certificates/master" in " ".join(words(service["command"])), f"{name} shows no master's certificate")


def check_restarts(files):
    """The cluster is back after its engine or its machine was started again; what is asked for at times is not."""
    for name, service in files.items():
        asked_for = service.get("profiles") or name == "client"
        expected = "on-failure" if name == "security" else None if asked_for else "unless-stopped"
        check(service.get("restart") == expected, f"{name} is started again {service.get('restart')}, not {expected}")


def main():
    build = os.path.abspath(sys.argv[1])
    program = compose()
    try:
        import yaml
    except ImportError:
        skip("there is no python3-yaml")
    alone = services(program, yaml.safe_load, "compose.yaml")
    two = services(program, yaml.safe_load, "compose.yaml", "compose.standby.yaml")

    master, leading, standing_by = (words(s["command"]) for s in (alone["master"], two["master"], two["standby"]))
    pages = [options.pop(options.index("--page-url") + 1) for options in (leading, standing_by)]
    check(leading == master + ["--etcd", "http://etcd:2379", "--page-url"], f"the master of two differs from the one alone: {leading}, {master}")
    check(standing_by == leading + ["--standby"], f"the masters differ: {leading}, {standing_by}")
    for name, page in zip(("master", "standby"), pages):
        port = re.fullmatch(r"https://127\.0\.0\.1:(\d+)", page)
        check(port and port[1] in published(two[name], 7078), f"the page of {name} is not at {page}: {two[name]['ports']}")
    check(pages[0] != pages[1], f"both pages are at {pages[0]}")
    for name in ("master", "standby"):
        check(two[name].get("hostname") == name, f"{name} is not found by its name")
    for name, service in two.items():
        named = environment(service).get("WEFT_MASTER", MASTERS)
        check(named == MASTERS, f"{name} asks {named} only")
        check(name in alone or name in ("etcd", "standby"), f"{name} is new")
        if name in alone and name != "master":
            same = dict(service, dns_opt=None, volumes=mounts(service), environment={**environment(service), "WEFT_MASTER": environment(alone[name]).get("WEFT_MASTER")})
            before = dict(alone[name], dns_opt=None, volumes=mounts(alone[name]), environment={"WEFT_MASTER": None, **environment(alone[name])})
            check(same == before, f"{name} differs in more than the masters that it asks: {same}, {before}")

    for files in (alone, two):
        check_certificates(files)
        check_restarts(files)
    known = {command: options_of(build, command) for command in ("master", "worker")}
    for files in (alone, two):
        for name, service in files.items():
            check(re.fullmatch(r"[a-z-]+", service["image"]), f"{name} has an image of a registry: {service['image']}")
            command = "master" if name in ("master", "standby") else "worker"
            text = " ".join(words(service.get("command", [])) + words(service.get("entrypoint", [])))
            text += " " + environment(service).get("WEFT_WORKER_OPTIONS", "")
            if "master" in (name, *words(service.get("command", []))) or "weft worker" in text:
                unknown = set(re.findall(r"(?<!\S)--[a-z-]+", text)) - known[command]
                check(not unknown, f"weft {command} has no {unknown}, which {name} gives")
    print("the files of Compose are right")


main()
