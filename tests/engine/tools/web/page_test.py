#!/usr/bin/python3
"""The page in a real Chromium: every view of a live cluster, while a job runs, after a worker's death, and with many tasks.

page_test.py BIN [SCREENSHOTS]    exit code 77 where there is no chromium, chromium-driver or python3-selenium (Debian's packages)
"""
import json, os, re, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.request

bin_dir = sys.argv[1]
shots = sys.argv[2] if len(sys.argv) > 2 else None
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
        """Two that meet in an etcd; the first has a page."""
        def free():
            with socket.socket() as one:
                one.bind(("127.0.0.1", 0))
                return one.getsockname()[1]
        client, peer = (f"http://127.0.0.1:{free()}" for _ in range(2))
        self.started.append(subprocess.Popen(["etcd", "--data-dir", self.scratch + "/etcd", "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                                              "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        one = ["weft", "master", "--listen", "127.0.0.1:0", "--etcd", client, "--http"]
        self.start(*one, "127.0.0.1:0", "--data-dir", self.scratch + "/m1")
        first = f"{self.scratch}/{len(self.started) - 1}.out"
        self.page = until(lambda: re.search(r"page is at http://([^/]+)/", open(first).read()), "the master that leads")[1]
        self.start(*one, "none", "--data-dir", self.scratch + "/m2", "--standby")

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


world = World()
try:
    world.cluster()
    world.browser()
    driver = world.driver

    # The cluster: three workers on two racks, live.
    world.go("/")
    world.sees("Cluster", "w0", "w1", "w2", "r0", "r1", "ready")
    world.shot("cluster")

    # A job comes while somebody looks at the list; it ends, without a reload.
    world.go("/jobs")
    world.sees("Jobs")
    marker = world.scratch + "/begun"
    waiting = world.job("wait", "--records", "1000000", "--marker", marker)
    until(lambda: driver.find_element(By.CSS_SELECTOR, "td a").click() is None, "the job in the list")
    world.sees("Job 1", "Stages", "Timeline", "Attempts")
    assert driver.current_url.endswith("/jobs/1"), driver.current_url
    world.sees("running")
    assert driver.find_elements(By.CSS_SELECTOR, "svg rect.box"), "there is no graph of stages"
    driver.execute_script("window.confirm = () => true")
    until(lambda: driver.find_element(By.XPATH, "//button[text()='End this job']").is_displayed(), "the button that ends it")
    driver.find_element(By.XPATH, "//button[text()='End this job']").click()
    world.sees("killed on the page")
    waiting.wait(30)
    driver.back()
    world.sees("killed")
    assert driver.current_url.endswith("/jobs")
    killed = json.loads(world.weft("job", "list", "--json"))[0]
    world.sees(f"{killed['finished_tasks']} of {killed['tasks']}")

    # A job that ends well: what the page shows is what the master says.
    assert world.job("sums", "--records", "100000", "--tasks", "40").wait(60) == 0
    world.go("/jobs/2")
    world.sees("finished", "100 %")
    status = json.loads(world.weft("job", "status", "2", "--json"))
    table = until(lambda: [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in driver.find_elements(By.XPATH, "//table[caption='Stages']/tbody/tr")], "its stages")
    assert len(table) == len(status["stages"]), table
    for row, stage in zip(table, status["stages"]):
        assert row[0] == str(stage["id"]) and row[1] == stage["name"], row
        assert f"{stage['finished']} of {stage['tasks']}" in row[3], row
    attempts = sum(line.count('"task_launched"') and '"job":2' in line for line in open(world.scratch + "/events"))
    until(lambda: len(driver.find_elements(By.XPATH, "//table[caption='Attempts']/tbody/tr")) == attempts, f"{attempts} attempts")
    drawn = driver.execute_script("const c = document.querySelector('canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n / d.length * 4")
    assert drawn > 0.05, f"the timeline is empty: {drawn}"
    tasks = sum(stage["tasks"] for stage in status["stages"])
    assert (status["tasks"], status["finished_tasks"], status["running_tasks"]) == (tasks, tasks, 0), status
    world.shot("job")

    # Where its time went: every second of it, and the stage with the most is marked in the graph. Each input of a stage is an edge.
    path = json.load(urllib.request.urlopen(f"http://{world.page}/api/v1/jobs/2/path"))
    spent = path["driver_seconds"] + sum(sum(stage["spent_seconds"].values()) for stage in path["stages"])
    assert abs(spent - path["seconds"]) < 1e-6 and abs(path["seconds"] - status["seconds"]) < 0.1, (path, status["seconds"])
    assert path["limiting_stage"] == max(path["stages"], key=lambda stage: stage["seconds"])["stage"], path
    world.sees("Where its time went", "which limits the job")
    until(lambda: len(driver.find_elements(By.CSS_SELECTOR, "svg rect.limits")) == 1, "the limiting stage in the graph")
    inputs = sum(len(stage["inputs"]) for stage in json.load(urllib.request.urlopen(f"http://{world.page}/api/v1/jobs/2/tasks"))["stages"])
    edges = len(driver.find_elements(By.CSS_SELECTOR, "svg path.edge"))
    assert edges == inputs > 0, f"{edges} edges in the graph, {inputs} inputs"
    read = driver.execute_script("const table = [...document.querySelectorAll('table')].find(one => one.caption?.textContent === 'Attempts'), at = [...table.querySelectorAll('th')].findIndex(one => one.textContent === 'From shuffle'); return [...table.tBodies[0].rows].map(row => row.cells[at].textContent)")
    assert any(one not in ("", "0 B") for one in read), f"no attempt shows what it read of a shuffle: {read}"

    # What its shuffle moved is what its maps wrote, whoever read it; racks have the same sum.
    driver.find_element(By.XPATH, "//summary[contains(., 'Shuffle between')]").click()
    cells = lambda: driver.execute_script("return [...document.querySelectorAll('.matrix tbody tr')].map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))")
    workers = until(cells, "the shuffle matrix")
    matrix = json.load(urllib.request.urlopen(f"http://{world.page}/api/v1/jobs/2/shuffle"))
    assert len(workers) == len(matrix["names"]) and all(len(row) == len(workers) for row in workers), workers
    shuffled = sum(stage["shuffle_bytes"] for stage in status["stages"])
    assert shuffled > 0 and sum(map(sum, matrix["bytes"])) == shuffled and not matrix["stages_left_out"], (shuffled, matrix)
    driver.find_element(By.XPATH, "//button[text()='Racks']").click()
    until(lambda: len(cells()) == 2, "the racks")
    racks = json.load(urllib.request.urlopen(f"http://{world.page}/api/v1/jobs/2/shuffle?by=rack"))
    assert racks["by"] == "rack" and sum(map(sum, racks["bytes"])) == shuffled, racks
    world.shot("shuffle")

    # What one attempt printed: nothing here, and the page says so.
    driver.find_element(By.XPATH, "//table[caption='Attempts']/tbody/tr//button").click()
    world.sees("Output of task 0.")
    driver.find_element(By.XPATH, "//button[text()='Close']").click()

    # After a worker's death.
    world.workers[2].send_signal(signal.SIGKILL)
    world.go("/")
    world.sees("dead")
    world.shot("dead-worker")

    # The other views.
    world.go("/pools")
    world.sees("Fair share")
    open(world.scratch + "/text", "w").write("<b>words</b>\n")
    world.weft("fs", "put", world.scratch + "/text", "/<img src=x onerror=alert(1)>")
    world.go("/files")
    world.sees("<img src=x onerror=alert(1)>", "chunks")
    assert not driver.find_elements(By.CSS_SELECTOR, "main img"), "a name became HTML"
    world.shot("files")
    driver.find_element(By.XPATH, "//a[contains(., 'onerror')]").click()
    world.sees("under-replicated", "2 of 3", "w0, w1")  # the third worker is dead
    assert "path=" in driver.current_url, driver.current_url
    world.go("/tables")
    world.sees("Tables")
    world.go("/scheduler")
    world.sees("fair", "drf", "No task waits.")
    driver.find_element(By.XPATH, "//button[text()='Simulate']").click()
    until(lambda: re.search(r"Stay with fair|in place of fair", world.text()), lambda: "advice, and not " + world.text()[:2000])
    world.sees("fair (present)", "carbyne", "of the last 1 h", "The simulator under fair")
    world.shot("scheduler")
    world.go("/jobs/99")
    world.sees("99")

    # The first page: what happened, and what a moment has, by pointer and by keyboard.
    world.go("/")
    world.sees("Jobs that run", "No job runs", "worker w2 was lost", "Slots by user", "Now: no job ran")
    assert "Tasks that wait 0" not in world.text(), "a picture of zeros"
    slider = driver.find_element(By.CSS_SELECTOR, "input[type=range]")
    slider.send_keys(Keys.HOME)
    until(lambda: " ago (" in world.text(), "another moment than now")
    slider.send_keys(Keys.END)
    world.sees("Now: no job ran")
    ActionChains(driver).move_to_element(driver.find_element(By.CSS_SELECTOR, "figure svg")).perform()
    until(lambda: " ago (" in world.text(), "the moment that is pointed at")
    ran = json.load(urllib.request.urlopen(f"http://{world.page}/api/v1/jobs"))[1]
    picture = driver.find_element(By.CSS_SELECTOR, "figure svg")
    length = max(60, json.load(urllib.request.urlopen(f"http://{world.page}/api/v1/past"))["seconds_ago"][0])
    part = 1 - (ran["submitted_seconds_ago"] - ran["seconds"] / 2) / length
    ActionChains(driver).move_to_element_with_offset(picture, int((part - 0.5) * picture.size["width"]), 0).perform()
    world.sees(f"job 2 {ran['name']}")
    world.shot("past")
    driver.find_element(By.XPATH, "//button[text()='Last week']").click()
    world.sees("A point of the last week stands for 28 min 00 s")

    # Keyboard: the first Tab reaches the link that skips the header; Enter follows links.
    world.go("/jobs")
    world.sees("finished")
    driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert driver.switch_to.active_element.get_attribute("class") == "skip"
    for label in driver.find_elements(By.CSS_SELECTOR, "button, input"):
        assert label.accessible_name or not label.is_displayed(), label.get_attribute("outerHTML")
    assert not driver.find_elements(By.CSS_SELECTOR, "th:not([scope])")

    # A phone, and the dark.
    driver.set_window_size(400, 800)
    for path, word in (("/", "NetSat"), ("/jobs/2", "Attempts"), ("/pools", "Fair share"), ("/jobs", "finished")):
        world.go(path)
        world.sees(word)
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth"), f"{path} is wider than a phone"
    driver.set_window_size(1280, 1000)
    before = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    driver.find_element(By.ID, "theme").click()
    assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") != before
    driver.find_element(By.ID, "theme").click()

    # Numbers are written as by the command line (tests/base/text_test.cpp).
    written = driver.execute_script("return [...[17, 1023, 640 * 1024, 1024 ** 3, 1.3e9].map(bytes), ...[0.85, 12.3, 245, 7380].map(duration)]")
    assert written == ["17 B", "1.00 KiB", "640 KiB", "1.00 GiB", "1.21 GiB", "850 ms", "12.3 s", "4 min 05 s", "2 h 03 min"], written

    # Many tasks: what the browser does with them.
    many = int(os.environ.get("WEFT_PAGE_TASKS", "2000"))
    assert world.job("noop", "--tasks", str(many), "--name", "Nightly <b>no-op</b>").wait(300) == 0
    world.go("/jobs")
    world.sees("Nightly <b>no-op</b>")
    world.go("/jobs/3")
    world.sees("Job 3: Nightly <b>no-op</b>")
    world.sees("Show more of" if many > 200 else "Attempts")
    until(lambda: many <= 200 or f"200 of {many:,} shown" in world.text(), f"{many} attempts")
    until(lambda: str(many) in world.text().replace(",", ""), f"{many} tasks")
    painted = driver.execute_script("return performance.getEntriesByType('paint').find(p => p.name === 'first-contentful-paint').startTime")
    sizes = driver.execute_script("return performance.getEntriesByType('resource').filter(r => /\\.(js|css)$/.test(r.name)).map(r => r.decodedBodySize)")
    world.shot("many-tasks")

    # The same program again: its run before is beside it.
    assert world.job("sums", "--records", "100000", "--tasks", "40").wait(60) == 0
    world.go("/jobs/4")
    world.sees("Earlier runs took")
    before = [f"/jobs/{each['id']}" for each in json.loads(world.weft("job", "list", "--json")) if each["id"] < 4 and each["name"] == driver.find_element(By.TAG_NAME, "h1").text.split(": ")[1]]
    shown = [link.get_dom_attribute("href") for link in driver.find_elements(By.CSS_SELECTOR, ".runs a")]
    assert shown == before and "/jobs/2" in shown, f"runs before: {shown}, not {before}"
    Select(driver.find_element(By.XPATH, "//label[starts-with(., 'Compare with')]/select")).select_by_value("2")
    world.sees("It took", "; it read", "job 2 ")
    compared = until(lambda: driver.find_elements(By.XPATH, "//table[starts-with(caption, 'Its stages above')]/tbody/tr"), "stages of both")
    stages = {each: json.loads(world.weft("job", "status", str(each), "--json"))["stages"] for each in (2, 4)}
    assert len(compared) == len(stages[4]), f"{len(compared)} rows of {stages[4]}"
    tasks = [row.find_elements(By.TAG_NAME, "td")[2].text.split("\n") for row in compared]
    assert tasks == [[str(stages[job][at]["tasks"]) for job in (4, 2)] for at in range(len(tasks))], tasks
    world.shot("compared")

    # Who waits for what.
    marker = world.scratch + "/spins"
    spinning = world.job("spin", "--marker", marker, "--tasks", "40", "--name", "spins")
    until(lambda: os.path.exists(marker), "a task")
    world.go("/scheduler")
    world.sees("spins", "36 of stage 0")
    world.weft("job", "kill", "5")
    assert spinning.wait(60) != 0

    # A report of that job is one file that shows the same.
    def stages_shown():
        return [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in driver.find_elements(By.XPATH, "//table[caption='Stages']/tbody/tr")]

    def numbers_of(rows):  # all but what a log does not tell: why a stage waits
        return [row[:-1] for row in rows]

    world.go("/jobs/2")
    world.sees("finished", "Show output")
    until(lambda: driver.find_elements(By.XPATH, "//table[caption='Attempts']/tbody/tr"), "its attempts")
    until(lambda: stages_shown() and stages_shown()[0][7] != "–", "its median")
    live = numbers_of(stages_shown())
    log = world.scratch + "/events"
    subprocess.run([bin_dir + "/weft", "job", "report", "2", "--event-log", log, "-o", world.scratch + "/report.html"], check=True, timeout=60)
    driver.get("file://" + world.scratch + "/report.html")
    world.sees("Job 2", "finished", "Timeline")
    until(lambda: numbers_of(stages_shown()) == live, lambda: f"the same stages: {numbers_of(stages_shown())} instead of {live}")
    assert len(driver.find_elements(By.XPATH, "//table[caption='Attempts']/tbody/tr")) == attempts
    world.shot("report")

    # And so does a page of the log alone.
    past = world.start("weft", "history", log, "--http", "127.0.0.1:0")
    at = until(lambda: re.search(r"http://([^/]+)/", open(f"{world.scratch}/{len(world.started) - 1}.out").read()), "the page of the log")[1]
    driver.get(f"http://{at}/jobs")
    world.sees("finished", "killed")
    assert [link.text for link in driver.find_elements(By.CSS_SELECTOR, "nav a") if link.is_displayed()] == ["Cluster", "Jobs"], "views of which logs tell nothing"
    driver.get(f"http://{at}/jobs/2")
    until(lambda: numbers_of(stages_shown()) == live, lambda: f"the same stages: {numbers_of(stages_shown())} instead of {live}")
    past.send_signal(signal.SIGTERM)
    assert past.wait(20) == 0
    world.go("/jobs/3")
    world.sees("Attempts")

    # The master ends: the page says so, and what it shows stays.
    world.started[0].send_signal(signal.SIGTERM)
    until(lambda: "does not answer" in driver.find_element(By.ID, "status").text, "the page to notice")
    assert world.started[0].wait(30) == 0

    # Another one comes in its place: the page goes on by itself, with the jobs that that one has from its directory.
    world.start_master(world.master, world.page)
    until(lambda: driver.find_element(By.ID, "status").text == "live", "the page to go on")
    driver.find_element(By.XPATH, "//nav/a[text()='Jobs']").click()
    world.sees("killed on the page")

    # Several masters: which one leads, and which can take over. Of the one before there was nothing to say.
    world.go("/")
    world.sees("Workers")
    assert "Masters" not in world.text(), world.text()
    if shutil.which("etcd"):
        world.masters()
        world.go("/")
        world.sees("Masters", "leads", "in sync")
        world.shot("masters")
    errors = [line["message"] for line in driver.get_log("browser") if line["level"] == "SEVERE" and "Failed to load resource" not in line["message"] and "ERR_" not in line["message"]]
    assert not errors, errors
    print(f"ok: first paint after {painted:.0f} ms with {many} tasks, script and style {sum(sizes)} bytes")
finally:
    world.end()
