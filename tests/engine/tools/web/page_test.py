#!/usr/bin/python3
"""The page in a real Chromium: every view of a live cluster, while a job runs, after a worker's death, and with many tasks.

page_test.py BIN [SCREENSHOTS]    exit code 77 where there is no chromium, chromium-driver or python3-selenium (Debian's packages)
"""
import json, os, re, shutil, signal, subprocess, sys, urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from page_world import ActionChains, By, Keys, Select, World, bin_dir, until  # noqa: E402

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
    until(lambda: re.search(r"Stay with fair|in place of fair", world.text()), lambda: "advice, and not " + world.text()[:2000], 180)
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
    other = Select(driver.find_element(By.XPATH, "//label[starts-with(., 'Compare with')]/select"))
    until(lambda: other.first_selected_option.get_attribute("value") == "3", "the latest run that finished")
    other.select_by_value("1")
    world.sees("It took", "; it read", "job 1 ")
    other.select_by_value("2")
    world.sees("job 2 ")
    driver.find_element(By.XPATH, "//summary[.='Stages of both']").click()
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

        # The one that leads is gone: the page leads to that of the other one, to what was looked at.
        world.go("/scheduler")
        until(lambda: driver.execute_script("return others.length") == 1, "the page to know the other master")
        assert not driver.find_elements(By.CSS_SELECTOR, "#status a"), "a link to a master that does not lead"
        world.leader.send_signal(signal.SIGKILL)
        until(lambda: driver.find_element(By.CSS_SELECTOR, "#status a").text == world.other_page, "the link to the other master's page")
        assert "does not answer; what is shown is old; another master may lead" in driver.find_element(By.ID, "status").text
        def there():
            with urllib.request.urlopen(f"http://{world.other_page}/healthz", timeout=5) as answer:
                return answer.status == 200
        until(there, "the other master to lead")
        driver.find_element(By.CSS_SELECTOR, "#status a").click()
        until(lambda: driver.current_url == f"http://{world.other_page}/scheduler" and driver.find_element(By.ID, "status").text == "live", "the page of the other master")
    errors = [line["message"] for line in driver.get_log("browser") if line["level"] == "SEVERE" and "Failed to load resource" not in line["message"] and "ERR_" not in line["message"]]
    assert not errors, errors
    print(f"ok: first paint after {painted:.0f} ms with {many} tasks, script and style {sum(sizes)} bytes")
finally:
    world.end()
