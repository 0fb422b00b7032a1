// Event logs in pieces: how they come to be, and that readers see one log.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/master/log/event_log.hpp"
#include "engine/master/log/log_lines.hpp"
#include "engine/master/log/log_pieces.hpp"
#include "tests/support/small_disk.hpp"

namespace weft::master {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class RotatedLog : public testing::Test {
 protected:
  static Result<EventLog> open(const std::string& path, const LogRotation& rotation) {
    return EventLog::open(path, Time(0), "fifo", rotation);
  }
  std::string path() const { return directory_.path() / "events"; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_.path())) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// The jobs that the log has lines of, in their order.
  std::vector<std::uint64_t> jobs() const {
    std::vector<std::uint64_t> jobs;
    const auto read = for_each_line(pieces_of(path()).value(), [&](const LogLines& lines, std::size_t) -> Result<void> {
      WEFT_ASSIGN(const auto line, lines.parse());
      if (line.job != 0) jobs.push_back(line.job);
      return {};
    });
    EXPECT_TRUE(read.has_value()) << read.error().to_string();
    return jobs;
  }
  static std::string line(std::uint64_t job) { return event_json(Time(job), Event(JobClosed{JobId(job)})); }
  static void write(EventLog& log, std::uint64_t job) {
    log.add(line(job));
    ASSERT_TRUE(log.flush(Time(job)));
  }

  TempDir directory_ = TempDir::create().value();
};
using Jobs = std::vector<std::uint64_t>;
using Names = std::vector<std::string>;

constexpr LogRotation kAlways{.bytes = 1, .period = Duration(0), .keep = 0, .keep_bytes = 0};
constexpr LogRotation kNever{.bytes = 0, .period = Duration(0), .keep = 0, .keep_bytes = 0};

TEST_F(RotatedLog, IsCompressedAndReadAsOne) {
  {
    auto log = open(path(), kAlways).value();
    for (std::uint64_t job = 1; job <= 3; ++job) write(log, job);
    log.settle();
    EXPECT_EQ(names(), (Names{"events", "events.000001.zst", "events.000002.zst", "events.000003.zst"}));
  }
  EXPECT_EQ(jobs(), (Jobs{1, 2, 3}));
  auto log = open(path(), kNever).value();
  EXPECT_EQ(log.began().piece, 4u);
  EXPECT_EQ(event_of(read_file(path()).value().substr(log.began().offset)), "log_started");
  write(log, 4);
  EXPECT_EQ(jobs(), (Jobs{1, 2, 3, 4}));
}

TEST_F(RotatedLog, EveryPieceKnowsTheWorkersThatAreThere) {
  auto log = open(path(), kAlways).value();
  for (std::uint32_t node = 1; node <= 2; ++node) {
    WorkerJoined joined;
    joined.node = NodeId(node);
    joined.name = "w" + std::to_string(node);
    log.repeat(joined.node, event_json(Time(node), Event(joined)));
  }
  log.repeat_no_more(NodeId(1));
  write(log, 1);
  const std::string piece = read_file(path()).value();
  EXPECT_EQ(event_of(piece), "log_continued") << piece;
  EXPECT_EQ(piece.find("\"w1\""), std::string::npos) << piece;
  EXPECT_NE(piece.find("\"w2\""), std::string::npos) << piece;
}

TEST_F(RotatedLog, TheOldestGoWhenThereAreTooMany) {
  auto log = open(path(), {.bytes = 1, .period = Duration(0), .keep = 2, .keep_bytes = 0}).value();
  for (std::uint64_t job = 1; job <= 5; ++job) write(log, job);
  log.settle();
  EXPECT_EQ(names(), (Names{"events", "events.000004.zst", "events.000005.zst"}));
  EXPECT_EQ(jobs(), (Jobs{3, 4, 5})) << "that of job n is the file that was begun for it, n + 1";
}

TEST_F(RotatedLog, TheOldestGoWhenTheyAreTooLarge) {
  auto log = open(path(), {.bytes = 1, .period = Duration(0), .keep = 0, .keep_bytes = 1}).value();
  for (std::uint64_t job = 1; job <= 3; ++job) write(log, job);
  log.settle();
  EXPECT_EQ(names(), (Names{"events"}));
}

TEST_F(RotatedLog, WhatIsWrittenCountsAsWell) {
  auto log = open(path(), {.bytes = 4096, .period = Duration(0), .keep = 0, .keep_bytes = 3000}).value();
  while (names() != (Names{"events", "events.000001.zst"})) {
    write(log, 1);
    log.settle();
  }
  EXPECT_LT(fs::file_size(path() + ".000001.zst"), 1000u);
  while (fs::file_size(path()) < 4096) write(log, 2);
  write(log, 3);
  log.settle();
  EXPECT_EQ(names(), (Names{"events", "events.000001.zst", "events.000002.zst"})) << "the new one is small";
}

TEST_F(RotatedLog, OldOnesGoWhateverTheirSize) {
  auto log = open(path(), {.bytes = 1, .period = Duration(0), .keep = 0, .keep_bytes = 0, .keep_age = 24h}).value();
  for (std::uint64_t job = 1; job <= 3; ++job) write(log, job);
  log.settle();
  ASSERT_EQ(names(), (Names{"events", "events.000001.zst", "events.000002.zst", "events.000003.zst"}));
  fs::last_write_time(path() + ".000001.zst", fs::file_time_type::clock::now() - 25h);
  fs::last_write_time(path() + ".000002.zst", fs::file_time_type::clock::now() - 23h);
  write(log, 4);
  log.settle();
  EXPECT_EQ(names(), (Names{"events", "events.000002.zst", "events.000003.zst", "events.000004.zst"}));
}

TEST_F(RotatedLog, GoesOnWhenTheDiskHasRoomAgain) {
  weft::test::SmallDisk disk(directory_.path() / "disk", 1);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  const std::string file = disk.path() + "/events";
  auto log = open(file, kNever).value();
  const auto add = [&](std::uint64_t job) {
    log.add(line(job));
    return log.flush(Time(job));
  };
  ASSERT_TRUE(add(1));
  disk.fill();
  Result<void> written;
  for (int i = 0; i < 1000 && written; ++i) written = add(2);  // what is left of a page
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().to_string().find("lacks what happens until it can be written again"), std::string::npos)
      << written.error().to_string();
  EXPECT_TRUE(add(3)) << "it is said once";
  EXPECT_EQ(read_file(file).value().back(), '\n') << "what was written of a line is cut off";
  disk.clear();
  ASSERT_TRUE(add(4));
  const std::string text = read_file(file).value();
  EXPECT_EQ(text.find(line(3)), std::string::npos);
  EXPECT_TRUE(text.ends_with(line(4) + "\n")) << text;
}

TEST_F(RotatedLog, IsOpenedOnAFullDiskAndBeginsWhenThereIsRoom) {
  weft::test::SmallDisk disk(directory_.path() / "disk", 1);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  const std::string file = disk.path() + "/events";
  ASSERT_TRUE(write_file(file, std::string(4095, 'x') + '\n'));  // a whole page
  disk.fill();
  auto log = open(file, kNever).value();
  log.add(line(2));
  EXPECT_TRUE(log.flush(Time(2))) << "it was said";
  EXPECT_EQ(fs::file_size(file), 4096u);
  disk.clear();
  for (const std::uint64_t job : {3, 4}) write(log, job);
  const std::string text = read_file(file).value().substr(4096);
  EXPECT_EQ(text.find("{\"time_ns\":0,\"event\":\"log_started\""), 0u) << text;
  EXPECT_EQ(text.find("log_", text.find("log_started") + 1), std::string::npos) << "once";
  EXPECT_EQ(text.find(line(2)), std::string::npos);
  EXPECT_TRUE(text.ends_with(line(3) + "\n" + line(4) + "\n")) << text;
}

TEST_F(RotatedLog, ALogOfYesterdayIsRotatedWhenAMasterStarts) {
  const LogRotation daily{.bytes = 0, .period = 24h, .keep = 0, .keep_bytes = 0};
  { auto log = open(path(), daily).value(); }
  { auto log = open(path(), daily).value(); }
  EXPECT_EQ(names(), Names{"events"}) << "the same day";
  fs::last_write_time(path(), fs::last_write_time(path()) - 24h);
  auto log = open(path(), daily).value();
  log.settle();
  EXPECT_EQ(names(), (Names{"events", "events.000001.zst"}));
}

TEST_F(RotatedLog, WhatACrashLeftIsReadAndGoneOnWith) {
  {
    auto log = open(path(), kNever).value();
    write(log, 1);
  }
  std::ofstream(path(), std::ios::app) << line(2).substr(0, 20);
  EXPECT_EQ(jobs(), Jobs{1});
  {
    auto log = open(path(), kNever).value();
    write(log, 3);
  }
  EXPECT_EQ(jobs(), (Jobs{1, 3}));
  std::ofstream(path(), std::ios::app) << line(4);
  EXPECT_EQ(jobs(), (Jobs{1, 3, 4})) << "only the end of the line is missing";
  std::ofstream(path(), std::ios::app) << std::string(5000, '\0');
  EXPECT_EQ(jobs(), (Jobs{1, 3})) << "and zeros, which a power loss leaves";
}

TEST_F(RotatedLog, WhatAMasterThatDiedHadNotCompressedTheNextDoes) {
  std::ofstream(path() + ".000001") << line(1) << "\n";
  std::ofstream(path() + ".000002") << line(2) << "\n";
  std::ofstream(path() + ".000002.zst.new") << "half";
  EXPECT_EQ(jobs(), (Jobs{1, 2}));
  auto log = open(path(), kNever).value();
  log.settle();
  EXPECT_EQ(names(), (Names{"events", "events.000001.zst", "events.000002.zst"}));
  EXPECT_EQ(jobs(), (Jobs{1, 2}));
}

TEST_F(RotatedLog, OfAPieceThatIsThereTwiceTheCompressedOneCounts) {
  {
    auto log = open(path(), kAlways).value();
    write(log, 1);
    log.settle();
  }
  std::ofstream(path() + ".000001") << line(9) << "\n";
  EXPECT_EQ(jobs(), Jobs{1});
}

TEST_F(RotatedLog, ADirectoryHasLogsInTheOrderOfTheirNamesAndNothingElse) {
  for (const char* name : {"b", "b.000002", "a.000010", "a.000009.zst", "a.index", "b.000003.zst.new", ".hidden"})
    std::ofstream(directory_.path() / name) << "x";
  std::vector<std::string> found;
  const auto pieces = pieces_in(directory_.path()).value();
  for (const LogPiece& piece : pieces) found.push_back(piece.name);
  EXPECT_EQ(found, (Names{"a.000009", "a.000010", "b.000002", "b.000003"}));
  const auto none = pieces_of(path());
  EXPECT_EQ(none.error().code(), Code::not_found);
}

TEST_F(RotatedLog, TwoMastersDoNotWriteOne) {
  auto log = open(path(), kNever).value();
  const auto second = open(path(), kNever);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().to_string().find("another master"), std::string::npos) << second.error().to_string();
}

TEST_F(RotatedLog, DamagedCompressionIsAnErrorThatNamesTheFile) {
  {
    auto log = open(path(), kAlways).value();
    for (std::uint64_t job = 1; job <= 2; ++job) write(log, job);
    log.settle();
  }
  const std::string piece = path() + ".000002.zst";
  fs::resize_file(piece, fs::file_size(piece) - 5);
  const auto read = for_each_line(pieces_of(path()).value(), [](const LogLines&, std::size_t) { return Result<void>(); });
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().to_string().find("events.000002.zst"), std::string::npos) << read.error().to_string();
}

TEST(LogLines, WhatALineIsAboutIsSeenWithoutParsingIt) {
  EXPECT_EQ(job_of(R"({"time_ns":1,"event":"task_launched","job":17,"stage":1})"), 17u);
  EXPECT_EQ(job_of(R"({"time_ns":1,"event":"job_finished","job": 17})"), 17u);
  EXPECT_EQ(job_of(R"({"time_ns":1,"event":"worker_lost","node":1,"reason":"\"job\":3"})"), std::nullopt);
  EXPECT_EQ(job_of(""), std::nullopt);
  EXPECT_EQ(event_of(R"({"time_ns":1,"event":"task_launched"})"), "task_launched");
  EXPECT_EQ(event_of(R"({"time_ns":1,"event":"task_lau)"), "");
  EXPECT_EQ(event_of(""), "");
}

}  // namespace
}  // namespace weft::master
