#include "base/private_directory.hpp"

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

class PrivateDirectoryTest : public testing::Test {
 protected:
  PrivateDirectoryTest() : mask_(::umask(022)), dir_(TempDir::create().value()) {}
  ~PrivateDirectoryTest() override { ::umask(mask_); }
  fs::path at(const char* name) const { return dir_.path() / name; }
  static unsigned mode(const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()) & 0777; }

  mode_t mask_;
  TempDir dir_;
};

TEST_F(PrivateDirectoryTest, IsMadeForItsUserAlone) {
  ASSERT_TRUE(make_private_directory(at("a/b")));
  EXPECT_EQ(mode(at("a")), 0755u) << "what only leads there is as the user's umask says";
  EXPECT_EQ(mode(at("a/b")), 0700u);
  ASSERT_TRUE(make_private_directory(at("a/b")));
}

TEST_F(PrivateDirectoryTest, ClosesWhatAnEarlierReleaseHasMadeAndFollowsNoLinks) {
  fs::create_directories(at("old/inner"));
  ASSERT_TRUE(write_file(at("old/inner/000005.sst"), "x"));
  ASSERT_TRUE(write_file(at("elsewhere"), "x"));
  fs::create_symlink(at("elsewhere"), at("old/link"));
  fs::permissions(at("old/inner/000005.sst"), fs::perms(0755));
  ASSERT_TRUE(make_private_directory(at("old")));
  EXPECT_EQ(mode(at("old")), 0700u);
  EXPECT_EQ(mode(at("old/inner")), 0700u);
  EXPECT_EQ(mode(at("old/inner/000005.sst")), 0700u);
  EXPECT_EQ(mode(at("elsewhere")), 0644u);
}

TEST_F(PrivateDirectoryTest, WhatOthersCanWriteToIsClosedToWritersOnly) {
  fs::create_directories(at("open/inner"));
  ASSERT_EQ(::chmod(at("open").c_str(), 0777), 0);
  ASSERT_EQ(::chmod(at("open/inner").c_str(), 0777), 0);
  ASSERT_TRUE(keep_others_from_writing(at("open")));
  EXPECT_EQ(mode(at("open")), 0755u);
  EXPECT_EQ(mode(at("open/inner")), 0777u) << "nobody else can put another one in its place";
  ASSERT_EQ(::chmod(at("open").c_str(), 0731), 0);
  ASSERT_TRUE(keep_others_from_writing(at("open")));
  EXPECT_EQ(mode(at("open")), 0711u);
  ASSERT_TRUE(keep_others_from_writing(at("open")));
  EXPECT_EQ(mode(at("open")), 0711u);
  EXPECT_FALSE(keep_others_from_writing(at("none")));
}

TEST_F(PrivateDirectoryTest, OneInWhichNobodyExchangesWhatIsNotHisIsLeftAsItIs) {
  fs::create_directories(at("tmp"));
  ASSERT_EQ(::chmod(at("tmp").c_str(), 01777), 0);
  ASSERT_TRUE(keep_others_from_writing(at("tmp"))) << "a new tmpfs is such";
  EXPECT_EQ(mode(at("tmp")), 0777u);
}

TEST_F(PrivateDirectoryTest, OneOfAnotherUserIsNotTaken) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  fs::create_directories(at("others"));
  ASSERT_EQ(::chown(at("others").c_str(), 65534, 65534), 0);
  const auto refused = keep_others_from_writing(at("others"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().to_string().find("belongs to the user 65534"), std::string::npos) << refused.error().to_string();
}

/// As a process of a job may do that has outlived its worker.
TEST_F(PrivateDirectoryTest, AFileThatIsExchangedWithALinkMeanwhileLeadsNowhere) {
  const TempDir memory = TempDir::create("weft-exchanged-", "/dev/shm").value();  // where that takes little time
  const fs::path elsewhere = memory.path() / "elsewhere", jobs = memory.path() / "jobs";
  const std::string entry = jobs / "entry", link = jobs / "link";
  fs::create_directories(jobs);
  ASSERT_TRUE(write_file(elsewhere, "x"));
  ASSERT_TRUE(write_file(entry, "x"));
  fs::create_symlink(elsewhere, link);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) ::renameat2(AT_FDCWD, entry.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  });
  for (int i = 0; i < 6'000 && mode(elsewhere) == 0644; ++i) {
    for (const std::string& name : {entry, link})
      (void)::fchmodat(AT_FDCWD, name.c_str(), 0644, AT_SYMLINK_NOFOLLOW);  // so that there is something to do
    EXPECT_TRUE(make_private_directory(jobs));
  }
  stop = true;
  other.join();
  EXPECT_EQ(mode(elsewhere), 0644u);
}

TEST_F(PrivateDirectoryTest, WhatBelongsToOthersIsLeftAsItIs) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  fs::create_directories(at("jobs/bobs"));
  ASSERT_TRUE(write_file(at("elsewhere"), "x"));
  fs::create_hard_link(at("elsewhere"), at("jobs/bobs/a name of it"));
  ASSERT_EQ(::chown(at("jobs/bobs").c_str(), 65534, 65534), 0);
  ASSERT_TRUE(make_private_directory(at("jobs")));
  EXPECT_EQ(mode(at("jobs")), 0700u);
  EXPECT_EQ(mode(at("elsewhere")), 0644u);
}

TEST_F(PrivateDirectoryTest, AFileInItsPlaceIsAnErrorThatNamesIt) {
  ASSERT_TRUE(write_file(at("file"), "x"));
  const auto made = make_private_directory(at("file"));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().to_string().find(at("file")), std::string::npos);
}

TEST_F(PrivateDirectoryTest, FilesFollowTheUmask) {
  ASSERT_TRUE(write_file(at("open"), "x"));
  EXPECT_EQ(mode(at("open")), 0644u);
  ::umask(077);
  ASSERT_TRUE(write_file(at("closed"), "x"));
  EXPECT_EQ(mode(at("closed")), 0600u);
}

}  // namespace
}  // namespace weft
