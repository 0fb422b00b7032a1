#include "base/named_file.hpp"

#include <filesystem>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/broken_pipe.hpp"
#include "base/file.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

class NamedFileTest : public testing::Test {
 protected:
  NamedFileTest() : directory_(TempDir::create().value()) {}

  std::string at(const std::string& name) const { return directory_.path() / name; }
  static Result<void> replace(const std::string& path, std::string_view content = "new") {
    return write_named_file(path, content, IfExists::replace);
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()));
  }
  static mode_t mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  TempDir directory_;
};

TEST_F(NamedFileTest, IsThereWholeOrAsItWas) {
  ASSERT_TRUE(replace(at("file"), "old"));
  {
    auto file = NamedFile::create(at("file"), IfExists::replace);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->append(as_bytes(std::string_view("half"))));
    EXPECT_EQ(read_file(at("file")).value(), "old");
  }
  EXPECT_EQ(read_file(at("file")).value(), "old");
  ASSERT_TRUE(replace(at("file")));
  EXPECT_EQ(read_file(at("file")).value(), "new");
  EXPECT_EQ(entries(), 1u) << "something is left of the other";
}

TEST_F(NamedFileTest, KeepsThePermissionsOfWhatItReplaces) {
  ASSERT_TRUE(replace(at("file"), "old"));
  ASSERT_EQ(::chmod(at("file").c_str(), 0604), 0);
  ASSERT_TRUE(replace(at("file")));
  EXPECT_EQ(mode_of(at("file")), 0604u);
  const mode_t mask = ::umask(027);
  ASSERT_TRUE(replace(at("fresh")));
  ::umask(mask);
  EXPECT_EQ(mode_of(at("fresh")), 0640u);
}

TEST_F(NamedFileTest, LinksAreFollowedAlsoToWhatIsNotThereYet) {
  ASSERT_EQ(::mkdir(at("folder").c_str(), 0755), 0);
  fs::create_symlink("folder/file", at("second"));
  fs::create_symlink("second", at("first"));
  for (const std::string text : {"one", "two"}) {
    ASSERT_TRUE(replace(at("first"), text));
    EXPECT_EQ(read_file(at("folder/file")).value(), text);
    EXPECT_TRUE(fs::is_symlink(at("first")) && fs::is_symlink(at("second")));
    EXPECT_FALSE(fs::is_symlink(at("folder/file")));
  }
  EXPECT_EQ(replaceable_file(at("first")).value(), at("folder/file"));
}

TEST_F(NamedFileTest, DevicesAreWrittenAndStay) {
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat("/dev/null", &before), 0);
  fs::create_symlink("/dev/null", at("null"));
  ASSERT_TRUE(replace("/dev/null"));
  ASSERT_TRUE(replace(at("null")));
  ASSERT_EQ(::stat("/dev/null", &after), 0);
  EXPECT_TRUE(S_ISCHR(after.st_mode) && before.st_ino == after.st_ino);
  EXPECT_TRUE(fs::is_symlink(at("null")));
  ASSERT_TRUE(write_named_file("/dev/null", "", IfExists::refuse)) << "nothing is lost of a device";
  EXPECT_EQ(replaceable_file("/dev/null").value(), std::nullopt);
  const auto full = replace("/dev/full");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().to_string(), "cannot write /dev/full: cannot write: No space left on device");
}

TEST_F(NamedFileTest, PipesGetTheBytes) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(at("pipe")).value(); });
  ASSERT_TRUE(replace(at("pipe")));
  reader.join();
  EXPECT_EQ(got, "new");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
}

TEST_F(NamedFileTest, DescriptorsOfThisProcessAreWrittenBehindWhatTheyHave) {
  const Fd open(::open(at("file").c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_TRUE(write_all(open.get(), as_bytes(std::string_view("before "))));
  ASSERT_TRUE(replace("/dev/fd/" + std::to_string(open.get())));
  ASSERT_TRUE(write_all(open.get(), as_bytes(std::string_view(" after"))));
  EXPECT_EQ(read_file(at("file")).value(), "before new after");

  const Fd reading(::open(at("file").c_str(), O_RDONLY));
  const auto refused = replace("/dev/fd/" + std::to_string(reading.get()));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().to_string().ends_with("is not open for writing"));
  EXPECT_FALSE(replace("/dev/fd/999999"));
  EXPECT_TRUE(fs::is_symlink("/dev/stdout") || !fs::exists("/dev/stdout"));
}

TEST_F(NamedFileTest, WhatCanBeNoFileIsRefusedByName) {
  ASSERT_EQ(::mkdir(at("folder").c_str(), 0755), 0);
  fs::create_symlink("folder", at("link"));
  fs::create_symlink("round", at("round"));
  fs::create_symlink("gone/file", at("lost"));
  const std::pair<std::string, std::string> wrong[] = {
      {at("folder"), at("folder") + " is a directory; name a file"},
      {at("link"), at("link") + " is a directory; name a file"},
      {at("new/"), at("new/") + " names no file"},
      {"", "the empty name names no file"},
      {at("round"), at("round") + " is a link that leads in a circle"},
      {at("gone/file"), "cannot write " + at("gone/file") + ": there is no directory " + at("gone")},
      {at("lost"), "cannot write " + at("lost") + ": there is no directory " + at("gone")},
  };
  for (const auto& [name, why] : wrong) {
    const auto refused = replace(name), checked = check_named_file(name, IfExists::replace);
    ASSERT_FALSE(refused) << name;
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(refused.error().to_string(), why);
    EXPECT_EQ(checked.error().to_string(), why);
  }
}

TEST_F(NamedFileTest, NothingThatExistsIsReplacedUnasked) {
  ASSERT_TRUE(replace(at("file"), "old"));
  fs::create_symlink("file", at("link"));
  for (const std::string name : {"file", "link"}) {
    const auto refused = write_named_file(at(name), "new", IfExists::refuse);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::already_exists);
    EXPECT_EQ(refused.error().to_string(), at(name) + " exists; say --overwrite to replace it");
    EXPECT_FALSE(check_named_file(at(name), IfExists::refuse));
  }
  EXPECT_EQ(read_file(at("file")).value(), "old");

  auto late = NamedFile::create(at("late"), IfExists::refuse);
  ASSERT_TRUE(late);
  ASSERT_TRUE(replace(at("late"), "of somebody else"));
  const auto refused = late->close();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::already_exists);
  EXPECT_EQ(read_file(at("late")).value(), "of somebody else");
}

TEST_F(NamedFileTest, NamesMayBeAsLongAsNamesMayBe) {
  const std::string longest(255, 'n');
  ASSERT_TRUE(replace(at(longest), "one"));
  ASSERT_TRUE(replace(at(longest), "two"));
  EXPECT_EQ(read_file(at(longest)).value(), "two");
  const auto refused = replace(at(longest + "n"));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().to_string().ends_with("File name too long"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(NamedFileTest, AFileThatIsMountedByItselfIsOverwritten) {
  ASSERT_TRUE(replace(at("below"), "of before, and longer"));
  ASSERT_TRUE(replace(at("mounted"), ""));
  int status = -1;
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int kCannotMount = 77;
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(at("below").c_str(), at("mounted").c_str(), nullptr, MS_BIND, nullptr) != 0)
      ::_exit(kCannotMount);
    ::_exit(replace(at("mounted")) ? 0 : 1);
  }
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this user may mount nothing";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(read_file(at("below")).value(), "new");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(NamedFileTest, APipeWithoutAReaderIsAnErrorAndNoDeath) {
  outlive_broken_pipes();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd out(ends[1]);
  EXPECT_FALSE(reader_is_gone(out.get()));
  ::close(ends[0]);
  EXPECT_TRUE(reader_is_gone(out.get()));
  const auto written = replace("/dev/fd/" + std::to_string(out.get()));
  ASSERT_FALSE(written);
  EXPECT_TRUE(written.error().to_string().ends_with("Broken pipe")) << written.error().to_string();
}

}  // namespace
}  // namespace weft
