// Outputs whose driver is killed after any of the system calls that change files, and whose next driver finishes: they are there
// once, complete, with the same bytes, and nothing else is left.
//
// The calls of the C library that change files are replaced in this program (also for the libraries that it uses): a process that
// is to die does so after the N-th of them, as if it was killed there.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

#include "engine/api/job_data.hpp"
#include "tests/support/process.hpp"

namespace {

constexpr int kKilled = 42;
std::atomic<int> calls_left{-1};                // negative: all that it wants
std::atomic<bool> exchanges_directories{true};  // false: as a file system without the flags of renameat2

long after(long result) {
  const int before = errno;
  if (calls_left.load() > 0 && calls_left.fetch_sub(1) == 1) ::_exit(kKilled);
  errno = before;
  return result;
}

}  // namespace

extern "C" {

// NOLINTBEGIN: the C library's own names and types
ssize_t write(int fd, const void* bytes, size_t size) { return after(::syscall(SYS_write, fd, bytes, size)); }
int fsync(int fd) { return static_cast<int>(after(::syscall(SYS_fsync, fd))); }
int mkdir(const char* path, mode_t mode) noexcept { return static_cast<int>(after(::syscall(SYS_mkdir, path, mode))); }
int rmdir(const char* path) noexcept { return static_cast<int>(after(::syscall(SYS_rmdir, path))); }
int unlink(const char* path) noexcept { return static_cast<int>(after(::syscall(SYS_unlink, path))); }
int unlinkat(int at, const char* path, int flags) noexcept {
  return static_cast<int>(after(::syscall(SYS_unlinkat, at, path, flags)));
}
int rename(const char* from, const char* to) noexcept { return static_cast<int>(after(::syscall(SYS_rename, from, to))); }
int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept {
  if (!exchanges_directories) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(after(::syscall(SYS_renameat2, from_at, from, to_at, to, flags)));
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const unsigned mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0;
  va_end(more);
  const long fd = ::syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  return static_cast<int>((flags & O_CREAT) != 0 ? after(fd) : fd);
}
// NOLINTEND
}

namespace weft::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kToken = "job7-0123abcd";

class PublicationTest : public testing::Test {
 protected:
  struct Case {
    bool overwrite = false;
    bool exchanges = true;
    bool replaces = false;  // outputs of an earlier run
  };

  std::string at(const std::string& name) const { return scratch->path() + "/" + name; }
  void begin(const Case& what) {
    now = what;
    scratch.emplace();
    if (!what.replaces) return;
    for (const char* output : {"flat", "named"}) {
      fs::create_directory(at(output));
      write_file(at(output) + "/part-00000", "old");
      write_file(at(output) + "/part-00007", "old");
      write_file(at(output) + "/_SUCCESS", "");
    }
  }

  /// As the tasks of the job do, once, wherever they run.
  void run_tasks(const std::string& flat, const std::string& named) const {
    if (fs::exists(at("ran"))) return;
    write_file(flat + "/task-2-0-1.gz", "first");
    write_file(flat + "/task-2-2-0", "third");
    write_file(flat + "/task-2-2-1", "of an attempt that lost");
    write_file(named + "/task-3-0-0-0", "a0");
    write_file(named + "/task-3-0-0-1", "b0");
    write_file(named + "/task-3-1-0-0", "a1");
    write_file(at("ran"), "");
  }
  static std::vector<Buffer> names(std::initializer_list<std::string_view> texts) {
    std::vector<Buffer> made;
    for (const std::string_view text : texts) made.push_back(Buffer::copy_of(as_bytes(text)));
    return made;
  }

  /// What a driver does, in this process.
  void drive(int calls) {
    detail::JobData data(nullptr, now.overwrite, kToken);
    exchanges_directories = now.exchanges;
    calls_left = calls;
    const std::string flat = data.open_output(at("flat")), named = data.open_output(at("named"));
    calls = calls_left.exchange(-1);
    run_tasks(flat, named);
    calls_left = calls;
    data.commit(at("flat"), names({"task-2-0-1.gz", "", "task-2-2-0"}));
    data.commit(at("named"), names({"task-3-0-0-0/a\ntask-3-0-0-1/b/c\n", "task-3-1-0-0/a\n"}));
    data.abandon_outputs();
    calls_left = -1;
  }
  /// Runs a driver in a process of its own and kills that after `calls` calls; never, when it is -1. Returns its exit status: 1
  /// when the publication failed.
  int driver(int calls) {
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 0;
      try {
        drive(calls);
      } catch (const JobFailure& failure) {
        calls_left = -1;
        std::fprintf(stderr, "%s\n", failure.what());
        status = 1;
      }
      ::_exit(status);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::map<std::string, std::string> content(const std::string& name) const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(at(name)))
      if (entry.is_regular_file()) found[fs::relative(entry.path(), at(name))] = read_file(entry.path());
    found.erase("_SUCCESS");
    return found;
  }
  void expect_complete() const {
    EXPECT_TRUE(fs::exists(at("flat/_SUCCESS")) && fs::exists(at("named/_SUCCESS")));
    EXPECT_EQ(content("flat"),
              (std::map<std::string, std::string>{{"part-00000.gz", "first"}, {"part-00001", ""}, {"part-00002", "third"}}));
    EXPECT_EQ(content("named"),
              (std::map<std::string, std::string>{{"a/part-00000", "a0"}, {"a/part-00001", "a1"}, {"b/c/part-00000", "b0"}}));
    EXPECT_EQ(entries(), (std::set<std::string>{"flat", "named", "ran"})) << "something is left";
  }
  std::set<std::string> entries() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(scratch->path())) found.insert(entry.path().filename());
    return found;
  }

  Case now;
  std::optional<ScratchDirectory> scratch;
};

TEST_F(PublicationTest, IsFinishedByTheNextDriverWhereverTheFirstIsKilled) {
  for (const Case& what :
       {Case{}, Case{false, false, false}, Case{true, true, false}, Case{true, true, true}, Case{true, false, true}}) {
    int killed = 0;
    for (int calls = 1;; ++calls) {
      SCOPED_TRACE(testing::Message() << "overwrite " << what.overwrite << ", exchanges " << what.exchanges << ", replaces "
                                      << what.replaces << ", killed after call " << calls);
      begin(what);
      const int ended = driver(calls);
      if (ended == 0) break;
      ASSERT_EQ(ended, kKilled);
      ++killed;
      ASSERT_EQ(driver(-1), 0);
      expect_complete();
      ASSERT_EQ(driver(-1), 0) << "published already";
      expect_complete();
      if (HasFailure()) return;
    }
    expect_complete();
    EXPECT_GT(killed, 30);
  }
}

TEST_F(PublicationTest, IsFinishedByTheThirdDriverWhereverTheFirstTwoAreKilled) {
  const Case what{true, true, true};
  for (int first = 1;; first += 2) {
    begin(what);
    if (driver(first) == 0) break;
    for (int second = 1;; second += 3) {
      SCOPED_TRACE(testing::Message() << "killed after calls " << first << " and " << second);
      begin(what);
      ASSERT_EQ(driver(first), kKilled);
      const int ended = driver(second);
      ASSERT_TRUE(ended == 0 || ended == kKilled) << ended;
      ASSERT_EQ(driver(-1), 0);
      expect_complete();
      if (HasFailure()) return;
      if (ended == 0) break;
    }
  }
}

TEST_F(PublicationTest, WhatSomebodyElseMadeMeanwhileIsNotTouched) {
  for (const Case& what : {Case{}, Case{true, true, false}}) {
    for (int calls = 1;; ++calls) {
      SCOPED_TRACE(testing::Message() << "overwrite " << what.overwrite << ", killed after call " << calls);
      begin(what);
      if (driver(calls) == 0) break;
      const bool published = !fs::create_directory(at("named"));
      if (!published) write_file(at("named/precious"), "mine");
      testing::internal::CaptureStderr();
      const int ended = driver(-1);
      const std::string said = testing::internal::GetCapturedStderr();
      EXPECT_EQ(ended, published ? 0 : 1) << said;
      if (!published) {
        EXPECT_EQ(read_file(at("named/precious")), "mine");
        EXPECT_FALSE(fs::exists(at("named/_SUCCESS")));
        EXPECT_NE(said.find(at("named")), std::string::npos) << said;
      }
      for (const std::string& name : entries()) EXPECT_FALSE(name.starts_with(".")) << name;
      if (HasFailure()) return;
    }
  }
}

TEST_F(PublicationTest, AnotherRunLeavesTheWorkOfAJobBetweenTwoDrivers) {
  begin({});
  ASSERT_EQ(driver(8), kKilled);
  ASSERT_TRUE(fs::exists(at(std::string(".flat.weft-") + kToken)));
  {
    detail::JobData other(nullptr, false);
    other.open_output(at("flat"));
  }
  ASSERT_EQ(driver(-1), 0);
  expect_complete();

  begin({});
  ASSERT_EQ(driver(8), kKilled);
  fs::last_write_time(at(std::string(".flat.weft-") + kToken), fs::file_time_type::clock::now() - std::chrono::hours(2));
  detail::JobData other(nullptr, false);
  other.open_output(at("flat"));
  EXPECT_FALSE(fs::exists(at(std::string(".flat.weft-") + kToken))) << "nobody came for it";
}

TEST_F(PublicationTest, WorkThatIsGoneIsAnErrorThatNamesIt) {
  begin({});
  ASSERT_EQ(driver(8), kKilled);
  ASSERT_TRUE(fs::exists(at("ran")));
  fs::remove_all(at(std::string(".flat.weft-") + kToken));
  testing::internal::CaptureStderr();
  EXPECT_EQ(driver(-1), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(std::string(".flat.weft-") + kToken), std::string::npos);
  EXPECT_FALSE(fs::exists(at("flat")));
}

TEST_F(PublicationTest, OfTwoDriversThatLiveOnePublishesAndBothSucceed) {
  for (const Case& what : {Case{}, Case{true, true, true}}) {
    begin(what);
    detail::JobData late(nullptr, what.overwrite, kToken), next(nullptr, what.overwrite, kToken);
    run_tasks(late.open_output(at("flat")), late.open_output(at("named")));
    (void)next.open_output(at("flat"));
    (void)next.open_output(at("named"));
    for (detail::JobData* const data : {&next, &late}) {
      data->commit(at("flat"), names({"task-2-0-1.gz", "", "task-2-2-0"}));
      data->commit(at("named"), names({"task-3-0-0-0/a\ntask-3-0-0-1/b/c\n", "task-3-1-0-0/a\n"}));
      data->abandon_outputs();
      expect_complete();
    }
  }
}

TEST_F(PublicationTest, OutputsThatAreLeftAreTakenOver) {
  begin({});
  {
    detail::JobData data(nullptr, false, kToken);
    run_tasks(data.open_output(at("flat")), data.open_output(at("named")));
    data.leave_outputs();
  }
  {
    detail::JobData data(nullptr, false, kToken);
    EXPECT_EQ(data.open_output(at("flat"), at(std::string(".flat.weft-") + kToken)), at(std::string(".flat.weft-") + kToken));
    data.leave_outputs();
  }
  ASSERT_EQ(driver(-1), 0);
  expect_complete();
  detail::JobData data(nullptr, false, kToken);
  data.check_output(at("flat"));  // which this job has published
  detail::JobData another(nullptr, false, "job8-0123abcd");
  EXPECT_THROW(another.check_output(at("flat")), JobFailure);
  EXPECT_THROW(another.open_output(at("flat")), JobFailure);
}

}  // namespace
}  // namespace weft::test
