// Disks that are full or give errors, one and all of them, under a running cluster: clear errors, nothing acknowledged lost, and
// all well when the disks are.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/sanitized.hpp"
#include "tests/cluster/file_cluster.hpp"

namespace weft::test {
namespace {

class DiskFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime wants to be loaded first";
  }
  void start(int workers, int directories = 2) {
    FileClusterOptions options;
    options.directories = directories;
    options.environment = {{"LD_PRELOAD", WEFT_DISK_FAULTS_LIBRARY}, {"WEFT_DISK_FAULTS", scratch / "faults"}};
    cluster = std::make_unique<FileCluster>(workers, options);
    before = some_text(2'000'000, 1);
    EXPECT_EQ(put(before, "/before").exit_code, 0);
    EXPECT_TRUE(cluster->healthy()) << cluster->report();
  }
  void fail_on(int error, const std::string& operations, const std::vector<std::string>& directories) {
    std::string text;
    for (const std::string& directory : directories) text += std::to_string(error) + " " + operations + " " + directory + "/\n";
    write_file(scratch / "faults.new", text);
    std::filesystem::rename(scratch / "faults.new", scratch / "faults");
  }
  void mend() { std::filesystem::remove(scratch / "faults"); }
  std::vector<std::string> all_of(std::size_t worker) const {
    return {cluster->chunk_directory(worker, 0), cluster->chunk_directory(worker, 1)};
  }
  std::vector<std::string> all() const {
    std::vector<std::string> directories;
    for (std::size_t i = 0; i < cluster->size(); ++i)
      for (const std::string& one : all_of(i)) directories.push_back(one);
    return directories;
  }
  ProcessResult put(const std::string& content, const std::string& path, const std::string& wait = "30s") {
    write_file(scratch / "content", content);
    return cluster->run_fs({"put", scratch / "content", path, "--chunk-size", "256KiB", "--patience", wait, "--replication",
                            std::to_string(std::min<std::size_t>(cluster->size(), 3))});
  }
  bool reads(const std::string& path, const std::string& content) { return cluster->run_fs({"cat", path}).out == content; }
  bool exists(const std::string& path) { return cluster->run_fs({"stat", path}).exit_code == 0; }

  ScratchDirectory scratch;
  std::unique_ptr<FileCluster> cluster;
  std::string before;
};

struct Kind {
  int error;
  const char* operations;
};
const Kind kKinds[] = {{EIO, "write"},  {EIO, "sync"},     {EIO, "open"},
                       {EIO, "rename"}, {ENOSPC, "write"}, {EROFS, "open,write,rename"}};

TEST_F(DiskFaults, OneDiskOfAWorkerIsPassedOver) {
  start(3);
  int number = 0;
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(std::string(strerror(kind.error)) + " from " + kind.operations);
    fail_on(kind.error, kind.operations, {cluster->chunk_directory(0, 1)});
    const std::string path = "/file-" + std::to_string(++number), text = some_text(3'000'000, static_cast<unsigned>(number));
    const auto result = put(text, path);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(reads(path, text));
    EXPECT_TRUE(cluster->healthy()) << cluster->report();  // on the worker's other disk
    mend();
    cluster->kill_worker(0);
    cluster->start_worker(0);
    EXPECT_TRUE(cluster->ready(3));
    EXPECT_TRUE(cluster->healthy()) << cluster->report();
  }
  EXPECT_TRUE(reads("/before", before));
}

TEST_F(DiskFaults, AWorkerWithoutADiskIsWrittenAround) {
  start(3);
  int number = 0;
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(std::string(strerror(kind.error)) + " from " + kind.operations);
    fail_on(kind.error, kind.operations, all_of(1));
    const std::string path = "/file-" + std::to_string(++number), text = some_text(1'500'000, static_cast<unsigned>(number));
    const auto result = put(text, path);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(has(result.err, "fewer than 3 replicas")) << result.err;
    EXPECT_TRUE(reads(path, text));
    const std::string checked = cluster->run_fs({"fsck", path, "--json"}).out;
    EXPECT_TRUE(has(checked, "\"state\":\"under-replicated\",\"wanted\":3,\"replicas\":2")) << checked;
    EXPECT_FALSE(has(checked, "\"replicas\":1")) << checked;  // never on one alone while a second could have it
    mend();
    cluster->kill_worker(1);
    cluster->start_worker(1);
    EXPECT_TRUE(cluster->ready(3));
    EXPECT_TRUE(cluster->healthy()) << cluster->report();
  }
  EXPECT_TRUE(reads("/before", before));
}

TEST_F(DiskFaults, WithoutAnyDiskAWriteFailsAndNothingIsLost) {
  start(2);
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(std::string(strerror(kind.error)) + " from " + kind.operations);
    fail_on(kind.error, kind.operations, all());
    const auto result = put(some_text(600'000, 3), "/file", "2s");
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_TRUE(has(result.err, "cannot write /file: ")) << result.err;
    EXPECT_FALSE(exists("/file"));
    EXPECT_TRUE(reads("/before", before));
    mend();
    // A disk that was full needs nobody's help; one that gave errors is used again by the next worker.
    for (std::size_t i = 0; i < 2 && kind.error != ENOSPC; ++i) {
      cluster->kill_worker(i);
      cluster->start_worker(i);
    }
    EXPECT_TRUE(cluster->ready(2));
    const auto again = put("x", "/file");
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(cluster->run_fs({"rm", "/file"}).exit_code, 0);
  }
  EXPECT_TRUE(reads("/before", before));
}

TEST_F(DiskFaults, WhatADiskDoesNotGiveIsReadAndCopiedFromOthers) {
  start(4);
  fail_on(EIO, "read", all_of(0));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(reads("/before", before));
  // The scrubber of the first worker finds all its chunks unreadable; the others have them three times in the end.
  EXPECT_TRUE(eventually([&] { return cluster->chunk_files(0).empty(); }));
  EXPECT_TRUE(cluster->healthy()) << cluster->report();
  cluster->kill_worker(0);
  EXPECT_TRUE(reads("/before", before));
}

TEST_F(DiskFaults, APartitionThatADiskDoesNotGiveIsCopiedFromAnother) {
  start(2, 1);
  const auto table = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {program("weft"), "table"});
    words.insert(words.end(), {"--master", cluster->address()});
    return run(words, {.environment = {}, .deadline = std::chrono::seconds(100)});
  };
  const auto whole = [&] { return has(table({"stat", "t"}).out, ", healthy\n"); };
  ASSERT_EQ(table({"create", "t", "--partitions", "1", "--replication", "2"}).exit_code, 0);
  ASSERT_TRUE(eventually(whole, std::chrono::seconds(60)));
  ASSERT_EQ(table({"put", "t", "k", "v"}).exit_code, 0);
  cluster->kill_worker(0);
  const std::string partition = cluster->chunk_directory(0) + "/tables/1-0";
  fail_on(EIO, "read", {partition});
  cluster->start_worker(0);
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(partition + ".damaged-1"); }, std::chrono::seconds(60)));
  mend();
  EXPECT_TRUE(eventually(whole, std::chrono::seconds(60))) << table({"stat", "t"}).out;
  cluster->kill_worker(1);
  EXPECT_EQ(table({"get", "t", "k"}).out, "v\n");
}

TEST_F(DiskFaults, AMasterWhoseDiskFailsSaysSoAndForgetsNothing) {
  start(2);
  int number = 0;
  for (const Kind& kind : {Kind{EIO, "sync"}, Kind{EIO, "write"}}) {
    SCOPED_TRACE(std::string(strerror(kind.error)) + " from " + kind.operations);
    cluster->master().expect_death();
    fail_on(kind.error, kind.operations, {cluster->scratch() / "data"});
    const auto refused = cluster->run_fs({"mkdir", "/unacknowledged-" + std::to_string(++number), "--patience", "1s"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_TRUE(has(refused.err, "the master ends: ") || has(refused.err, "no weft master answers")) << refused.err;
    const auto ended = cluster->master().wait();
    EXPECT_EQ(ended.exit_code, 1);
    EXPECT_TRUE(has(ended.err, "cannot write the namespace in " + (cluster->scratch() / "data"))) << ended.err;
    mend();
    cluster->restart_master();
    EXPECT_TRUE(cluster->ready(2));
    EXPECT_TRUE(reads("/before", before));
  }
}

TEST_F(DiskFaults, AMasterWhoseDiskIsFullIsReadAndGoesOnWhenThereIsRoom) {
  start(2);
  for (const Kind& kind : {Kind{ENOSPC, "write"}, Kind{ENOSPC, "open,write,rename"}, Kind{EDQUOT, "sync"}}) {
    SCOPED_TRACE(std::string(strerror(kind.error)) + " from " + kind.operations);
    fail_on(kind.error, kind.operations, {cluster->scratch() / "data"});
    for (int i = 0; i < 2; ++i) {
      const auto refused = cluster->run_fs({"mkdir", "/d", "--patience", "1s"});
      EXPECT_EQ(refused.exit_code, 1);
      EXPECT_TRUE(has(refused.err, "cannot write the namespace in " + (cluster->scratch() / "data")) &&
                  has(refused.err, "its disk is full; make room there, and it goes on by itself"))
          << refused.err;
      EXPECT_TRUE(reads("/before", before));
    }
    mend();
    EXPECT_TRUE(eventually([&] { return cluster->run_fs({"mkdir", "/after", "-p"}).exit_code == 0; }));
    cluster->kill_master();
    cluster->restart_master();
    EXPECT_TRUE(cluster->ready(2));
    EXPECT_TRUE(exists("/after"));
    EXPECT_TRUE(reads("/before", before));
    EXPECT_EQ(cluster->run_fs({"rm", "-r", "/after"}).exit_code, 0);
    cluster->run_fs({"rm", "-r", "/d"});  // it may have been made
  }
}

}  // namespace
}  // namespace weft::test
