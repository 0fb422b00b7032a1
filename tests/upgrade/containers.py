"""The cluster of docker/compose.yaml, whose image is replaced by the commands of docker/README.md, as they stand there."""
import json
import os
import re
import shutil
import subprocess
import threading
import time

from failed import DEADLINE, Failed, wait_for
from processes import run

CERTIFICATE = "/etc/weft/certificates/user"
EXAMPLES = "/opt/weft/lib/weft/examples"


class Client:
    """Commands and job programs of one release, in a container of the cluster's network."""

    master, text = "master:7077", "weft://text"

    def __init__(self, container):
        self.container = container

    def path_of(self, program):
        return f"{EXAMPLES}/{program}"

    def run(self, program, *words, check=True, **options):
        return run(["docker", "exec", "-i", self.container, program, *words], check, **{"stdin": subprocess.DEVNULL, **options})

    def output(self, name):
        return f"weft://{name}"

    def take(self, output):
        text = self.run("weft", "fs", "cat", f"{output}/part-*")
        self.run("weft", "fs", "rm", "-r", output)
        return text


class Watch(threading.Thread):
    """What containers of a project log, and how each of them ends. What `docker logs` has of a container goes with it."""

    def __init__(self, project, scratch):
        super().__init__(daemon=True)
        self.scratch, self.ends, self.readers = scratch, [], []
        self.events = subprocess.Popen(["docker", "events", "--since", str(int(time.time())), "--filter", "event=start", "--filter", "event=die",
                                        "--filter", f"label=com.docker.compose.project={project}", "--format", "{{json .}}"],
                                       stdout=subprocess.PIPE, text=True)
        self.start()

    def run(self):
        for line in self.events.stdout:
            event = json.loads(line)
            attributes = event["Actor"]["Attributes"]
            service = attributes["com.docker.compose.service"]
            if event["Action"] == "die":
                self.ends.append((service, int(attributes["exitCode"])))
            else:
                with open(os.path.join(self.scratch, f"{service}.log"), "ab") as log:
                    self.readers.append(subprocess.Popen(["docker", "logs", "-f", event["Actor"]["ID"]], stdout=log, stderr=log))

    def end(self):
        self.events.kill()
        self.join()
        for reader in self.readers:
            reader.kill()
            reader.wait()


class Containers:
    """Both releases are directories that docker/stage has filled, each with the folder `docker` of its tree in it."""

    def __init__(self, scratch, old, new, tree):
        self.scratch, self.old, self.new, self.tree = scratch, old, new, tree
        self.run_name = os.environ["WEFT_ENGINE_RUN"]
        self.project = f"weft-upgrade-{self.run_name}"
        self.images = {"old": f"weft-upgrade-{self.run_name}:old", "new": f"weft-upgrade-{self.run_name}:new"}
        self.compose = os.environ["WEFT_COMPOSE"].split()
        self.folder = os.path.join(scratch, "docker")
        self.watch = None

    def path(self, *parts):
        return os.path.join(self.scratch, *parts)

    def clients(self):
        return tuple(Client(f"{self.project}-client-{release}") for release in ("old", "new"))

    def start(self):
        for release, staged in ("old", self.old), ("new", self.new):
            self._build_image(release, staged)
        shutil.copytree(os.path.join(self.old, "docker"), self.folder)
        self._settings(WEFT_IMAGE=self.images["old"], WEFT_PORT="0", WEFT_PAGE_PORT="0", WEFT_DRAIN="5min")
        self.watch = Watch(self.project, self.scratch)
        self._compose("up", "-d")
        for release, image in self.images.items():
            run(["docker", "run", "-d", "--init", "--no-healthcheck", "--name", f"{self.project}-client-{release}", "--network", f"{self.project}_default",
                 "--env", f"WEFT_MASTER={Client.master}", "--env", f"WEFT_SECURITY={CERTIFICATE}", "--env", f"PATH={EXAMPLES}:/opt/weft/bin:/usr/bin:/bin",
                 "--volume", f"{self.project}_certificates-user:{CERTIFICATE}:ro", "--entrypoint", "sleep", image, "infinity"], True)
        client = self.clients()[0]
        wait_for("the workers of the old release register", lambda: "ok" in client.run("sh", "-c", "weft node wait 6 --timeout 5s && echo ok", check=False))
        with open(self.path("text"), "rb") as text:
            client.run("weft", "fs", "put", "-", "weft://text", stdin=text)

    def steps(self, workers_first):
        """Whoever takes the next release has its files, too; the sizes stay as they were set."""
        kept = os.path.join(self.folder, ".env")
        shutil.copytree(os.path.join(self.new, "docker"), self.folder, dirs_exist_ok=True, ignore=lambda *_: [".env"])
        commands = self._manual()
        master, workers = commands.index("docker-compose up -d --no-deps master"), next(i for i, line in enumerate(commands) if line.startswith("for "))
        self._shell(commands[:master])
        with open(kept, encoding="utf-8") as settings:
            if f"WEFT_IMAGE={self.images['new']}\n" not in settings.read():
                raise Failed("the commands of docker/README.md do not change the image")
        steps = [("the master", lambda: self._shell(commands[master:workers])), ("the workers", lambda: self._shell(commands[workers:]))]
        return steps[::-1] if workers_first else steps

    def check_upgraded(self):
        running = run(["docker", "ps", "--filter", f"label=com.docker.compose.project={self.project}", "--format", "{{.Image}} {{.Names}}"], True)
        for line in running.splitlines():
            if line.startswith(self.images["old"]) and re.search("master|worker", line):
                raise Failed(f"it still runs the old release: {line}")

    def logs(self):
        names = [name for name in os.listdir(self.scratch) if re.fullmatch(r"(master|worker-\d)\.log", name)]
        found = {}
        for name in sorted(names):
            with open(self.path(name), encoding="utf-8", errors="replace") as log:
                found[name.removesuffix(".log")] = log.read()
        return found

    def check_alive(self):
        for service, status in self.watch.ends:
            if status != 0 and re.match("master|worker|security", service):
                raise Failed(f"{service} ended with {status}: " + "\n".join(self.logs().get(service, "").splitlines()[-15:]))

    def kill(self):
        if self.watch:
            self.watch.end()
        if os.environ.get("WEFT_OWN_ENGINE"):  # which ends with all it has
            return
        subprocess.run(["docker", "rm", "-f", *(client.container for client in self.clients())], capture_output=True)
        self._compose("down", "--volumes", "--timeout", "1", check=False)
        subprocess.run(["docker", "rmi", "-f", *self.images.values()], capture_output=True)

    def _environment(self):
        """Without settings of this shell, which would go before those of the cluster."""
        return {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")} | {"COMPOSE_PROJECT_NAME": self.project}

    def _compose(self, *words, check=True):
        return run([*self.compose, *words], check, cwd=self.folder, env=self._environment())

    def _settings(self, **values):
        path = os.path.join(self.folder, ".env")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for name, value in values.items():
            text, times = re.subn(f"(?m)^{name}=.*$", f"{name}={value}", text)
            if times > 1:
                raise Failed(f"docker/.env has {name} {times} times")
            if times == 0:  # of a release that had none; the next one reads it
                text += f"{name}={value}\n"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def _build_image(self, release, staged):
        """Of a directory that has what the Dockerfile takes, and not of the tree, whose build/image may be another run's."""
        context = self.path(f"context-{release}")
        shutil.copytree(staged, os.path.join(context, "staged"), symlinks=True, ignore=lambda folder, _: ["docker"] if folder == staged else [])
        os.mkdir(os.path.join(context, "scripts"))
        shutil.copy(os.path.join(self.tree, "scripts", "setup"), os.path.join(context, "scripts"))
        run(["docker", "build", "-q", "-t", self.images[release], "-f", os.path.join(staged, "docker", "Dockerfile"), "--build-arg",
             f"BASE={os.environ['WEFT_BASE']}", "--build-arg", "FROM_BUILD=staged", context], True)
        shutil.rmtree(context)

    def _manual(self):
        """The commands of the section about upgrades, with the image of this test."""
        with open(os.path.join(self.folder, "README.md"), encoding="utf-8") as manual:
            section = re.search(r"(?ms)^## Upgrade$.*?^```sh\n(.*?)^```", manual.read())
        if not section:
            raise Failed("docker/README.md has lost its commands for upgrades")
        return section[1].replace("weft:NEXT", self.images["new"]).splitlines()

    def _shell(self, commands):
        define = f'docker-compose() {{ command {" ".join(self.compose)} "$@"; }}'
        try:
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", "\n".join([define, *commands])], cwd=self.folder, env=self._environment(),
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=6 * DEADLINE)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"commands of docker/README.md do not end: {late.stderr}") from late
        if done.returncode != 0:
            raise Failed(f"a command of docker/README.md ended with {done.returncode}: {done.stderr[-2000:]}")
