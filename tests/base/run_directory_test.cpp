#include "base/run_directory.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() : parent_(TempDir::create().value()) {}

  /// Of a process that is killed.
  fs::path left(const std::string& kind) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto made = RunDirectory::create(kind, parent_.path());
      const std::string path = made ? made->path().string() : "";
      (void)!::write(ends[1], path.data(), path.size());
      ::close(ends[1]);
      ::close(ends[0]);
      ::pause();
      ::_exit(0);
    }
    ::close(ends[1]);
    std::string path(4096, '\0');
    path.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends[0], path.data(), path.size()))));
    ::close(ends[0]);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(fs::exists(path));
    return path;
  }

  TempDir parent_;
};

TEST_F(RunDirectoryTest, IsPrivateAndGoesWithItsObject) {
  fs::path path;
  {
    auto made = RunDirectory::create("master", parent_.path());
    ASSERT_TRUE(made) << made.error().to_string();
    path = made->path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms(0700));
    const RunDirectory moved = std::move(*made);
    EXPECT_EQ(moved.path(), path);
    EXPECT_EQ(RunDirectory::sweep(parent_.path()), 0u) << "its owner lives";
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RunDirectoryTest, OfAKilledProcessIsRemovedByTheNext) {
  const auto alive = RunDirectory::create("worker", parent_.path());
  ASSERT_TRUE(alive);
  const fs::path master = left("master");
  ASSERT_TRUE(write_file(master / "program", std::string(1000, 'x')));
  const auto next = RunDirectory::create("run", parent_.path());
  ASSERT_TRUE(next);
  EXPECT_FALSE(fs::exists(master));
  EXPECT_TRUE(fs::exists(alive->path()));
}

TEST_F(RunDirectoryTest, NothingElseIsTouched) {
  const fs::path elsewhere = parent_.path() / "precious";
  fs::create_directory(elsewhere);
  ASSERT_TRUE(write_file(elsewhere / "lock", "x"));
  fs::create_directory_symlink(elsewhere, parent_.path() / "weft-master-aaaaaa");
  fs::create_directory(parent_.path() / "weft-master-bbbbbb");  // of an earlier release, and perhaps alive
  fs::create_directory(parent_.path() / "weft-master-cccccc");
  fs::create_symlink(elsewhere / "lock", parent_.path() / "weft-master-cccccc/lock");
  fs::create_directory(parent_.path() / "weft-XXXXXX");
  ASSERT_TRUE(write_file(parent_.path() / "weft-XXXXXX/lock", "x"));
  ASSERT_TRUE(write_file(parent_.path() / "weft-master-dddddd", "no directory"));
  const fs::path foreign = left("private");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(foreign.c_str(), 65534, 65534), 0);
  }
  EXPECT_EQ(RunDirectory::sweep(parent_.path()), ::geteuid() == 0 ? 0u : 1u);
  for (const char* name : {"precious/lock", "weft-master-aaaaaa", "weft-master-bbbbbb", "weft-master-cccccc/lock",
                           "weft-XXXXXX/lock", "weft-master-dddddd"})
    EXPECT_TRUE(fs::exists(fs::symlink_status(parent_.path() / name))) << name;
  EXPECT_EQ(fs::exists(foreign), ::geteuid() == 0);
}

}  // namespace
}  // namespace weft
