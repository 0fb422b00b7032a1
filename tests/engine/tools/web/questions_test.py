#!/usr/bin/python3
"""Ten questions that people ask of a cluster, each answered on its page by two clicks at most, in a real Chromium.

questions_test.py BIN [SCREENSHOTS]    exit code 77 where there is no chromium, chromium-driver or python3-selenium (Debian's packages)
"""
import json, os, re, signal, subprocess, sys, urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from page_world import ActionChains, By, World, bin_dir, until  # noqa: E402

MOST_CLICKS = 2
world = World()
answered = []


class Question:
    """Begins on the first page, and counts the clicks up to the answer."""

    def __init__(self, text):
        self.text = text
        self.clicks = 0
        world.go("/")
        world.sees("Workers")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            assert self.clicks <= MOST_CLICKS, f"{self.text}: {self.clicks} clicks"
            answered.append(f"{self.text} ({self.clicks})")

    def click(self, path):
        until(lambda: world.driver.find_element(By.XPATH, path).click() is None, path)
        self.clicks += 1

    def job(self, name):
        """By the list of jobs; of several of that name, the newest."""
        self.click("//nav/a[.='Jobs']")
        self.click(f"(//table[caption='Jobs, the newest first']//a[.='{name}'])[1]")


def run(program, *words, fails=False):
    done = subprocess.run([f"{bin_dir}/{program}", *words, "--quiet", "--cluster", world.master], capture_output=True, text=True, timeout=120)
    assert (done.returncode != 0) == fails, done.stderr


try:
    world.cluster()
    world.browser()
    driver = world.driver
    # What happened: last week's run, and this week's with a thousand times as much; a hot key; a failure; a worker that was killed.
    run("cluster_probe", "sums", "--records", "20000", "--tasks", "10", "--name", "weekly", "--user", "ann")
    run("cluster_probe", "sums", "--records", "20000000", "--tasks", "10", "--name", "weekly", "--user", "ann")
    run("ailing_probe", "hot", "--partitions", "8", "--name", "by customer", "--user", "bob")
    run("cluster_probe", "throw", "--name", "broken", "--user", "bob", fails=True)
    with open(world.scratch + "/book.txt", "w") as book:
        book.write("to be or not to be\n" * 10000)
    run("wordcount", "--input", world.scratch + "/book.txt", "--output", world.scratch + "/counts", "--name", "words", "--user", "ann")
    world.start("noop", "--tasks", "20000", "--milliseconds", "50", "--name", "long one", "--user", "carol", "--quiet", "--cluster", world.master)
    until(lambda: json.loads(world.weft("job", "list", "--json"))[-1]["finished_tasks"] > 20, "some of its tasks")
    world.workers[2].send_signal(signal.SIGKILL)
    until(lambda: len(json.load(urllib.request.urlopen(f"http://{world.page}/api/v1/past"))["seconds_ago"]) >= 3, "three samples")

    with Question("Why is this job slow?") as question:
        question.job("by customer")
        world.sees("Where its time went", "which limits the job")
        assert re.search(r"Stage \d+ has \d+ % of the ", world.text()), world.text()

    with Question("Who took my slots then?"):
        world.sees("Slots by user")
        picture = driver.find_element(By.CSS_SELECTOR, "figure svg")
        ActionChains(driver).move_to_element_with_offset(picture, int(0.49 * picture.size["width"]), 0).perform()
        until(lambda: re.search(r"carol \d", driver.find_element(By.CSS_SELECTOR, "figure figcaption").text), "whose slots they were")
        world.sees("long one", " of carol")
        world.shot("page-cluster")

    with Question("Which worker is ill?"):
        row = lambda: driver.find_element(By.XPATH, "//tr[td[.='w2']]").text
        until(lambda: "dead" in row() and "connection" in row(), "what became of w2")
        world.sees("worker w2 was lost")

    with Question("Is the network the limit?"):
        racks = lambda: driver.find_element(By.XPATH, "//table[caption='Racks']").text
        until(lambda: "Uplink" in racks() and "NetSat" in racks() and re.search(r"r1 .*\d+ %", racks()), lambda: "uplinks in " + racks())

    with Question("What would carbyne have done?") as question:
        question.click("//nav/a[.='Scheduler']")
        question.click("//button[.='Simulate']")
        until(lambda: re.search(r"carbyne \d\.\d\d", world.text()), lambda: "carbyne's row in " + world.text(), 180)
        assert re.search(r"Stay with fair|in place of fair", world.text()), world.text()
        world.shot("page-scheduler")

    with Question("Which key is skewed?") as question:
        question.job("by customer")
        world.sees("of its records have the key '0'")

    with Question("What changed since last week's run?") as question:
        question.job("weekly")
        world.sees("The stage that differs most is reduce_by_key")
        assert re.search(r"It took .*, job 1 ", world.text()), world.text()
        driver.execute_script("document.querySelector('details:has(table)').open = true")
        world.shot("page-job")

    with Question("How long still?"):
        cells = lambda: [cell.text for cell in driver.find_elements(By.XPATH, "//table[caption='Jobs that run']/tbody/tr[contains(., 'long one')]/td")]
        until(lambda: re.fullmatch(r"\d min \d\d s", cells()[-1]), lambda: f"what is left, in {cells()}")

    with Question("Why did it fail?") as question:
        question.job("broken")
        world.sees("failed 4 times", " is bad")

    with Question("What was read?") as question:
        question.job("words")
        world.sees("186 KiB\ninput")

    assert len(answered) == 10, answered
    trouble = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert not trouble, trouble
    print("ok: " + "; ".join(answered))
finally:
    world.end()
