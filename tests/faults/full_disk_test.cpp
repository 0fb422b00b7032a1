// Disks that are really full, under a master and its workers: what is there is read, what cannot be written is refused in one line,
// no process dies, and all goes on by itself when there is room. Needs the right to mount.
#include "tests/cluster/file_cluster.hpp"
#include "tests/support/small_disk.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  }
  void start(FileClusterOptions options) {
    options.reserve = "0";
    cluster = std::make_unique<FileCluster>(1, options);
    for (int i = 0; i < 6; ++i) {
      texts.push_back(some_text(300'000, static_cast<unsigned>(i)));
      ASSERT_EQ(put(texts.back(), "/f" + std::to_string(i)).exit_code, 0);
    }
    ASSERT_EQ(table({"create", "t", "--partitions", "4", "--replication", "1"}).exit_code, 0);
    for (int i = 0; i < 8; ++i) ASSERT_EQ(table({"put", "t", "k" + std::to_string(i), "v"}).exit_code, 0);
  }
  ProcessResult put(const std::string& content, const std::string& path) {
    write_file(scratch / "content", content);
    return cluster->run_fs({"put", scratch / "content", path, "--replication", "1", "--patience", "1s"});
  }
  ProcessResult table(std::vector<std::string> words) {
    words.insert(words.begin(), {program("weft"), "table"});
    words.insert(words.end(), {"--master", cluster->address()});
    return run(words, {.environment = {}, .deadline = 100s});
  }
  void expect_read() {
    for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(cluster->run_fs({"cat", "/f" + std::to_string(i)}).out, texts[i]) << i;
    for (int i = 0; i < 8; ++i) {
      const std::string key = "k" + std::to_string(i);
      EXPECT_TRUE(eventually([&] { return table({"get", "t", key}).out == "v\n"; }, 60s)) << table({"get", "t", key}).err;
    }
  }
  /// Once there is room: a scan is of a snapshot, which is a write.
  void expect_scanned() { EXPECT_EQ(table({"scan", "t"}).out, "k0\tv\nk1\tv\nk2\tv\nk3\tv\nk4\tv\nk5\tv\nk6\tv\nk7\tv\n"); }
  static bool one_line(const std::string& text) { return std::count(text.begin(), text.end(), '\n') == 1; }

  ScratchDirectory scratch;
  SmallDisk disk{scratch / "disk", 100};
  std::unique_ptr<FileCluster> cluster;
  std::vector<std::string> texts;
};

TEST_F(FullDisk, AWorkerServesWhatItHasRefusesTheRestAndGoesOnByItself) {
  FileClusterOptions options;
  options.chunks = disk.path();
  start(options);
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted ? "at its start" : "while it runs");
    if (restarted) cluster->kill_worker(0);
    disk.fill();
    if (restarted) {
      cluster->start_worker(0);
      ASSERT_TRUE(cluster->ready(1));
    }
    expect_read();
    // Again and again: what a start tidies away is gone a moment later.
    std::string refusal;
    EXPECT_TRUE(eventually([&] {
      disk.fill();
      const auto file = put(texts[0], "/new");
      if (file.exit_code == 0) cluster->run_fs({"rm", "/new"});
      refusal = file.err;
      return file.exit_code == 1;
    }));
    EXPECT_TRUE(has(refusal, "none of 1 workers has room for")) << refusal;
    EXPECT_TRUE(eventually([&] {
      disk.fill();
      const auto row = table({"put", "t", "k1", std::string(10'000, 'x')});
      if (row.exit_code == 0) table({"put", "t", "k1", "v"});
      refusal = row.err;
      return row.exit_code == 1;
    }));
    EXPECT_TRUE(has(refusal, "full") && one_line(refusal)) << refusal;
    expect_read();
    EXPECT_TRUE(cluster->worker(0).running());
    disk.clear();
    EXPECT_TRUE(eventually(
        [&] {
          return table({"put", "t", "k1", "v"}).exit_code == 0;
        },
        60s))
        << table({"put", "t", "k1", "v"}).err;
    EXPECT_TRUE(eventually([&] { return put(texts[0], "/new").exit_code == 0; }, 60s));
    EXPECT_EQ(cluster->run_fs({"rm", "/new"}).exit_code, 0);
    expect_scanned();
    EXPECT_TRUE(cluster->worker(0).running());
  }
}

TEST_F(FullDisk, OfOneReplicaIsNoneOfATable) {
  FileClusterOptions options;
  options.chunks = scratch / "workers";
  options.reserve = "0";
  std::filesystem::create_directories(scratch / "workers/chunks-1");
  SmallDisk full{scratch / "workers/chunks-1", 100};
  cluster = std::make_unique<FileCluster>(3, options);
  ASSERT_EQ(table({"create", "t", "--partitions", "6", "--replication", "3"}).exit_code, 0);
  const auto written = [&](const std::string& value) {
    for (int i = 0; i < 12; ++i) {
      const auto row = table({"put", "t", "k" + std::to_string(i), value});
      EXPECT_EQ(row.exit_code, 0) << row.err;
    }
    const auto scanned = table({"scan", "t"});
    EXPECT_EQ(scanned.exit_code, 0) << scanned.err;
    std::string expected;
    for (const char* number : {"0", "1", "10", "11", "2", "3", "4", "5", "6", "7", "8", "9"})
      expected += "k" + std::string(number) + "\t" + value + "\n";
    EXPECT_EQ(scanned.out, expected);
  };
  written("before");
  full.fill();
  written("meanwhile");
  EXPECT_TRUE(has(table({"stat", "t"}).out, "is full")) << table({"stat", "t"}).out;
  full.clear();
  EXPECT_TRUE(eventually([&] { return has(table({"list"}).out, "healthy"); }, 60s)) << table({"list"}).out;
  written("afterwards");
  for (std::size_t w = 0; w < 3; ++w) EXPECT_TRUE(cluster->worker(w).running());
}

TEST_F(FullDisk, ThatIsFullWhenAWorkerTakesItForTheFirstTimeIsTakenWhenThereIsRoom) {
  FileClusterOptions options;
  options.chunks = disk.path();
  options.reserve = "0";
  std::filesystem::create_directories(disk.path() + "/chunks-1");
  disk.fill();
  cluster = std::make_unique<FileCluster>(0, options);
  cluster->add_worker();
  ASSERT_TRUE(cluster->ready(1));
  EXPECT_EQ(put("some text", "/f").exit_code, 1);
  disk.clear();
  EXPECT_TRUE(eventually([&] { return put("some text", "/f").exit_code == 0; }, 60s)) << put("some text", "/f").err;
  EXPECT_TRUE(cluster->worker(0).running());
}

TEST_F(FullDisk, BesideOneWithRoomIsReadAndTheOtherIsWritten) {
  SmallDisk second{scratch / "pair/chunks-1-2", 60};
  FileClusterOptions options;
  options.chunks = scratch / "pair";
  options.directories = 2;
  std::filesystem::create_directories(scratch / "pair/chunks-1");
  SmallDisk first{scratch / "pair/chunks-1", 60};
  start(options);
  std::error_code none;
  ASSERT_FALSE(std::filesystem::is_empty(scratch / "pair/chunks-1/chunks", none));
  ASSERT_FALSE(std::filesystem::is_empty(scratch / "pair/chunks-1-2/chunks", none));
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted ? "at its start" : "while it runs");
    if (restarted) cluster->kill_worker(0);
    second.fill();
    if (restarted) {
      cluster->start_worker(0);
      ASSERT_TRUE(cluster->ready(1));
    }
    expect_read();
    const std::string path = restarted ? "/new-1" : "/new-0";
    const auto written = put(texts[0], path);
    EXPECT_EQ(written.exit_code, 0) << written.err;
    EXPECT_EQ(cluster->run_fs({"cat", path}).out, texts[0]);
    second.clear();
  }
}

TEST_F(FullDisk, OfAWorkerTakesNoDriversAndJobsFinishOnOthers) {
  FileClusterOptions options;
  options.work = {disk.path() + "/work"};
  cluster = std::make_unique<FileCluster>(2, options);
  write_file(scratch / "content", some_text(300'000, 1));
  ASSERT_EQ(cluster->run_fs({"put", scratch / "content", "/in", "--replication", "2"}).exit_code, 0);
  const auto weft = [this](std::vector<std::string> words) {
    words.insert(words.begin(), {program("weft"), "--master", cluster->address()});
    return run(words, {.environment = {}, .deadline = 100s});
  };
  const auto submit = [&](int job) {
    return weft({"submit", "--detach", program("wordcount"), "--", "--quiet", "--input", "weft:///in", "--output",
                 "weft:///out" + std::to_string(job)});
  };
  for (int job = 1; job <= 8; ++job) {  // they spread over both workers, which have the program when the disk is full
    if (job == 5) disk.fill();
    const auto submitted = submit(job);
    EXPECT_EQ(submitted.out, std::to_string(job) + "\n") << submitted.err;
    if (job < 5) {
      ASSERT_EQ(weft({"job", "wait", std::to_string(job)}).exit_code, 0);
    }
  }
  const std::string expected = cluster->run_fs({"cat", "/out1/part-00000"}).out;
  for (int job = 5; job <= 8; ++job) {
    const auto waited = weft({"job", "wait", std::to_string(job)});
    EXPECT_EQ(waited.exit_code, 0) << waited.err;
    EXPECT_EQ(cluster->run_fs({"cat", "/out" + std::to_string(job) + "/part-00000"}).out, expected);
  }
}

TEST_F(FullDisk, AMasterAnswersRefusesChangesAndForgetsNothing) {
  FileClusterOptions options;
  options.data = disk.path() + "/data";
  options.master = {"--journal", disk.path() + "/journal", "--profiles", disk.path() + "/profiles"};
  start(options);
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted ? "at its start" : "while it runs");
    if (restarted) cluster->kill_master();
    disk.fill();
    if (restarted) cluster->restart_master();
    std::string acknowledged;
    for (int i = 0; i < 200; ++i) {  // the last page of a log may have room
      const std::string name = "/d" + std::to_string(restarted) + "-" + std::to_string(i);
      const auto made = cluster->run_fs({"mkdir", name, "--patience", "1s"});
      if (made.exit_code == 0) {
        acknowledged = name;
        continue;
      }
      EXPECT_TRUE(has(made.err, "cannot write the namespace in " + disk.path()) &&
                  has(made.err, "its disk is full; make room there") && one_line(made.err))
          << made.err;
      break;
    }
    EXPECT_EQ(cluster->run_fs({"ls", "/"}).exit_code, 0);
    const auto jobs = run({program("weft"), "job", "list", "--master", cluster->address()}, {.environment = {}, .deadline = 100s});
    EXPECT_EQ(jobs.exit_code, 0) << jobs.err;
    for (std::size_t i = 0; i < texts.size(); ++i)  // once its worker is back
      EXPECT_TRUE(eventually([&] { return cluster->run_fs({"cat", "/f" + std::to_string(i)}).out == texts[i]; }, 60s)) << i;
    if (!restarted) expect_read();  // who is primary is not decided on a full disk
    EXPECT_TRUE(cluster->master().running());
    disk.clear();
    EXPECT_TRUE(eventually([&] { return cluster->run_fs({"mkdir", "/after", "-p"}).exit_code == 0; }, 60s));
    EXPECT_TRUE(cluster->ready(1));
    expect_read();
    if (!acknowledged.empty()) {
      EXPECT_EQ(cluster->run_fs({"stat", acknowledged}).exit_code, 0) << acknowledged;
    }
  }
}

}  // namespace
}  // namespace weft::test
