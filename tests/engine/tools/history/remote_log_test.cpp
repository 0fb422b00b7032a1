// A job's history from the files of a master's event log, whatever happens to them while they are copied.
#include "engine/tools/history/remote_log.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.hpp"
#include "engine/master/log/event_line.hpp"
#include "engine/master/log/log_pieces.hpp"
#include "engine/master/server/event_requests.hpp"
#include "storage/compression/compressor.hpp"

namespace weft::history {
namespace {

namespace fs = std::filesystem;

class RemoteLog : public testing::Test {
 protected:
  static std::string line(const char* event, std::uint64_t job, const std::string& name = "") {
    master::EventLine made;
    made.event = event;
    made.job = job;
    made.name = name;
    return master::to_json(std::move(made)) + "\n";
  }
  static void append(const std::string& file, const std::string& text) { std::ofstream(file, std::ios::app) << text; }
  std::string piece(std::uint32_t number) const { return master::rotated_name(log_, number); }

  static void compress(const std::string& file) {
    std::string packed;
    const std::string text = read_file(file).value();
    ASSERT_TRUE(storage::zstd_compressor()->compress(as_bytes(text), packed));
    append(file + ".zst", packed);
    fs::remove(file);
  }

  Result<EventHistory> fetch(std::uint64_t job) {
    return fetch_job(
        [this](client::EventsWanted wanted) -> Result<client::Events> {
          EXPECT_NE(wanted.job, JobId{});
          if (administers_) wanted.job = {};
          auto events = master::read_events(log_, wanted);
          if (events) {
            asked_.push_back(events->piece);
            if (!events->bytes.empty() && meanwhile_) meanwhile_(events->piece);
          }
          return events;
        },
        job);
  }

  TempDir directory_ = TempDir::create().value();
  const std::string log_ = directory_.path() / "log";
  std::vector<std::uint32_t> asked_;
  bool administers_ = true;
  std::function<void(std::uint32_t piece)> meanwhile_;
};

TEST_F(RemoteLog, TheLatestFilesAreEnoughForALateJob) {
  append(piece(1), line("job_submitted", 1, "early"));
  compress(piece(1));
  append(piece(2), line("job_submitted", 2, "middle"));
  append(log_, line("job_submitted", 3, "late") + line("job_finished", 2));
  const auto late = fetch(3);
  ASSERT_TRUE(late) << late.error().to_string();
  EXPECT_EQ(late->job(3)->status.name, "late");
  EXPECT_EQ(asked_, (std::vector<std::uint32_t>{3, 3})) << "its lines, and that there are no more";

  const auto middle = fetch(2);
  ASSERT_TRUE(middle) << middle.error().to_string();
  EXPECT_EQ(middle->job(2)->status.state, JobState::finished) << "which is in the file that is written";
  ASSERT_TRUE(fetch(1));
}

TEST_F(RemoteLog, AJobThatIsNowhereIsSaidToBe) {
  append(piece(7), line("job_submitted", 1));
  append(log_, line("log_continued", 0));
  const auto unknown = fetch(9);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().to_string().find("has no job 9: it is unknown, or older than what the log keeps"), std::string::npos)
      << unknown.error().to_string();
  EXPECT_EQ(asked_, (std::vector<std::uint32_t>{8, 8, 7, 7}));
}

TEST_F(RemoteLog, AFileThatIsRotatedAndCompressedMeanwhileIsCopiedWhole) {
  append(piece(1), line("job_submitted", 1, "long"));
  while (fs::file_size(piece(1)) < 3 * client::kEventsChunkBytes) append(piece(1), line("timer_fired", 0));
  append(piece(1), line("job_finished", 1));
  fs::rename(piece(1), log_);
  int answers = 0;
  meanwhile_ = [&](std::uint32_t) {
    if (++answers == 1) fs::rename(log_, piece(1));
    if (answers == 2) compress(piece(1));
  };
  const auto history = fetch(1);
  ASSERT_TRUE(history) << history.error().to_string();
  EXPECT_EQ(history->job(1)->status.state, JobState::finished);
}

TEST_F(RemoteLog, ErrorsOfTheMasterAreThoseOfTheCaller) {
  EXPECT_EQ(fetch(1).error().code(), Code::not_found) << "there is no log yet";
  EXPECT_NE(master::read_events("", {}).error().to_string().find("--event-log none"), std::string::npos);
  ASSERT_EQ(::mkfifo(log_.c_str(), 0600), 0);
  EXPECT_NE(fetch(1).error().to_string().find("is no file"), std::string::npos);
  fs::remove(log_);
  append(log_, line("job_submitted", 1));
  append(piece(1), "no event\n");
  EXPECT_EQ(fetch(2).error().code(), Code::corrupt);
  EXPECT_EQ(master::read_events(log_, {0, ~std::uint64_t{0}, {}}).error().code(), Code::invalid_argument);
}

/// All that the master gives for a job, from piece to piece.
std::string lines_for(const std::string& log, std::uint64_t job, std::uint32_t piece) {
  std::string all;
  for (client::EventsWanted wanted{piece, 0, JobId(job)};;) {
    const auto part = master::read_events(log, wanted);
    EXPECT_TRUE(part) << part.error().to_string();
    if (!part || part->next == wanted.offset) return all;
    all += as_chars(part->bytes.view());
    wanted.offset = part->next;
  }
}

TEST_F(RemoteLog, AUserWhoAdministersNothingGetsTheLinesOfHisJobOnly) {
  administers_ = false;
  append(piece(1), line("job_submitted", 1, "his") + line("job_submitted", 2, "anothers"));
  const std::string worker = R"({"time_ns":1,"event":"worker_lost","node":1,"reason":"gone"})"
                             "\n";
  const std::string odd = R"({"time_ns":1,"event":"something","of":"anothers"})"
                          "\n";
  while (fs::file_size(piece(1)) < 10u << 20) append(piece(1), line("job_killed", 2, std::string(100'000, 'x')) + worker + odd);
  append(piece(1), line("job_finished", 1));
  append(log_, line("job_submitted", 3, "later"));
  const std::string of_file = lines_for(log_, 1, 1);
  EXPECT_EQ(of_file.find("anothers"), std::string::npos);
  EXPECT_EQ(of_file.find("xxx"), std::string::npos);
  EXPECT_NE(of_file.find("worker_lost"), std::string::npos);
  compress(piece(1));
  EXPECT_EQ(lines_for(log_, 1, 1), of_file) << "its text is the same";
  const auto history = fetch(1);
  ASSERT_TRUE(history) << history.error().to_string();
  EXPECT_EQ(history->job(1)->status.state, JobState::finished);
  EXPECT_EQ(history->job(2), nullptr);
  const auto inside = master::read_events(log_, {1, 7, JobId(1)});
  ASSERT_FALSE(inside) << "a piece of a line does not say whose it is";
  EXPECT_EQ(inside.error().code(), Code::invalid_argument);
}

/// A master without a journal gives its jobs the ids that those of the one before it had.
TEST_F(RemoteLog, LinesFromBeforeTheMasterBeganAreOfOtherJobs) {
  append(piece(1), line("job_submitted", 1, "alices"));
  append(log_, line("job_submitted", 1, "carols"));
  const master::LogPlace began{2, fs::file_size(log_)};
  append(log_, line("job_submitted", 1, "bobs") + line("job_submitted", 2, "another"));
  const auto read = [&](std::uint32_t number) { return master::read_events(log_, {number, 0, JobId(1)}, began); };
  EXPECT_EQ(read(1).error().code(), Code::not_found);
  const auto part = read(0);
  ASSERT_TRUE(part) << part.error().to_string();
  EXPECT_EQ(as_chars(part->bytes.view()), line("job_submitted", 1, "bobs"));
  EXPECT_EQ(part->next, fs::file_size(log_));
  EXPECT_TRUE(master::read_events(log_, {1, 0, {}}, began)) << "an administrator reads the files";
}

}  // namespace
}  // namespace weft::history
