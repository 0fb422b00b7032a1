#include "base/private_directory.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

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
