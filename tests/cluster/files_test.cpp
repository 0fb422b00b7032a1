// The files of a cluster of real processes: the command line, failures, jobs.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <sys/mount.h>
#include <sys/stat.h>

#include "tests/cluster/file_cluster.hpp"
#include "tests/reference/reference.hpp"
#include "tests/storage/compressed_files.hpp"

namespace weft::test {
namespace {

class Files : public testing::Test {
 protected:
  void start(int workers, FileClusterOptions options = {}) { cluster = std::make_unique<FileCluster>(workers, std::move(options)); }
  ProcessResult good(std::vector<std::string> words) {
    const ProcessResult result = cluster->run_fs(words);
    EXPECT_EQ(result.exit_code, 0) << words[0] << ": " << result.err;
    return result;
  }
  std::string refusal(std::vector<std::string> words) {
    const ProcessResult result = cluster->run_fs(words);
    EXPECT_EQ(result.exit_code, 1) << words[0] << ": " << result.out;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  }
  void put(const std::string& content, const std::string& path, std::vector<std::string> extra = {}) {
    write_file(files / "content", content);
    std::vector<std::string> words{"put", files / "content", path};
    words.insert(words.end(), extra.begin(), extra.end());
    good(words);
  }
  /// Whether the file reads as it should; compared here, so that a failure prints no megabytes.
  bool reads(const std::string& path, const std::string& content) { return good({"cat", path}).out == content; }

  ScratchDirectory files;
  std::unique_ptr<FileCluster> cluster;
};

TEST_F(Files, AreKeptByTheCommandLine) {
  start(3);
  const std::string text = some_text(3'000'000, 1);
  put(text, "/words", {"--chunk-size", "1MiB"});
  EXPECT_TRUE(reads("weft://words", text));
  good({"mkdir", "-p", "/a/b/c"});
  EXPECT_TRUE(has(refusal({"mkdir", "/a"}), "/a exists"));
  write_file(files / "one", "1\n2\n3\n");
  write_file(files / "two", "");
  good({"put", files / "one", files / "two", "/a/b/"});
  EXPECT_TRUE(reads("/a/b/one", "1\n2\n3\n"));
  EXPECT_TRUE(reads("/a/b/two", ""));
  EXPECT_EQ(good({"head", "-n", "2", "/a/b/one"}).out, "1\n2\n");
  EXPECT_EQ(good({"tail", "-n", "1", "/a/b/one"}).out, "3\n");
  EXPECT_EQ(good({"tail", "-c", "5", "/words"}).out, text.substr(text.size() - 5));
  EXPECT_EQ(good({"head", "-c", "7", "/words"}).out, text.substr(0, 7));
  const std::string listed = good({"ls", "/a/b", "--json"}).out;
  EXPECT_TRUE(has(listed, "\"path\":\"/a/b/one\",\"type\":\"file\",\"bytes\":6,\"replication\":3")) << listed;
  EXPECT_TRUE(has(good({"stat", "/words"}).out, "3000000 bytes in 3 chunks of up to 1.00 MiB, 3 replicas"));
  EXPECT_TRUE(has(good({"du", "/", "--json"}).out, "\"bytes\":3000006,\"stored_bytes\":9000018,\"files\":3"));
  good({"mv", "/a/b", "/moved"});
  EXPECT_TRUE(has(refusal({"cat", "/a/b/one"}), "/a/b/one does not exist"));
  EXPECT_EQ(good({"cat", "/moved/o*", "/moved/t*"}).out, "1\n2\n3\n");
  EXPECT_TRUE(has(refusal({"cat", "/moved/x*"}), "nothing matches /moved/x*"));
  good({"get", "-r", "/moved", files / "copy"});
  EXPECT_EQ(read_file(files / "copy/one"), "1\n2\n3\n");
  good({"put", "-r", files / "copy", "/again"});
  EXPECT_TRUE(reads("/again/one", "1\n2\n3\n"));
  // A directory behind ".." and a link; a pipe, and a link to where it is.
  const std::string deep = files / "real/deep";
  std::filesystem::create_directories(deep + "/a");
  std::filesystem::create_directories(deep + "/b");
  write_file(deep + "/a/f", "a\n");
  write_file(deep + "/b/f", "b\n");
  std::filesystem::create_directory_symlink(deep, files / "copy/link");
  const std::string behind = files / "copy/link/../deep";
  EXPECT_TRUE(has(refusal({"cp", behind, "weft://copied"}), "is a directory; say --recursive"));
  good({"cp", "-r", behind, "weft://copied"});
  EXPECT_TRUE(reads("/copied/a/f", "a\n") && reads("/copied/b/f", "b\n"));
  good({"rm", "-r", "/copied"});
  std::filesystem::create_directory_symlink(".", deep + "/self");
  EXPECT_TRUE(has(refusal({"put", "-r", deep, "/loop"}), "/self leads to a directory that it is in"));
  std::filesystem::remove(deep + "/self");
  ASSERT_EQ(::mkfifo((deep + "/pipe").c_str(), 0600), 0);
  EXPECT_TRUE(has(refusal({"put", "-r", deep, "/pipe"}), "/pipe is neither a file nor a directory"));
  good({"rm", "-r", "/loop", "/pipe"});
  good({"setrep", "2", "/words"});
  EXPECT_TRUE(eventually([&] { return FileCluster::number(good({"fsck", "/words", "--blocks", "--json"}).out, "replicas") == 2; }));
  EXPECT_TRUE(has(refusal({"rm", "/moved"}), "not empty"));
  good({"rm", "-r", "/moved", "/again", "/a"});
  EXPECT_EQ(good({"ls", "/", "--json"}).out.find("moved"), std::string::npos);
  EXPECT_TRUE(has(good({"fsck", "/", "--blocks", "--locations"}).out, "replicas, healthy: "));
  EXPECT_TRUE(has(good({"report"}).out, "1 file in 1 directory"));
}

TEST_F(Files, StreamThroughStandardInputAndOutput) {
  start(2);
  const std::string text = some_text(300'000, 2);
  write_file(files / "in", text);
  const auto result = run({"/bin/sh", "-c",
                           program("weft") + " fs put - /f --chunk-size 64KiB --master " + cluster->address() + " < " +
                               (files / "in") + " && " + program("weft") + " fs get /f - --master " + cluster->address()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out == text);
  EXPECT_TRUE(has(result.err, "fewer than 3 replicas")) << result.err;
}

TEST_F(Files, RefuseWhatCannotBe) {
  start(1);
  put("x", "/f", {"--replication", "1"});
  EXPECT_TRUE(has(refusal({"put", files / "content", "/f"}), "/f exists"));
  EXPECT_TRUE(has(refusal({"put", files / "content", "/none/f"}), "the directory /none does not exist"));
  EXPECT_TRUE(has(refusal({"put", files / "absent", "/g"}), "absent"));
  EXPECT_TRUE(has(refusal({"mkdir", "/a/../b"}), "holds . or .."));
  EXPECT_TRUE(has(refusal({"mkdir", "relative"}), "is not absolute"));
  EXPECT_TRUE(has(refusal({"mkdir", "/" + std::string(300, 'x')}), "longer than 255"));
  EXPECT_TRUE(has(refusal({"mkdir", ""}), "is empty"));
  EXPECT_TRUE(has(refusal({"rm", "/"}), "root"));
  EXPECT_TRUE(has(refusal({"mv", "/f", "/f/g"}), "/f"));
  EXPECT_TRUE(has(refusal({"setrep", "0", "/f"}), "1 to 64 replicas"));
  EXPECT_TRUE(has(refusal({"put", files / "content", "/h", "--chunk-size", "1KiB"}), "chunks have 64KiB to"));
  good({"quota", "ann", "--bytes", "100KiB"});
  write_file(files / "large", std::string(200'000, 'x'));
  EXPECT_TRUE(has(refusal({"put", files / "large", "/large", "--user", "ann", "--replication", "1"}), "quota of ann"));
  EXPECT_TRUE(has(refusal({"stat", "/large"}), "does not exist"));
  good({"put", files / "content", "/small", "--user", "ann", "--replication", "1"});
  const auto no_master = run({program("weft"), "fs", "ls", "--master", "127.0.0.1:1"});
  EXPECT_TRUE(has(no_master.err, "no weft master answers at 127.0.0.1:1")) << no_master.err;
}

TEST_F(Files, AreReadableWithoutAWorkerAndAreReplicatedAgain) {
  start(4);
  const std::string text = some_text(4'000'000, 3);
  put(text, "/f", {"--chunk-size", "256KiB"});
  cluster->kill_worker(0);
  EXPECT_TRUE(reads("/f", text));
  EXPECT_TRUE(cluster->healthy()) << cluster->report();
  cluster->kill_worker(1);
  EXPECT_TRUE(reads("/f", text));
  cluster->start_worker(0);
  EXPECT_TRUE(cluster->ready(3));
  EXPECT_TRUE(cluster->healthy()) << cluster->report();
  EXPECT_TRUE(eventually([&] { return has(good({"fsck", "/", "--json"}).out, "\"chunk_states\":{\"healthy\":16}"); }));
}

TEST_F(Files, OutliveTheMaster) {
  start(3);
  const std::string text = some_text(1'000'000, 4);
  good({"mkdir", "-p", "/a/b"});
  put(text, "/a/b/f", {"--chunk-size", "128KiB"});
  good({"quota", "ann", "--entries", "7"});
  const std::string before = good({"ls", "/a/b", "/a", "--json"}).out;
  cluster->kill_master();
  cluster->restart_master();
  EXPECT_TRUE(cluster->ready(3));
  EXPECT_EQ(good({"ls", "/a/b", "/a", "--json"}).out, before);
  EXPECT_TRUE(reads("/a/b/f", text));
  EXPECT_TRUE(has(cluster->report(), "\"user\":\"ann\",\"bytes\":0,\"entries\":0,\"most_bytes\":0,\"most_entries\":7"));
}

TEST_F(Files, ADamagedReplicaIsNeverServedAndIsReplaced) {
  start(3);
  const std::string text = some_text(500'000, 5);
  put(text, "/f");
  const auto content_of = [&](std::size_t index) {
    const auto found = cluster->chunk_files(index);
    return found.empty() ? std::string() : read_file(found[0]);
  };
  const std::string good_replica = content_of(2);
  for (std::size_t index : {0u, 1u}) {
    const auto found = cluster->chunk_files(index);
    ASSERT_EQ(found.size(), 1u);
    std::fstream file(found[0], std::ios::in | std::ios::out | std::ios::binary);
    const auto at = static_cast<std::streamoff>(123'456 + 100'000 * index);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(at);
    file.put(byte);
  }
  ASSERT_NE(content_of(0), good_replica);
  // Readers find one, the scrubber the other; nobody ever sees a wrong byte.
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(reads("/f", text));
    return content_of(0) == good_replica && content_of(1) == good_replica;
  }));
  EXPECT_TRUE(cluster->healthy()) << cluster->report();
}

/// Flips one bit.
void damage(const std::filesystem::path& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(at);
  file.put(byte);
}

TEST_F(Files, AChunkWithEveryPageGoodSomewhereIsReadAndMendedThoughNoReplicaIsWhole) {
  start(3);
  const std::string text = some_text(500'000, 6);
  put(text, "/f");
  const std::string whole = read_file(cluster->chunk_files(0).at(0));
  for (std::size_t index : {0u, 1u, 2u})
    damage(cluster->chunk_files(index).at(0), static_cast<std::streamoff>(65536 * (1 + 2 * index) + 10));
  EXPECT_TRUE(reads("/f", text));
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(reads("/f", text));
    for (std::size_t index : {0u, 1u, 2u}) {
      const auto found = cluster->chunk_files(index);
      if (found.size() != 1 || read_file(found[0]) != whole || !cluster->chunk_files(index, "quarantine").empty()) return false;
    }
    return true;
  })) << cluster->report();
  EXPECT_TRUE(cluster->healthy()) << cluster->report();
  EXPECT_TRUE(has(good({"fsck", "/f"}).out, "1 healthy"));
}

TEST_F(Files, APageWithoutAGoodCopyIsToldWhereAndTheRestIsSalvaged) {
  start(3);
  const std::string text = some_text(500'000, 7);
  put(text, "/f");
  for (std::size_t index : {0u, 1u, 2u}) damage(cluster->chunk_files(index).at(0), static_cast<std::streamoff>(65536 * 2 + index));
  std::string said;
  EXPECT_TRUE(eventually([&] {
    const ProcessResult result = cluster->run_fs({"cat", "/f"});
    EXPECT_EQ(result.exit_code, 1);
    said = result.err;
    return has(said, "damaged on w1, w2, w3");
  })) << said;
  EXPECT_TRUE(has(said, "bytes 131072 to 196607")) << said;
  EXPECT_TRUE(has(said, "weft fs cat --salvage /f")) << said;

  const ProcessResult salvaged = cluster->run_fs({"cat", "--salvage", "/f"});
  EXPECT_EQ(salvaged.exit_code, 1);
  EXPECT_TRUE(has(salvaged.err, "/f: bytes 131072 to 196607 are missing")) << salvaged.err;
  std::string expected = text;
  std::fill_n(expected.begin() + 131072, 65536, '\0');
  EXPECT_TRUE(salvaged.out == expected);

  const ProcessResult check = cluster->run_fs({"fsck", "/f"});
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_TRUE(has(check.out, "damaged on w1, w2, w3")) << check.out;
  EXPECT_TRUE(has(check.out, "bytes 131072 to 196607")) << check.out;
  for (std::size_t index : {0u, 1u, 2u})  // nothing that is left may be lost
    EXPECT_EQ(cluster->chunk_files(index, "quarantine").size(), 1u);
  const ProcessResult whole = cluster->run_fs({"cat", "--salvage", "/f", "/f"});
  EXPECT_EQ(whole.out.size(), 2 * text.size()) << "each file is written as far as it goes";
}

TEST_F(Files, AWorkerThatReturnsWithStaleChunksDropsThemAndKeepsTheOthers) {
  start(4);
  const std::string kept = some_text(2'000'000, 10), old = some_text(1'000'000, 11), fresh = some_text(1'000'000, 12);
  put(kept, "/kept", {"--chunk-size", "256KiB"});
  put(old, "/removed", {"--chunk-size", "256KiB"});
  put(old, "/replaced", {"--chunk-size", "256KiB"});
  cluster->kill_worker(0);
  ASSERT_FALSE(cluster->chunk_files(0).empty());
  good({"rm", "/removed"});
  put(fresh, "/replaced", {"--chunk-size", "256KiB", "--overwrite"});
  EXPECT_TRUE(eventually([&] { return FileCluster::number(cluster->report(), "removed") == 0; }));  // their chunks are forgotten
  EXPECT_TRUE(cluster->healthy()) << cluster->report();  // three replicas without it: what it still has is too many
  cluster->start_worker(0);
  ASSERT_TRUE(cluster->ready(4));
  const auto chunk_files = [&] {
    std::size_t all = 0;
    for (std::size_t i = 0; i < 4; ++i) all += cluster->chunk_files(i).size();
    return all;
  };
  EXPECT_TRUE(eventually([&] { return chunk_files() == 3 * (8 + 4); })) << chunk_files();
  EXPECT_TRUE(cluster->healthy()) << cluster->report();
  EXPECT_TRUE(reads("/kept", kept));
  EXPECT_TRUE(reads("/replaced", fresh));
  EXPECT_TRUE(has(good({"fsck", "/", "--json"}).out, "\"chunk_states\":{\"healthy\":12}"));
}

TEST_F(Files, AReplicaThatVanishesBehindItsWorkersBackIsMadeAgain) {
  start(3);
  const std::string text = some_text(1'000'000, 13);
  put(text, "/f", {"--chunk-size", "256KiB"});
  for (const auto& file : cluster->chunk_files(1)) std::filesystem::remove(file);
  EXPECT_TRUE(eventually([&] { return cluster->chunk_files(1).size() == 4; })) << cluster->report();
  EXPECT_TRUE(cluster->healthy()) << cluster->report();
  EXPECT_TRUE(reads("/f", text));
}

TEST_F(Files, ADrainedWorkerIsFreeToGo) {
  start(4);
  const std::string text = some_text(2'000'000, 6);
  put(text, "/f", {"--chunk-size", "128KiB"});
  EXPECT_EQ(run({program("weft"), "node", "drain", "w1", "--wait", "--master", cluster->address()}).exit_code, 0);
  EXPECT_TRUE(has(good({"report"}).out, "drained")) << good({"report"}).out;
  cluster->kill_worker(0);
  EXPECT_TRUE(cluster->healthy());
  EXPECT_TRUE(reads("/f", text));
  EXPECT_TRUE(
      has(run({program("weft"), "node", "drain", "nobody", "--master", cluster->address()}).err, "no worker called nobody"));
}

TEST_F(Files, WorkersThatLeaveHandOverWhatOnlyTheyHave) {
  start(3, {.worker = {"--drain", "10min"}});
  const std::string text = some_text(2'000'000, 6);
  put(text, "/f", {"--chunk-size", "128KiB", "--replication", "1"});
  cluster->worker(0).signal(SIGTERM);
  const auto first = cluster->worker(0).wait();
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(has(first.err, "everything is handed over")) << first.err;
  EXPECT_TRUE(reads("/f", text)) << "nothing was only there";
  EXPECT_EQ(FileCluster::number(cluster->report(), "missing_chunks"), 0u);
  cluster->worker(1).signal(SIGTERM);
  EXPECT_EQ(cluster->worker(1).wait().exit_code, 0);
  EXPECT_TRUE(reads("/f", text));
  cluster->worker(2).signal(SIGTERM);
  EXPECT_EQ(cluster->worker(2).wait().exit_code, 0) << "the last one has nobody to hand over to, and does not wait for ever";
  cluster->start_worker(2);
  ASSERT_TRUE(cluster->ready(1));
  EXPECT_TRUE(reads("/f", text));
}

TEST_F(Files, ADrainThatNobodyCanHelpEndsWithALine) {
  start(1);
  put("x", "/f", {"--replication", "1"});
  const auto drained = run({program("weft"), "node", "drain", "w1", "--wait", "--master", cluster->address()});
  EXPECT_EQ(drained.exit_code, 1);
  EXPECT_TRUE(has(drained.err, "w1 still has 1 chunks and partitions, and no other worker takes any")) << drained.err;
  EXPECT_TRUE(reads("/f", "x"));
}

TEST_F(Files, AChunkDirectoryOfAnotherClusterIsRefused) {
  start(1);
  put("x", "/f", {"--replication", "1"});
  cluster->kill_worker(0);
  FileCluster other(0);
  Process stranger({program("weft"), "worker", "--master", other.address(), "--chunk-dir", cluster->chunk_directory(0)});
  const auto result = stranger.wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(has(result.err, cluster->chunk_directory(0))) << result.err;
  cluster->start_worker(0);
  EXPECT_TRUE(cluster->ready(1));
  EXPECT_TRUE(reads("/f", "x"));
}

TEST_F(Files, AMasterWithoutADataDirectorySaysSo) {
  ScratchDirectory scratch;
  Process master({program("weft"), "master", "--listen", "127.0.0.1:0", "--port-file", scratch / "port"});
  ASSERT_TRUE(eventually([&] { return !read_file(scratch / "port").empty(); }));
  std::string address = read_file(scratch / "port");
  address.pop_back();
  const auto result =
      run({program("weft"), "fs", "ls", "--master", address}, {.environment = {}, .deadline = std::chrono::seconds(100)});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(has(result.err, "start it with --data-dir")) << result.err;
}

TEST_F(Files, AreInputsAndOutputsOfJobsEverywhere) {
  start(3);
  const std::string text = some_text(2'000'000, 7);
  put(text, "/words", {"--chunk-size", "256KiB"});
  const auto expected = reference::wordcount({text});
  const std::vector<std::vector<std::string>> places{
      {"--cluster", cluster->address()}, {"--workers", "2", "--files", cluster->address()}, {"--files", cluster->address()}};
  int number = 0;
  for (const auto& where : places) {
    const std::string output = "/out-" + std::to_string(++number);
    std::vector<std::string> command{program("wordcount"), "--quiet",         "--input", "weft://wor*",
                                     "--output",           "weft:/" + output, "--user",  "carol"};
    command.insert(command.end(), where.begin(), where.end());
    const auto result = run(command);
    ASSERT_EQ(result.exit_code, 0) << where[0] << ": " << result.err;
    good({"get", "-r", output, files / ("out" + std::to_string(number))});
    auto lines = part_lines(files / ("out" + std::to_string(number)));
    std::sort(lines.begin(), lines.end());
    EXPECT_TRUE(lines == expected) << where[0];
    EXPECT_TRUE(has(good({"ls", output}).out, output + "/_SUCCESS"));
    for (const std::string& path : {std::string("/"), output}) {  // all of it belongs to who submitted the job
      const std::string listed = good({"ls", path, "--json"}).out;
      for (auto at = listed.find("\"path\":\"" + output); at != std::string::npos; at = listed.find("\"path\":\"" + output, at + 1))
        EXPECT_EQ(FileCluster::text(listed.substr(at), "user"), "carol") << listed;
    }
    const auto again = run(command);
    EXPECT_EQ(again.exit_code, 1);
    EXPECT_TRUE(has(again.err, "exists; remove it, or use --overwrite")) << again.err;
    command.emplace_back("--overwrite");
    EXPECT_EQ(run(command).exit_code, 0);
    good({"rm", output + "/_SUCCESS"});  // as it would be of something else
    const auto foreign = run(command);
    EXPECT_EQ(foreign.exit_code, 1);
    EXPECT_TRUE(has(foreign.err, "no _SUCCESS")) << foreign.err;
    EXPECT_TRUE(has(good({"ls", output}).out, "/part-00000"));
  }
  EXPECT_FALSE(has(good({"ls", "/"}).out, ".weft-")) << "work directories stay";
  const auto lost = run({program("wordcount"), "--quiet", "--input", "weft://words", "--output", files / "x"});
  EXPECT_TRUE(has(lost.err, "--files HOST:PORT")) << lost.err;
}

TEST_F(Files, AreInputsOfJobsWhenTheyAreCompressed) {
  start(3);
  const std::string text = some_text(9'000'000, 8);
  put(storage::bzipped(text), "/words.bz2", {"--chunk-size", "512KiB"});
  put(storage::gzipped(text), "/words.gz", {"--chunk-size", "512KiB"});
  const auto expected = reference::wordcount({text});
  for (const auto& [suffix, words] :
       {std::pair(".bz2", "1 file compressed by bzip2, in "), std::pair(".gz", "1 file compressed by gzip, read by one task")}) {
    std::vector<std::string> command{program("wordcount"), "--input",      std::string("weft://words") + suffix,
                                     "--output",           files / suffix, "--cluster",
                                     cluster->address()};
    const auto result = run(command);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    auto lines = part_lines(files / suffix);
    std::sort(lines.begin(), lines.end());
    EXPECT_TRUE(lines == expected) << suffix;
    command.emplace_back("--explain");
    EXPECT_TRUE(has(run(command).out, words)) << run(command).out;
  }
}

TEST_F(Files, WhatCrossesBetweenRacksIsMeasured) {
  start(2);  // in two racks
  put(some_text(300'000, 7), "/words", {"--chunk-size", "64KiB"});
  const auto crosses = [&](const std::string& node, const std::string& direction) {
    const ProcessResult nodes = run({program("weft"), "node", "list", "--json", "--master", cluster->address()});
    const std::string name = "\"cross_rack_" + direction + "\":";
    const auto begin = nodes.out.find("\"name\":\"" + node + "\"");
    const auto at = nodes.out.find(name, begin);
    if (begin == std::string::npos || at >= nodes.out.find("\"name\":", begin + 1)) return false;
    return std::stod(nodes.out.substr(at + name.size())) > 0;
  };
  int number = 0;
  EXPECT_TRUE(eventually([&] {
    put("some words\n", "/again-" + std::to_string(++number));
    return (crosses("w1", "up") && crosses("w2", "down")) || (crosses("w2", "up") && crosses("w1", "down"));
  })) << "one worker passes on to the other";

  // Files of the same machine are read by descriptor, and written by connection.
  const Process far({program("weft"), "worker", "--master", cluster->address(), "--name", "far", "--rack", "C", "--slots", "8"},
                    {.environment = {}, .deadline = std::chrono::seconds(600), .daemon = true});
  EXPECT_TRUE(eventually([&] {
    const auto job = run({program("wordcount"), "--quiet", "--cluster", cluster->address(), "--input", "weft://words", "--output",
                          "weft://out-" + std::to_string(++number)});
    EXPECT_EQ(job.exit_code, 0) << job.err;
    return crosses("far", "up");
  })) << "its tasks write to workers of other racks";
}

/// The numbers behind "name": in a line of the event log.
std::string field(const std::string& line, const std::string& name) {
  const auto at = line.find("\"" + name + "\":");
  if (at == std::string::npos) return "";
  const auto begin = at + name.size() + 3;
  return line.substr(begin, line.find_first_of(",}", begin) - begin);
}

TEST_F(Files, TheWorkDirectoryOfAKilledDriverGoesWithItsLease) {
  start(1, {.master = {"--lease", "12s"}});
  put("a b a\n", "/words", {"--replication", "1"});
  cluster->kill_worker(0);  // so that the job waits
  Process driver(
      {program("wordcount"), "--quiet", "--cluster", cluster->address(), "--input", "weft://words", "--output", "weft://counts"},
      {.environment = {}, .deadline = std::chrono::seconds(300)});
  const auto listed = [&] { return good({"ls", "/"}).out; };
  ASSERT_TRUE(eventually([&] { return has(listed(), "/.counts.weft-"); })) << driver.err_so_far();
  driver.signal(SIGKILL);
  driver.wait();
  EXPECT_TRUE(has(listed(), "/.counts.weft-"));
  EXPECT_TRUE(eventually([&] { return !has(listed(), ".weft-"); }, std::chrono::seconds(100))) << listed();
}

TEST_F(Files, DirectoriesOfKilledMastersAreRemovedByTheNext) {
  const std::string temporary = files / "tmp";
  std::filesystem::create_directory(temporary);
  const ProcessOptions options{.environment = {{"TMPDIR", temporary}}, .deadline = std::chrono::seconds(300)};
  const std::vector<std::string> command{program("weft"), "master", "--listen", "127.0.0.1:0", "--port-file", files / "port"};
  const auto directories = [&] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(temporary)) found.insert(entry.path().filename());
    return found;
  };
  const auto started = [&] {
    std::filesystem::remove(files / "port");
    auto master = std::make_unique<Process>(command, options);
    EXPECT_TRUE(eventually([&] { return !read_file(files / "port").empty(); })) << master->err_so_far();
    return master;
  };
  const auto alive = started();
  const auto of_alive = directories();
  ASSERT_EQ(of_alive.size(), 1u);
  const auto killed = started();
  EXPECT_EQ(directories().size(), 2u);
  killed->signal(SIGKILL);
  killed->wait();
  EXPECT_EQ(directories().size(), 2u);
  const auto next = started();
  const auto now = directories();
  EXPECT_EQ(now.size(), 2u);
  EXPECT_TRUE(now.contains(*of_alive.begin())) << "its master lives";
}

TEST_F(Files, ASmallFileNeedsLittleRoom) {
  const std::string disk = files / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=8m") != 0) GTEST_SKIP() << "cannot mount";
  start(1, {.chunks = disk});
  put(std::string(373, 'x'), "/small", {"--replication", "1"});
  EXPECT_TRUE(reads("/small", std::string(373, 'x')));
  const std::string text = some_text(2'000'000, 20);
  write_file(files / "in", text);
  const auto streamed = run({"/bin/sh", "-c",
                             program("weft") + " fs put - /streamed --replication 1 --master " + cluster->address() + " < " +
                                 (files / "in")});  // of unknown size
  EXPECT_EQ(streamed.exit_code, 0) << streamed.err;
  EXPECT_TRUE(reads("/streamed", text));
  write_file(files / "large", some_text(12'000'000, 21));
  EXPECT_TRUE(has(refusal({"put", files / "large", "/large", "--replication", "1", "--patience", "1s"}), "room for 11.4 MiB"));
  cluster.reset();
  EXPECT_EQ(::umount(disk.c_str()), 0);
}

/// What users but the owner may do something with, below the directory.
std::string open_to_others(const std::filesystem::path& top) {
  std::string found;
  std::error_code gone;
  for (std::filesystem::recursive_directory_iterator at(top, gone), end; !gone && at != end; at.increment(gone)) {
    const auto status = at->symlink_status(gone);
    if (!gone && (static_cast<unsigned>(status.permissions()) & 077) != 0) found += at->path().string() + "\n";
  }
  return found;
}

TEST_F(Files, WhatMastersAndWorkersMakeIsOpenToNobodyElse) {
  const mode_t before = ::umask(022);
  const std::string temporary = files / "tmp";
  std::filesystem::create_directory(temporary);
  start(2, {.environment = {{"TMPDIR", temporary}}});
  std::filesystem::create_directories(files / "shared");
  put(some_text(300'000, 4), "/words", {"--chunk-size", "64KiB"});
  const auto weft = [&](std::vector<std::string> words) {
    words.insert(words.begin(), program("weft"));
    words.insert(words.end(), {"--master", cluster->address()});
    const ProcessResult result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
  };
  weft({"table", "create", "people", "--partitions", "4"});
  weft({"table", "put", "people", "ann", "here"});
  const auto job = run(
      {program("wordcount"), "--quiet", "--cluster", cluster->address(), "--input", "weft://words", "--output", "weft://counts"});
  EXPECT_EQ(job.exit_code, 0) << job.err;
  const auto local = run({program("wordcount"), "--quiet", "--cluster", cluster->address(), "--files", cluster->address(),
                          "--input", "weft://words", "--output", files / "shared/counts"});
  EXPECT_EQ(local.exit_code, 0) << local.err;
  const auto part = std::filesystem::status(files / "shared/counts/part-00000").permissions();
  EXPECT_EQ(part, std::filesystem::perms(0644)) << "what a job writes is its user's to share";
  EXPECT_EQ(open_to_others(cluster->scratch() / "") + open_to_others(temporary), "");
  cluster.reset();
  ::umask(before);
}

TEST_F(Files, TasksRunWhereTheirChunksAre) {
  start(6, {.master = {"--event-log", files / "events", "--scheduler", "delay(inner=fifo, node_wait=5s)"}});
  put(some_text(12'000'000, 8), "/words", {"--chunk-size", "256KiB"});
  ASSERT_EQ(
      run({program("wordcount"), "--quiet", "--cluster", cluster->address(), "--input", "weft://words", "--output", files / "out"})
          .exit_code,
      0);
  std::map<std::string, std::string> hosts;  // of nodes
  std::map<std::string, std::set<std::string>> of_task;
  std::size_t local = 0, launched = 0;
  std::ifstream log(files / "events");
  for (std::string line; std::getline(log, line);) {
    if (has(line, "\"event\":\"worker_joined\"")) hosts[field(line, "node")] = field(line, "host");
    if (has(line, "\"event\":\"plan_extended\"")) {
      for (auto at = line.find("{\"task\":"); at != std::string::npos; at = line.find("{\"task\":", at + 1)) {
        const std::string split = line.substr(at, line.find('}', at) - at);
        for (int host = 1; host <= 6; ++host)
          if (has(split, "\"h" + std::to_string(host) + "\""))
            of_task[field(split, "task")].insert("\"h" + std::to_string(host) + "\"");
      }
    }
    if (has(line, "\"event\":\"task_launched\"") && field(line, "stage") == "0") {
      ++launched;
      local += of_task[field(line, "task")].count(hosts[field(line, "node")]);
    }
  }
  std::printf("%zu of %zu map tasks ran where their chunk is\n", local, launched);
  EXPECT_GE(launched, 24u);
  EXPECT_GE(static_cast<double>(local), 0.95 * static_cast<double>(launched));
}

}  // namespace
}  // namespace weft::test
