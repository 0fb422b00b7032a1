"""A Kubernetes cluster of one node for tests: etcd, API server, controllers, scheduler, kubelet, containerd, proxy and DNS, as processes of
this machine (scripts/counterparts --kubernetes builds what Debian does not have).

It must run in namespaces of its own (network, mounts, processes), so that nothing of it reaches the machine and all of it ends with the
first process there: run_inside(). What such namespaces do not hold is put back by whoever called that: control groups, and three settings of
the kernel that a kubelet changes.
"""
import glob
import json
import os
import secrets
import shutil
import subprocess
import sys
import time

SETTINGS = ("vm.overcommit_memory", "vm.overcommit_ratio", "kernel.panic", "kernel.panic_on_oops", "kernel.keys.root_maxkeys",
            "kernel.keys.root_maxbytes")
HOST = "10.99.0.1"


def setting_path(name):
    return "/proc/sys/" + name.replace(".", "/")


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def control_groups():
    """The roots of the hierarchies of control groups: one of each controller, or one of all."""
    root = "/sys/fs/cgroup"
    if os.path.exists(root + "/cgroup.controllers"):
        return [root]
    return [os.path.join(root, name) for name in os.listdir(root)
            if os.path.exists(os.path.join(root, name, "tasks")) and not os.path.islink(os.path.join(root, name))]


def remove_control_groups(name):
    for attempt in range(100):
        left = [path for path in [f"/sys/fs/cgroup/{name}", *glob.glob(f"/sys/fs/cgroup/*/{name}")] if os.path.isdir(path)]
        if not left:
            return
        for group in left:
            for folder, _, files in os.walk(group, topdown=False):
                if "cgroup.procs" in files:
                    for pid in read(folder + "/cgroup.procs").split():
                        try:
                            os.kill(int(pid), 9)
                        except ProcessLookupError:
                            pass
                try:
                    os.rmdir(folder)
                except OSError:
                    pass
        time.sleep(0.1)
    raise RuntimeError(f"control groups of the cluster are left: {left}")


def run_inside(words, root, seconds):
    """Runs the command in new namespaces, ends all it started, and puts back what it changed; returns its exit code."""
    before = {name: read(setting_path(name)) for name in SETTINGS if os.path.exists(setting_path(name))}
    group = "weft-test-" + os.path.basename(root)
    inside = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    process = subprocess.Popen(inside + words)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        print(f"FAILED: not done after {seconds} s", file=sys.stderr)
        return 1
    finally:
        process.kill()
        process.wait()
        for name, value in before.items():
            if read(setting_path(name)) != value:
                write(setting_path(name), value)
        remove_control_groups(group)
        shutil.rmtree(root, ignore_errors=True)


class Kubernetes:
    def __init__(self, programs, root):
        self.programs = programs  # of scripts/counterparts
        self.root = root  # everything it writes is below
        self.group = "weft-test-" + os.path.basename(root)
        self.kubeconfig = root + "/kubeconfig"
        self.processes = {}
        self.volumes_made = 0

    # ---- processes

    def start(self, name, *words):
        log = open(f"{self.root}/{name}.log", "wb")
        self.processes[name] = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def program(self, name):
        own = f"{self.programs}/bin/{name}"
        return own if os.path.exists(own) else name

    def log(self, name, most=3000):
        return read(f"{self.root}/{name}.log")[-most:]

    def until(self, what, condition, seconds=120):
        """Waits for the condition; what it says last is the result. Whoever has ended meanwhile is named."""
        deadline = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise RuntimeError(f"{name} has ended: {self.log(name)}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"not after {seconds} s: {what}\n{self.state()}")
            time.sleep(0.2)

    def kubectl(self, *words, text=None, check=True):
        done = subprocess.run([self.program("kubectl"), "--kubeconfig", self.kubeconfig, *words], input=text, capture_output=True, text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(words)}: {done.stderr}")
        return done

    def get(self, *words):
        return json.loads(self.kubectl("get", "-o", "json", *words).stdout)

    def helm(self, *words, check=True):
        done = subprocess.run([self.program("helm"), "--kubeconfig", self.kubeconfig, *words], capture_output=True, text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"helm {' '.join(words)}: {done.stderr}\n{self.state()}")
        return done

    def state(self):
        pods = self.kubectl("get", "pods", "-o", "wide", check=False).stdout
        events = self.kubectl("get", "events", "--sort-by=.lastTimestamp", check=False).stdout
        return pods + "\n".join(events.splitlines()[-15:])

    # ---- the cluster

    def up(self):
        os.makedirs(self.root + "/cni", exist_ok=True)
        for words in (["ip", "link", "set", "lo", "up"], ["ip", "link", "add", "node0", "type", "bridge"],
                      ["ip", "addr", "add", HOST + "/24", "dev", "node0"], ["ip", "link", "set", "node0", "up"],
                      ["ip", "route", "add", "default", "dev", "node0"]):  # kubelet and API server want a default route
            subprocess.run(words, check=True)
        write("/proc/sys/net/ipv4/ip_forward", "1")
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        for path in ("/run", "/var/log"):  # kubelet and containerd leave things there, whatever they are told
            subprocess.run(["mount", "-t", "tmpfs", "none", path], check=True)
        for path in ("/var/lib", "/usr/libexec"):
            upper, work = (f"{self.root}/{kind}{path.replace('/', '-')}" for kind in ("upper", "work"))
            os.makedirs(upper)
            os.makedirs(work)
            subprocess.run(["mount", "-t", "overlay", "none", "-o", f"lowerdir={path},upperdir={upper},workdir={work}", path], check=True)
        for hierarchy in control_groups():
            os.makedirs(f"{hierarchy}/{self.group}", exist_ok=True)
            for name in ("cpuset.cpus", "cpuset.mems"):  # that of no processor holds no process
                if hierarchy.endswith("/cpuset"):
                    write(f"{hierarchy}/{self.group}/{name}", read(f"{hierarchy}/{name}"))
        self._control_plane()
        self._node()

    def _control_plane(self):
        token = secrets.token_hex(16)
        write(self.root + "/tokens.csv", f'{token},admin,admin,"system:masters"\n')
        key = self.root + "/accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        write(self.kubeconfig, json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"https://{HOST}:6443", "insecure-skip-tls-verify": True}}],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}))
        self.start("etcd", "etcd", "--data-dir", self.root + "/etcd", "--listen-client-urls", "http://127.0.0.1:2379",
                   "--advertise-client-urls", "http://127.0.0.1:2379", "--listen-peer-urls", "http://127.0.0.1:2380", "--unsafe-no-fsync")
        self.start("apiserver", self.program("kube-apiserver"), "--etcd-servers=http://127.0.0.1:2379", "--bind-address=0.0.0.0",
                   "--secure-port=6443", f"--advertise-address={HOST}", f"--cert-dir={self.root}/apiserver",
                   f"--token-auth-file={self.root}/tokens.csv", "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/16",
                   "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={key}",
                   f"--service-account-signing-key-file={key}", "--kubelet-preferred-address-types=InternalIP")
        self.until("the API server answers", lambda: self.kubectl("get", "--raw", "/readyz", check=False).stdout == "ok", 300)
        self.start("controllers", self.program("kube-controller-manager"), f"--kubeconfig={self.kubeconfig}",
                   f"--service-account-private-key-file={key}", f"--root-ca-file={self.root}/apiserver/apiserver.crt",
                   "--leader-elect=false", "--bind-address=127.0.0.1", f"--cert-dir={self.root}/controllers",
                   "--horizontal-pod-autoscaler-sync-period=1s")
        self.start("scheduler", self.program("kube-scheduler"), f"--kubeconfig={self.kubeconfig}", "--leader-elect=false",
                   "--bind-address=127.0.0.1", f"--cert-dir={self.root}/scheduler")

    def _node(self):
        root = self.root
        write(root + "/containerd.toml", f"""version = 2
root = "{root}/containerd"
state = "{root}/run"
oom_score = 0
[grpc]
  address = "{root}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{root}/cni"
""")
        write(root + "/cni/10.conflist", json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [
            {"type": "bridge", "bridge": "pods0", "isGateway": True, "ipMasq": False, "hairpinMode": True,
             "ipam": {"type": "host-local", "dataDir": root + "/addresses", "ranges": [[{"subnet": "10.244.0.0/24"}]],
                      "routes": [{"dst": "0.0.0.0/0"}]}}]}))
        write(root + "/kubelet.yaml", json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "cgroupDriver": "cgroupfs",
            "cgroupRoot": "/" + self.group, "containerRuntimeEndpoint": f"unix://{root}/containerd.sock",
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"}, "address": HOST, "failSwapOn": False, "enforceNodeAllocatable": [],
            "localStorageCapacityIsolation": False, "imageGCHighThresholdPercent": 100, "makeIPTablesUtilChains": False,
            "evictionHard": {name: "0%" for name in ("memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available")},
            "clusterDNS": [HOST], "clusterDomain": "cluster.local", "resolvConf": "", "healthzPort": 0}))
        write(root + "/Corefile", f".:53 {{\n  bind {HOST}\n  errors\n  kubernetes cluster.local {{\n    kubeconfig {self.kubeconfig}\n    ttl 5\n  }}\n}}\n")
        self.start("containerd", "containerd", "-c", root + "/containerd.toml")
        self.until("containerd answers", lambda: self.ctr("version", check=False).returncode == 0)
        self.start("coredns", self.program("coredns"), "-conf", root + "/Corefile")
        # Pods of one bridge answer each other directly, behind the back of who translates addresses, unless they see the node's.
        self.start("proxy", self.program("kube-proxy"), f"--kubeconfig={self.kubeconfig}", "--proxy-mode=iptables", "--masquerade-all=true",
                   "--hostname-override=node1", "--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0",
                   "--conntrack-tcp-timeout-close-wait=0", "--metrics-bind-address=127.0.0.1:10249", "--healthz-bind-address=127.0.0.1:10256")
        self.start("kubelet", self.program("kubelet"), f"--config={root}/kubelet.yaml", f"--kubeconfig={self.kubeconfig}",
                   f"--root-dir={root}/kubelet", f"--cert-dir={root}/kubelet/pki", "--hostname-override=node1", f"--node-ip={HOST}",
                   "--register-node=true", "--v=1")
        self.until("the node is ready", lambda: "True" in self.kubectl(
            "get", "nodes", "-o", 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}', check=False).stdout)
        self.until("there is a service account", lambda: self.kubectl("get", "serviceaccount", "default", check=False).returncode == 0)

    def ctr(self, *words, check=True):
        return subprocess.run(["ctr", "-a", self.root + "/containerd.sock", "-n", "k8s.io", *words], check=check, capture_output=True, text=True)

    def volumes(self, count):
        """Volumes for claims that name no class: directories of the node, which pods of any user may use."""
        for _ in range(count):
            self.volumes_made += 1
            path = f"{self.root}/volumes/{self.volumes_made}"
            os.makedirs(path)
            os.chmod(path, 0o777)
            self.kubectl("apply", "-f", "-", text=json.dumps({
                "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"volume-{self.volumes_made}"},
                "spec": {"capacity": {"storage": "100Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": path}}}))
