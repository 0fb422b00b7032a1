// The index tells what the logs tell, and never what they no longer tell.
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/tools/history/log_follower.hpp"
#include "engine/tools/history/past_jobs.hpp"
#include "engine/tools/history/status.hpp"
#include "storage/compression/compressor.hpp"

namespace weft::history {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// A log that a test writes line by line.
class IndexedLog : public testing::Test {
 protected:
  std::string path() const { return directory_.path() / "log"; }
  std::string index() const { return directory_.path() / "weft.index"; }

  void write(const master::EventLine& line) {
    std::ofstream(path(), std::ios::app) << master::to_json(master::EventLine(line)) << "\n";
  }
  static master::EventLine line(int at, const char* event, std::uint64_t job = 0) {
    master::EventLine made;
    made.at = milliseconds(at);
    made.event = event;
    made.job = job;
    return made;
  }
  void worker(int at, std::uint32_t node, const std::string& name) {
    auto joined = line(at, "worker_joined");
    joined.node = node;
    joined.name = name;
    write(joined);
  }
  void submit(int at, std::uint64_t job) {
    auto submitted = line(at, "job_submitted", job);
    submitted.name = "job" + std::to_string(job);
    write(submitted);
    auto planned = line(at, "plan_extended", job);
    planned.stages.emplace_back().tasks = 1;
    write(planned);
    auto launched = line(at + 1, "task_launched", job);
    launched.node = 1;
    write(launched);
  }
  void finish(int at, std::uint64_t job) {
    auto finished = line(at, "task_finished", job);
    finished.node = 1;
    finished.input_bytes = 100 * job;
    finished.input_records = job;
    write(finished);
    write(line(at, "job_finished", job));
  }
  /// Renames the log as a rotation does, and compresses it when asked to.
  void rotate(int number, bool compress) {
    const std::string name = path() + ".00000" + std::to_string(number);
    fs::rename(path(), name);
    if (compress) this->compress(name);
  }
  static void compress(const std::string& name) {
    std::string packed;
    ASSERT_TRUE(storage::zstd_compressor()->compress(as_bytes(read_file(name).value()), packed));
    std::ofstream(name + ".zst", std::ios::binary) << packed;
    fs::last_write_time(name + ".zst", fs::last_write_time(name));
    fs::remove(name);
  }

  std::unique_ptr<PastJobs> open() const {
    auto past = PastJobs::open(directory_.path());
    EXPECT_TRUE(past.has_value()) << past.error().to_string();
    return past ? std::move(*past) : nullptr;
  }
  static std::string told(const PastJobs& past) {
    std::string told = std::to_string(past.now().count());
    for (const auto& [id, job] : past.jobs()) {
      told += "\n" + std::to_string(id) + " " + job.status.name + " " + std::to_string(static_cast<int>(job.status.state)) + " " +
              job.status.error + " " + std::to_string(job.status.submitted.count()) + " " +
              std::to_string(job.status.ended.count()) + " " + std::to_string(job.status.input_bytes);
      const auto history = past.job(id);
      if (!history) return told + " " + history.error().to_string();
      const auto status = status_of(*(*history)->job(id));
      told += " " + std::to_string(status.input_bytes) + " " + std::to_string(status.stages.size()) + " " +
              std::to_string((*history)->job(id)->attempts.size()) + " " + std::to_string((*history)->now().count());
      for (const auto& [node, worker] : (*history)->workers()) told += " " + worker.name;
    }
    return told;
  }
  /// What the logs tell, by an index that is kept and by one that is made again.
  void expect_right() const {
    const std::string kept = told(*open());
    fs::remove(index());
    EXPECT_EQ(kept, told(*open()));
  }

  TempDir directory_ = TempDir::create().value();
};

TEST_F(IndexedLog, TellsEachJobAndReadsOneFromItsPlace) {
  worker(0, 1, "w1");
  submit(1, 1);
  submit(2, 2);
  finish(10, 1);
  finish(20, 2);
  for (int i = 0; i < 2; ++i) {
    const auto past = open();
    ASSERT_EQ(past->jobs().size(), 2u);
    EXPECT_EQ(past->jobs().at(2).status.name, "job2");
    EXPECT_EQ(past->jobs().at(2).status.input_bytes, 200u);
    EXPECT_EQ(past->jobs().at(2).status.ended, milliseconds(20));
    EXPECT_EQ(past->now(), milliseconds(20));
    const auto history = past->job(1).value();
    EXPECT_EQ(history->job(1)->attempts.size(), 1u);
    EXPECT_EQ(history->workers().at(1).name, "w1") << "it joined before";
    EXPECT_EQ(history->now(), milliseconds(20)) << "of all that the logs tell";
    EXPECT_EQ(past->job(3).error().code(), Code::not_found);
    EXPECT_TRUE(fs::exists(index()));
  }
}

TEST_F(IndexedLog, GrowsWithTheLog) {
  worker(0, 1, "w1");
  submit(1, 1);
  submit(2, 2);
  finish(10, 1);
  EXPECT_EQ(open()->jobs().at(2).status.state, master::JobState::running);
  finish(20, 2);
  submit(30, 3);
  EXPECT_EQ(open()->jobs().at(2).status.state, master::JobState::finished);
  EXPECT_EQ(open()->jobs().size(), 3u);
  expect_right();
  rotate(1, false);
  finish(40, 3);
  submit(50, 4);
  expect_right();
  compress(path() + ".000001");
  expect_right();
  finish(60, 4);
  rotate(2, true);
  submit(70, 5);
  expect_right();
  EXPECT_EQ(open()->jobs().size(), 5u);
  fs::remove(path() + ".000001.zst");
  EXPECT_EQ(open()->jobs().size(), 2u) << "those that began in it are gone with it";
  EXPECT_FALSE(open()->jobs().contains(3));
}

TEST_F(IndexedLog, KnowsTheMemoryOfWorkers) {
  auto joined = line(0, "worker_joined");
  joined.node = 1;
  joined.capacity = {.cpu = 4, .memory = 5000};
  write(joined);
  submit(1, 1);
  finish(10, 1);
  for (const char* by : {"an index that is made", "one that is kept"}) {
    const auto past = open();
    EXPECT_EQ(past->job(1).value()->worker(1)->memory, 5000) << by;
  }
}

TEST_F(IndexedLog, IsNotReadAgainWhenNothingChanged) {
  submit(1, 1);
  finish(10, 1);
  open();
  // What the index says is believed while log and index fit: here it is told something else, with a right checksum.
  auto pieces = master::pieces_in(directory_.path()).value();
  LogIndex told = load_index(index()).value();
  told.jobs.at(1).status.name = "from the index";
  ASSERT_TRUE(save_index(index(), told));
  EXPECT_EQ(open()->jobs().at(1).status.name, "from the index");
  bool changed = true;
  ASSERT_TRUE(index_of(pieces, told, changed));
  EXPECT_FALSE(changed);
}

TEST_F(IndexedLog, IsMadeAnewWhenTheLogIsAnother) {
  submit(1, 1);
  finish(10, 1);
  open();
  std::string text = read_file(path()).value();
  text.replace(text.find("job1"), 4, "jobX");
  std::ofstream(path()) << text;
  EXPECT_EQ(open()->jobs().at(1).status.name, "jobX") << "of the same size";
  const auto time = fs::last_write_time(path());
  text.replace(text.find("jobX"), 4, "jobY");
  std::ofstream(path()) << text;
  fs::last_write_time(path(), time);
  EXPECT_EQ(open()->jobs().at(1).status.name, "jobY") << "and of the same time";
  std::ofstream(path()) << text.substr(0, text.size() / 2);
  EXPECT_EQ(open()->jobs().at(1).status.state, master::JobState::running) << "shorter than it was";
}

TEST_F(IndexedLog, DamageOfTheIndexIsSeen) {
  submit(1, 1);
  finish(10, 1);
  open();
  const std::string right = read_file(index()).value();
  for (std::size_t at = 0; at < right.size(); ++at) {
    std::string wrong = right;
    wrong[at] = static_cast<char>(wrong[at] ^ 1);
    std::ofstream(index()) << wrong;
    EXPECT_FALSE(load_index(index())) << at;
  }
  EXPECT_EQ(open()->jobs().at(1).status.name, "job1");
  EXPECT_EQ(read_file(index()).value(), right) << "it is there again";
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, right.size() - 1}) {
    std::ofstream(index()) << right.substr(0, size);
    EXPECT_EQ(load_index(index()).error().code(), Code::corrupt) << size;
  }
  EXPECT_EQ(load_index(directory_.path() / "none").error().code(), Code::not_found);
}

TEST_F(IndexedLog, RunsOfAMasterHaveWorkersOfTheirOwn) {
  write(line(0, "log_started"));
  worker(0, 1, "old");
  submit(1, 1);
  submit(2, 2);
  finish(10, 1);
  open();
  write(line(0, "log_started"));
  worker(0, 1, "new");
  submit(3, 3);
  finish(5, 3);
  const auto past = open();
  EXPECT_EQ(past->jobs().at(2).status.error, "the master was restarted");
  EXPECT_EQ(past->job(1).value()->workers().at(1).name, "old");
  EXPECT_EQ(past->job(3).value()->workers().at(1).name, "new");
  EXPECT_EQ(past->workers().at(1).name, "new");
  expect_right();
}

TEST_F(IndexedLog, WrongLinesAreNamedAndNoIndexIsKept) {
  submit(1, 1);
  std::ofstream(path(), std::ios::app) << "nonsense\n";
  const auto past = PastJobs::open(directory_.path());
  ASSERT_FALSE(past);
  EXPECT_NE(past.error().to_string().find(path() + ":4"), std::string::npos) << past.error().to_string();
  EXPECT_FALSE(fs::exists(index()));
}

TEST_F(IndexedLog, OneJobIsReadFromAllPieces) {
  worker(0, 1, "w1");
  submit(1, 1);
  rotate(1, true);
  submit(2, 2);
  rotate(2, false);
  finish(10, 1);
  const auto history = read_job(path(), 1);
  ASSERT_TRUE(history.has_value()) << history.error().to_string();
  EXPECT_EQ(history->job(1)->status.state, JobState::finished);
  EXPECT_EQ(history->job(1)->attempts.size(), 1u);
  EXPECT_EQ(history->job(2), nullptr);
  EXPECT_EQ(read_job(path(), 7).error().code(), Code::not_found);
}

TEST_F(IndexedLog, AFollowerGoesOnThroughRotations) {
  submit(1, 1);
  LogFollower follower(path(), EventHistory());
  ASSERT_TRUE(follower.read());
  finish(10, 1);
  submit(20, 2);
  rotate(1, true);
  submit(30, 3);
  rotate(2, false);
  finish(40, 2);
  ASSERT_TRUE(follower.read());
  ASSERT_TRUE(follower.read());
  EXPECT_EQ(follower.history().job(1)->status.state, JobState::finished);
  EXPECT_EQ(follower.history().job(2)->status.state, JobState::finished);
  EXPECT_EQ(follower.history().job(3)->attempts.size(), 1u);
  LogFollower later(path(), EventHistory(), {2, 0});
  ASSERT_TRUE(later.read());
  EXPECT_EQ(later.history().job(1), nullptr);
  EXPECT_EQ(later.history().job(3)->attempts.size(), 1u);
}

}  // namespace
}  // namespace weft::history
