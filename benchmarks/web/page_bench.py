#!/usr/bin/python3
"""What the page takes with 10,000 workers, 10,000 jobs and a job of 100,000 tasks, each figure next to its limit.

page_bench.py BIN [--workers N] [--jobs N] [--tasks N] [--keep DIRECTORY]

`weft history` serves a made-up log of such a cluster to Chromium (Debian: chromium, chromium-driver, python3-selenium). A view is
painted when its first row of data is there; the time begins with the address. What the page does for more than 50 ms at a stretch
is what a user would feel. Then a master with one worker runs N small jobs, and its processor time is measured while a page watches
its jobs and one that runs, and while nobody does; and what each task of a large job costs it more when a page shows that job.
1,000 made-up workers come to this master, which send measurements every second, and the browser looks at its page: when it is
painted, and how many frames it draws while it scrolls up and down and the figures change.
`heartbeat_bench` measures what a page of 10,000 live workers costs.
Exit code 1: a limit is missed.
"""
import argparse, http.client, json, os, re, shutil, signal, subprocess, sys, tempfile, threading, time, urllib.error, urllib.request

FIRST_PAINT_MS, LONGEST_MS, PAGE_BYTES, WATCHED_PERCENT = 300, 200, 200 << 10, 5
JOB_OF_LOG_MS = 3000  # of a large log, from which a job's lines are read when it is first looked at
FRAMES, LIVE_WORKERS = 58, 1000  # a second: a screen draws 60, of which one or two may be late
TASK_MICROSECONDS = 50  # 5 % of a core at 1,000 tasks a second

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("bin")
options.add_argument("--workers", type=int, default=10_000)
options.add_argument("--jobs", type=int, default=10_000)
options.add_argument("--tasks", type=int, default=100_000)
options.add_argument("--keep", help="leave the log there")
options = options.parse_args()
missed = False


def figure(what, value, limit, unit):
    global missed
    missed = missed or value > limit
    print(f"{what:<62} {value:>10,.1f} {unit:<10} limit {limit:,}{'  MISSED' if value > limit else ''}", flush=True)


def figure_at_least(what, value, least, unit):
    global missed
    missed = missed or value < least
    print(f"{what:<62} {value:>10,.1f} {unit:<10} at least {least:,}{'  MISSED' if value < least else ''}", flush=True)


def write_log(path):
    """A cluster of workers on 100 racks; the last job has most of the tasks, the others ten each."""
    with open(path, "w") as log:
        clock = 0

        def line(event, **members):
            nonlocal clock
            clock += 20_000
            log.write(json.dumps({"time_ns": clock, "event": event, **members}, separators=(",", ":")) + "\n")

        def stage(number, tasks, partitions, inputs):
            return {"stage": number, "name": f"stage {number}", "tasks": tasks, "output": "shuffle" if partitions else "result", "partitions": partitions,
                    "operators": ["map"], "inputs": inputs, "demand": {"cpu": 1}, "estimated_task_ns": 0, "splits": []}

        def job(number, maps, reduces, last):
            line("job_submitted", job=number, name=f"job {number}", user=f"user{number % 7}", pool="", priority=0, max_attempts=4, shuffle_mode="memory",
                 task_timeout_ns=0, demand={}, weight=1, hints={})
            line("plan_extended", job=number, action=0, stages=[stage(0, maps, reduces, []), stage(1, reduces, 0, [0])], targets=[1], released=[])
            running = []
            for task in range(maps + reduces):
                at = {"job": number, "stage": int(task >= maps), "task": task if task < maps else task - maps, "attempt": 0, "node": 1 + task % options.workers}
                line("task_launched", reason="", **at)
                running.append(at)
                if len(running) > (2 * options.workers if last else 4):
                    finish(running.pop(0), reduces)
            for at in running:
                finish(at, reduces)
            line("action_finished", job=number, action=0)
            line("job_finished", job=number)

        def finish(at, reduces):
            line("task_finished", **at, input_bytes=1 << 20, input_records=1000, output_bytes=100 * reduces, output_records=1000, result_bytes=0,
                 partition_bytes=[] if at["stage"] else [100] * reduces, shuffle_read_ns=1000, shuffle_write_ns=1000, run_ns=1_000_000,
                 cpu_ns=900_000, peak_memory_bytes=1 << 20, counters={})

        line("log_started", version=1, program="weft", scheduler="fair")
        for node in range(options.workers):
            line("worker_joined", node=node + 1, name=f"w{node}", host=f"w{node}", rack=f"rack-{node % 100}", data_address="127.0.0.1:1", capacity={"cpu": 2}, attributes={}, prefetch_bytes=0)
        for number in range(1, options.jobs):
            job(number, 8, 2, False)
        job(options.jobs, options.tasks - 100, 100, True)


class Program:
    def __init__(self, scratch, *words):
        self.out = f"{scratch}/{words[0]}-{words[1]}-{time.monotonic_ns()}.out"
        self.process = subprocess.Popen([f"{options.bin}/{words[0]}", *words[1:]], stdout=open(self.out, "w"), stderr=subprocess.STDOUT)

    def said(self, pattern, seconds=300):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            if found := re.search(pattern, open(self.out).read()):
                return found[1]
            time.sleep(0.05)
        raise SystemExit(f"page_bench: waited for {pattern}:\n{open(self.out).read()}")

    def cpu(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)


WATCH = """
window.painted = null; window.longest = 0;
new PerformanceObserver(all => { for (const one of all.getEntries()) window.longest = Math.max(window.longest, one.duration); }).observe({type: 'longtask', buffered: true});
new MutationObserver((all, self) => {
  if (!document.querySelector('main tbody tr')) return;
  self.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }));
}).observe(document, {childList: true, subtree: true});
"""


# Scrolls down and up again, a step each frame, and notes when the frames came. Answers after that many milliseconds.
FRAMES_OF = """
const answer = arguments[1], until = performance.now() + arguments[0], frames = [], low = document.documentElement.scrollHeight - innerHeight;
let step = 16;
requestAnimationFrame(function frame(at) {
  frames.push(at);
  if (scrollY + step > low || scrollY + step < 0) step = -step;
  scrollBy(0, step);
  if (at < until) requestAnimationFrame(frame);
  else answer([1000 * (frames.length - 1) / (frames.at(-1) - frames[0]), Math.max(...frames.map((one, i) => one - frames[Math.max(0, i - 1)]))]);
});
"""


class Browser:
    def __init__(self, scratch):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        chrome = webdriver.ChromeOptions()
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000", f"--user-data-dir={scratch}/chromium"):
            chrome.add_argument(word)
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=chrome)
        self.driver.set_script_timeout(120)
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})

    def until(self, script, what, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := self.driver.execute_script(f"return {script}"):
                return found
            time.sleep(0.05)
        said = self.driver.execute_script("return document.querySelector('main').textContent")
        raise SystemExit(f"page_bench: waited for {what} on {self.driver.current_url}:\n{said[:2000]}")

    def painted(self, address, what, limit=FIRST_PAINT_MS):
        self.driver.get(address)
        figure(f"{what}: painted after", self.until("window.painted", "rows"), limit, "ms")

    def longest_busy(self, what):
        time.sleep(1)
        figure(f"{what}: the longest that it is busy", self.driver.execute_script("return window.longest"), LONGEST_MS, "ms")

    def frames(self, what):
        rate, longest = self.driver.execute_async_script(FRAMES_OF, 10_000)
        figure_at_least(f"{what}: frames while it is live", rate, FRAMES, "a second")
        print(f"{'  the longest between two':<62} {longest:>10,.1f} ms")

    def end(self):
        self.driver.quit()


def log_figures(scratch, browser):
    log = (options.keep or scratch) + "/events"
    if not os.path.exists(log):
        write_log(log)
    began = time.monotonic()
    history = Program(scratch, "weft", "history", log, "--http", "127.0.0.1:0")
    driver = browser.driver
    try:
        page = "http://" + history.said(r"http://([^/]+)/")
        print(f"{'the log is open after':<62} {time.monotonic() - began:>10.1f} s          {os.path.getsize(log) >> 20} MiB")
        driver.get(page + "/scheduler")  # the browser's own start is not the page's
        for path, what in (("/", f"{options.workers:,} workers"), ("/jobs", f"{options.jobs:,} jobs"), (f"/jobs/{options.jobs}", f"a job of {options.tasks:,} tasks")):
            browser.painted(page + path, what, JOB_OF_LOG_MS if path.startswith("/jobs/") else FIRST_PAINT_MS)
            if path.startswith("/jobs/"):
                browser.until(f"document.querySelector('main').textContent.includes('{min(options.tasks, 200):,} of {options.tasks:,} shown')", "all attempts")
                print(f"{'  all attempts are there after':<62} {driver.execute_script('return performance.now()'):>10,.0f} ms")
            browser.longest_busy(what)
            if path == "/":
                sizes = driver.execute_script("return performance.getEntriesByType('resource').filter(r => /\\.(js|css)$/.test(r.name)).map(r => r.decodedBodySize)")
                sizes.append(driver.execute_script("return performance.getEntriesByType('navigation')[0].decodedBodySize"))
                figure("the page: HTML, scripts, style", sum(sizes) / 1024, PAGE_BYTES >> 10, "KiB")
            took = driver.execute_script("""
                const heads = [...document.querySelectorAll('main section:last-of-type thead button')], boxes = document.querySelectorAll('main input[type=search]'), began = performance.now();
                heads[0].click(); heads[1].click();
                const sorted = (performance.now() - began) / 2, from = performance.now(), box = boxes[boxes.length - 1];
                box.value = 'w1'; box.dispatchEvent(new Event('input'));
                return [sorted, performance.now() - from];""") if path in ("/", "/jobs") else None
            if took:
                figure(f"{what}: sorting", took[0], LONGEST_MS, "ms")
                figure(f"{what}: filtering", took[1], LONGEST_MS, "ms")
    finally:
        history.end()


def live_figures(scratch, browser, master, page):
    """`master` has had its jobs; a job whose tasks the made-up workers never end is the last."""
    workers = subprocess.Popen([f"{options.bin}/heartbeat_bench", "--master", master, "--workers", str(LIVE_WORKERS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    job = None
    try:
        if not workers.stdout.readline():
            raise SystemExit("page_bench: the made-up workers do not come")
        job = Program(scratch, "cluster_probe", "noop", "--tasks", "5000", "--quiet", "--cluster", master)
        newest = lambda: json.load(urllib.request.urlopen(f"{page}/api/v1/jobs"))[-1]
        while not (one := newest())["running_tasks"]:
            time.sleep(0.2)
        for path, what in (("/", f"live, {LIVE_WORKERS:,} workers"), ("/jobs", f"live, {options.jobs:,} jobs"), (f"/jobs/{one['id']}", "live, a job that runs")):
            browser.painted(page + path, what)
            browser.longest_busy(what)
            browser.frames(what)
    finally:
        if job:
            job.end()
        workers.communicate("", 60)


class Watcher:
    """A page that is open, as the master sees it."""

    def __init__(self, page, *resources):
        self.bytes = 0
        self.answer = urllib.request.urlopen(f"{page}/api/v1/events?changes=1&watch={','.join(resources)}")
        threading.Thread(target=self.read, daemon=True).start()

    def read_tasks(self, page, job):
        """As job.js does: what has changed, at most once a second and a twentieth of the time."""
        version, self.tasks = 0, 0
        while True:
            began, first, at = time.monotonic(), None, 0
            try:
                while True:
                    with urllib.request.urlopen(f"{page}/api/v1/jobs/{job}/tasks?since={version}&from={at}&count=10000") as answer:
                        part = json.load(answer)
                    first = first or part["version"]
                    at += len(part["tasks"])
                    self.tasks += len(part["tasks"])
                    if not part["tasks"] or at >= part["total"]:
                        break
                version = first
            except urllib.error.HTTPError:
                pass  # it has not begun
            except OSError:
                return  # the master ended
            time.sleep(max(1, 20 * (time.monotonic() - began)))

    def read(self):
        try:
            while piece := self.answer.read1(1 << 16):
                self.bytes += len(piece)
        except (OSError, http.client.HTTPException):
            pass  # the master ended


def master_figures(scratch, browser):
    master = Program(scratch, "weft", "master", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--port-file", scratch + "/port", "--event-log", scratch + "/live-events")
    page = "http://" + master.said(r"http://([^/]+)/")
    while not os.path.exists(scratch + "/port") or not open(scratch + "/port").read().strip():
        time.sleep(0.05)  # said() has seen that it lives
    address = open(scratch + "/port").read().strip()
    worker = Program(scratch, "weft", "worker", "--master", address, "--slots", "2", "--directory", scratch + "/work")
    started = [worker]
    try:
        for number in range(options.jobs - 1):
            subprocess.run([f"{options.bin}/cluster_probe", "noop", "--tasks", "2", "--quiet", "--cluster", address], check=True, stdout=subprocess.DEVNULL, timeout=120)
        started.append(Program(scratch, "cluster_probe", "wait", "--records", "1000000", "--marker", scratch + "/begun", "--quiet", "--cluster", address))
        last = options.jobs
        while not os.path.exists(scratch + "/begun"):
            time.sleep(0.1)
        used = []
        for watched in ((), ("/jobs", f"/jobs/{last}", f"/jobs/{last}/explain", "/nodes", "/racks")):
            watcher = Watcher(page, *watched) if watched else None
            time.sleep(3)
            before, sent = master.cpu(), watcher.bytes if watcher else 0
            time.sleep(20)
            used.append((master.cpu() - before) / 20)
            if watcher:
                print(f"{'  bytes sent a second':<62} {(watcher.bytes - sent) / 20:>10,.0f}")
        figure(f"master of {options.jobs:,} jobs: a page that watches", 100 * (used[1] - used[0]), WATCHED_PERCENT, "% of core")
        subprocess.run([f"{options.bin}/weft", "job", "kill", str(last), "--master", address], check=True, stdout=subprocess.DEVNULL)
        started.pop().process.wait(60)
        used = []
        for job, watched in ((last + 1, False), (last + 2, True)):
            if watched:
                urllib.request.urlopen(f"{page}/api/v1/jobs/{last}/tasks?count=1").read()  # the log until now
                watcher = Watcher(page, f"/jobs/{job}", f"/jobs/{job}/explain")
                threading.Thread(target=watcher.read_tasks, args=(page, job), daemon=True).start()
            before = master.cpu()
            subprocess.run([f"{options.bin}/cluster_probe", "noop", "--tasks", str(options.tasks), "--quiet", "--cluster", address], check=True, stdout=subprocess.DEVNULL)
            time.sleep(3)
            used.append(master.cpu() - before)
        print(f"{'  attempts sent, running and finished':<62} {watcher.tasks:>10,}")
        figure(f"job of {options.tasks:,} tasks: each costs a master that is watched", 1e6 * (used[1] - used[0]) / options.tasks, TASK_MICROSECONDS, "us of core")
        worker.end()
        if browser:
            live_figures(scratch, browser, address, page)
    finally:
        for program in started[::-1] + [master]:
            program.end()


scratch = tempfile.mkdtemp(prefix="weft-page-bench-")
browser = None
try:
    if shutil.which("chromium") and shutil.which("chromedriver"):
        browser = Browser(scratch)
        log_figures(scratch, browser)
    else:
        print("left out: there is no chromium; apt-get install chromium chromium-driver python3-selenium")
    master_figures(scratch, browser)
finally:
    if browser:
        browser.end()
    shutil.rmtree(scratch, ignore_errors=True)
sys.exit(1 if missed else 0)
