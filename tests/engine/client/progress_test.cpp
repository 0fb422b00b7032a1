// What a person sees of a job: on a terminal (a pseudo-terminal, and a screen that does what terminals do), and in a file.
#include "engine/client/progress.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace weft::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A terminal of 12 rows and 60 columns, as far as this needs one. Rows that scroll off the top are kept.
class Screen {
 public:
  explicit Screen(std::size_t rows = 12, std::size_t columns = 60) : columns_(columns), rows_(rows), bottom_(rows - 1) {}

  void feed(const std::string& text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '\033') {
        i = escape(text, i + 1);
      } else if (c == '\n') {
        down();
      } else if (c == '\r') {
        column_ = 0;
      } else {
        if (column_ == columns_) {  // wraps
          column_ = 0;
          down();
        }
        std::string& row = rows_.at(row_);
        if (row.size() <= column_) row.resize(column_ + 1, ' ');
        row[column_++] = c;
      }
    }
  }
  /// What was scrolled off and what is there, without empty rows at the end.
  std::vector<std::string> all() const {
    std::vector<std::string> text = gone_;
    text.insert(text.end(), rows_.begin(), rows_.end());
    while (!text.empty() && text.back().empty()) text.pop_back();
    return text;
  }
  const std::string& row(std::size_t from_bottom) const { return rows_.at(rows_.size() - 1 - from_bottom); }
  bool whole_region() const { return bottom_ == rows_.size() - 1; }

 private:
  void down() {
    if (row_ != bottom_) {
      row_ = std::min(row_ + 1, rows_.size() - 1);
      return;
    }
    gone_.push_back(rows_.front());
    rows_.erase(rows_.begin());
    rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(bottom_), "");
  }
  std::size_t escape(const std::string& text, std::size_t i) {
    if (text[i] == 'D') down();
    if (text[i] == '7') saved_ = {row_, column_};
    if (text[i] == '8') std::tie(row_, column_) = saved_;
    if (text[i] != '[') return i;
    std::vector<std::size_t> numbers(1);
    for (++i; std::isdigit(static_cast<unsigned char>(text[i])) != 0 || text[i] == ';'; ++i) {
      if (text[i] == ';')
        numbers.push_back(0);
      else
        numbers.back() = numbers.back() * 10 + static_cast<std::size_t>(text[i] - '0');
    }
    if (text[i] == 'A') row_ -= std::min(row_, numbers[0]);
    if (text[i] == 'H') {
      row_ = std::max<std::size_t>(numbers[0], 1) - 1;
      column_ = numbers.size() > 1 ? std::max<std::size_t>(numbers[1], 1) - 1 : 0;
    }
    if (text[i] == 'r') {
      bottom_ = numbers.size() > 1 ? numbers[1] - 1 : rows_.size() - 1;
      row_ = column_ = 0;
    }
    if (text[i] == 'K' && numbers[0] == 2) rows_.at(row_).clear();
    if (text[i] == 'J') {
      rows_.at(row_).resize(std::min(rows_.at(row_).size(), column_));
      for (std::size_t below = row_ + 1; below < rows_.size(); ++below) rows_[below].clear();
    }
    return i;
  }

  std::size_t columns_;
  std::vector<std::string> rows_, gone_;
  std::size_t row_ = 0, column_ = 0, bottom_;
  std::pair<std::size_t, std::size_t> saved_{};
};

/// Standard error goes to `to` while it lives.
class Redirected {
 public:
  explicit Redirected(int to) : before_(::dup(2)) { ::dup2(to, 2); }
  ~Redirected() { ::dup2(before_.get(), 2); }

 private:
  Fd before_;
};

std::string read_available(int fd) {
  std::string text;
  char piece[4096];
  for (pollfd ready{fd, POLLIN, 0}; ::poll(&ready, 1, 50) > 0 && (ready.revents & POLLIN) != 0;) {
    const ssize_t got = ::read(fd, piece, sizeof piece);
    if (got <= 0) break;
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

class Terminal {
 public:
  Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    EXPECT_EQ(::grantpt(master_.get()) | ::unlockpt(master_.get()), 0);
    const winsize size{12, 60, 0, 0};
    EXPECT_EQ(::ioctl(master_.get(), TIOCSWINSZ, &size), 0);
    slave_ = Fd(::open(::ptsname(master_.get()), O_RDWR | O_NOCTTY));
    ::setenv("TERM", "xterm", 1);
  }
  int fd() const { return slave_.get(); }
  /// What programs print.
  void type(const std::string& text) const { EXPECT_EQ(::write(slave_.get(), text.data(), text.size()), ssize_t(text.size())); }
  const Screen& screen() {
    screen_.feed(read_available(master_.get()));
    return screen_;
  }

 private:
  Fd master_, slave_;
  Screen screen_;
};

master::StageStatus stage(std::uint32_t id, std::uint32_t finished, std::uint32_t tasks, std::uint32_t running) {
  master::StageStatus status;
  status.id = StageId(id);
  status.name = "map";
  status.tasks = tasks;
  status.finished = finished;
  status.running = running;
  return status;
}

master::JobStatus job(std::vector<master::StageStatus> stages) {
  master::JobStatus status;
  status.stages = std::move(stages);
  return status;
}

TEST(LiveLines, StayBelowWhatProgramsPrintAndLeaveNothingBehind) {
  Terminal terminal;
  LiveLines live(terminal.fd());
  ASSERT_TRUE(live.works());
  std::vector<std::string> printed{"$ job"};
  terminal.type("$ job\n");
  live.show({"one", "two"});
  EXPECT_EQ(terminal.screen().row(1), "one");
  EXPECT_EQ(terminal.screen().row(0), "two");
  terminal.type("half ");
  live.show({"one more", "two more", "three more"});
  terminal.type("a line\n");
  printed.emplace_back("half a line");
  for (int i = 0; i < 30; ++i) {  // more than there are rows, several between two updates
    printed.push_back("user " + std::to_string(i));
    terminal.type(printed.back() + "\n");
    if (i % 4 == 0) live.show({"now " + std::to_string(i), std::string(100, 'x')});
  }
  EXPECT_EQ(terminal.screen().row(2), "now 28");
  EXPECT_EQ(terminal.screen().row(1), std::string(59, 'x')) << "cut off before the edge";
  EXPECT_EQ(terminal.screen().row(0), "") << "there are fewer lines now";
  live.clear();
  EXPECT_EQ(terminal.screen().all(), printed);
  EXPECT_TRUE(terminal.screen().whole_region());
  terminal.type("$ ");
  printed.emplace_back("$ ");
  EXPECT_EQ(terminal.screen().all(), printed);
}

TEST(LiveLines, AreNotShownWhereTheyCannotBe) {
  Terminal terminal;
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(LiveLines(terminal.fd()).works());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd out(ends[0]), in(ends[1]);
  ::setenv("TERM", "xterm", 1);
  LiveLines live(in.get());
  EXPECT_FALSE(live.works());
  live.show({"one"});
  EXPECT_EQ(read_available(out.get()), "");
}

TEST(Progress, ShowsALineForEachRunningStageWithItsRateAndTheTimeLeft) {
  Terminal terminal;
  const Redirected redirected(terminal.fd());
  Progress progress("count", false);
  const TimePoint start = SystemClock().now();
  progress.update(start, job({stage(1, 10, 100, 4), stage(2, 0, 8, 2)}));
  EXPECT_EQ(terminal.screen().row(1), "count: stage 1 map: 10 of 100 tasks, 4 running");
  master::JobStatus later = job({stage(1, 30, 100, 4), stage(2, 1, 8, 2)});
  later.stages[0].left = seconds(9), later.stages[1].left = seconds(14);
  progress.update(start + seconds(2), later);
  EXPECT_EQ(terminal.screen().row(1), "count: stage 1 map: 30 of 100 tasks, 4 running, 10 tasks/s,");  // to the edge
  EXPECT_EQ(terminal.screen().row(0), "count: stage 2 map: 1 of 8 tasks, 2 running, 0.5 tasks/s, 1");
  progress.pause();
  EXPECT_TRUE(terminal.screen().all().empty()) << terminal.screen().all().front();
  progress.update(start + seconds(3), job({stage(1, 100, 100, 0), stage(2, 1, 8, 2)}));
  EXPECT_TRUE(terminal.screen().all().front().starts_with("count: stage 1 map: 100 tasks done after"));
  progress.finish(start + seconds(4), job({stage(1, 100, 100, 0), stage(2, 8, 8, 0)}));
  EXPECT_EQ(terminal.screen().all().size(), 3u);
  EXPECT_TRUE(terminal.screen().whole_region());
}

/// What is written to a file.
class PlainProgress : public ::testing::Test {
 protected:
  PlainProgress() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    out_ = Fd(ends[0]);
    in_ = Fd(ends[1]);
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> found;
    const std::string text = read_available(out_.get());
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      found.push_back(text.substr(at, text.find('\n', at) - at));
    return found;
  }
  Fd out_, in_;
};

TEST_F(PlainProgress, HasALineForARunningStageEveryTenSeconds) {
  const Redirected redirected(in_.get());
  Progress progress("count", false);
  const TimePoint start = SystemClock().now();
  for (int i = 0; i <= 300; ++i) {
    master::JobStatus status = job({stage(1, std::uint32_t(i), 600, 4)});
    status.stages[0].left = seconds(42);
    progress.update(start + milliseconds(100 * i), status);
  }
  const auto said = lines();
  ASSERT_GE(said.size(), 2u);
  EXPECT_LE(said.size(), 3u) << "of thirty seconds";
  EXPECT_EQ(said.back().substr(said.back().find(" of 600")), " of 600 tasks, 4 running, 10 tasks/s, 42.0 s left");
}

TEST_F(PlainProgress, OfALongIterativeJobIsShort) {
  const Redirected redirected(in_.get());
  Progress progress("ranks", false);
  const TimePoint start = SystemClock().now();
  std::vector<master::StageStatus> stages;
  for (std::uint32_t i = 0; i < 270; ++i) {
    stages.push_back(stage(i, 4, 4, 0));
    progress.update(start + milliseconds(100 * (i + 1)), job(stages));
  }
  progress.finish(start + seconds(28), job(stages));
  const auto said = lines();
  EXPECT_LE(said.size(), 25u);
  std::size_t told = 0;  // each stage is told, by itself or with others
  for (const std::string& line : said) {
    if (line.starts_with("ranks: stage ")) ++told;
    if (const auto at = line.find(" further stages with "); at != std::string::npos) told += std::stoul(line.substr(7, at - 7));
  }
  EXPECT_EQ(told, 270u);
}

TEST_F(PlainProgress, OfAJobThatIsWatchedLateHasTheTimesOfTheJob) {
  const Redirected redirected(in_.get());
  Progress progress("job 1", false);
  const TimePoint submitted = SystemClock().now() - seconds(3600);
  progress.watch_since(submitted);
  auto status = job({stage(1, 6, 6, 0), stage(2, 4, 4, 0), stage(3, 0, 8, 1)});
  status.submitted = seconds(100);
  status.stages[0].usage.ended = seconds(107);  // not known of the second
  progress.update(submitted + seconds(20), status);
  status.stages[2].finished = 8;
  progress.finish(submitted + seconds(30), status);
  const auto said = lines();
  ASSERT_EQ(said.size(), 4u);
  EXPECT_EQ(said[0], "job 1: stage 1 map: 6 tasks done after 7.0 s");
  EXPECT_EQ(said[1], "job 1: stage 2 map: 4 tasks done");
  EXPECT_EQ(said[2], "job 1: stage 3 map: 8 tasks done after 30.0 s") << "it was seen to run";
  EXPECT_TRUE(said[3].starts_with("job 1: finished in 30.0 s: ")) << said[3];
}

TEST_F(PlainProgress, NamesAWorkerWhenItIsLostAndAgainAtTheEnd) {
  const Redirected redirected(in_.get());
  Progress progress("count", false);
  const TimePoint start = SystemClock().now();
  auto status = job({stage(1, 1, 6, 4)});
  progress.update(start, status);
  EXPECT_TRUE(lines().empty());
  status.workers_lost = 1;
  status.lost_workers = {"w2 (SIGBUS)"};
  progress.update(start + seconds(1), status);
  progress.update(start + seconds(2), status);
  const auto said = lines();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].starts_with("count: lost worker w2 (SIGBUS); what it ran")) << said[0];
  progress.fail(status);
  ASSERT_EQ(lines().size(), 1u);
}

}  // namespace
}  // namespace weft::client
