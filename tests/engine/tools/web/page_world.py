"""A cluster and a real Chromium that looks at its page, for the tests of the page.

Exits with 77 where there is no chromium, chromium-driver or python3-selenium (Debian's packages).
"""
import re, shutil, signal, socket, subprocess, sys, tempfile, time

bin_dir = sys.argv[1]
shots = sys.argv[2] if len(sys.argv) > 2 else None  # a directory for screenshots
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select
except ImportError:
    print("skipped: there is no selenium for this Python; apt-get install python3-selenium")
    sys.exit(77)
if not (shutil.which("chromium") and shutil.which("chromedriver")):
    print("skipped: there is no chromium; apt-get install chromium chromium-driver")
    sys.exit(77)


def until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            found = condition()
        except Exception:  # of elements that are being replaced
            found = None
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError("waited for " + (what if isinstance(what, str) else what()))
        time.sleep(0.05)


class World:
    """A cluster, a browser, and what is left of both at the end: nothing."""

    def __init__(self):
        self.scratch = tempfile.mkdtemp(prefix="weft-page-")
        self.started = []
        self.driver = None

    def start(self, *words, **options):
        out = open(f"{self.scratch}/{len(self.started)}.out", "w")
        process = subprocess.Popen([f"{bin_dir}/{words[0]}", *words[1:]], stdout=out, stderr=subprocess.STDOUT, **options)
        self.started.append(process)
        return process

    def start_master(self, listen, page):
        self.start("weft", "master", "--listen", listen, "--http", page, "--port-file", self.scratch + "/port", "--scheduler", "fair", "--event-log", self.scratch + "/events",
                   "--data-dir", self.scratch + "/names")

    def cluster(self):
        self.start_master("127.0.0.1:0", "127.0.0.1:0")
        self.page = until(lambda: re.search(r"page is at http://([^/]+)/", open(self.scratch + "/0.out").read()), "the master")[1]
        self.master = until(lambda: open(self.scratch + "/port").read().strip(), "its port")
        self.workers = [self.start("weft", "worker", "--master", self.master, "--name", f"w{i}", "--rack", f"r{i % 2}", "--slots", "2", "--directory", f"{self.scratch}/work{i}",
                                   "--chunk-dir", f"{self.scratch}/chunks{i}") for i in range(3)]
        self.weft("node", "wait", "3")

    def masters(self):
        """Two that meet in an etcd, each with a page when it leads: that of the first is self.page, that of the second self.other_page."""
        def free():
            with socket.socket() as one:
                one.bind(("127.0.0.1", 0))
                return one.getsockname()[1]
        client, peer = (f"http://127.0.0.1:{free()}" for _ in range(2))
        self.started.append(subprocess.Popen(["etcd", "--data-dir", self.scratch + "/etcd", "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                                              "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        one = ["weft", "master", "--listen", "127.0.0.1:0", "--etcd", client, "--http"]
        self.page, self.other_page = (f"127.0.0.1:{free()}" for _ in range(2))
        self.leader = self.start(*one, self.page, "--data-dir", self.scratch + "/m1")
        first = f"{self.scratch}/{len(self.started) - 1}.out"
        until(lambda: f"page is at http://{self.page}/" in open(first).read(), "the master that leads")
        self.start(*one, self.other_page, "--data-dir", self.scratch + "/m2", "--standby")

    def weft(self, *words):
        return subprocess.run([bin_dir + "/weft", *words, "--master", self.master], check=True, capture_output=True, text=True, timeout=60).stdout

    def job(self, *words):
        return self.start("cluster_probe", *words, "--quiet", "--cluster", self.master)

    def browser(self):
        options = webdriver.ChromeOptions()
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000", "--user-data-dir=" + self.scratch + "/chromium"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_page_load_timeout(60)

    def go(self, path):
        self.driver.get(f"http://{self.page}{path}")

    def text(self):
        return self.driver.find_element(By.TAG_NAME, "main").text

    def sees(self, *words, seconds=60):
        for word in words:
            until(lambda: word in self.text(), lambda: f"'{word}' on {self.driver.current_url}, which says:\n{self.text()}", seconds)

    def shot(self, name):
        if shots:
            self.driver.save_screenshot(f"{shots}/{name}.png")

    def end(self):
        if self.driver:
            self.driver.quit()
        for process in self.started[::-1]:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.scratch, ignore_errors=True)
