// What a worker passes on of the files that say what it may be given.
#include "runtime/worker/capacity_files.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.hpp"

namespace weft::runtime {
namespace {

class CapacityFilesTest : public testing::Test {
 protected:
  void write(const std::string& text) { ASSERT_TRUE(write_file(path_, text)); }
  std::string error() const {
    const auto read = read_capacity_text(path_);
    return read ? "" : read.error().to_string();
  }
  TempDir directory_ = TempDir::create().value();
  std::string path_ = (directory_.path() / "capacity").string();
};

TEST_F(CapacityFilesTest, AreGivenWhenTheyChange) {
  write("slots=1\n");
  CapacityFiles files(path_, "");
  auto texts = files.changed();
  ASSERT_TRUE(texts);
  EXPECT_EQ(texts->capacity, "slots=1\n");
  EXPECT_EQ(texts->forecast, "");
  EXPECT_FALSE(files.changed());
  write("slots=2\n");
  texts = files.changed();
  ASSERT_TRUE(texts) << "the same size, within the same moment";
  EXPECT_EQ(texts->capacity, "slots=2\n");
  files.forget();
  EXPECT_TRUE(files.changed()) << "for another master";
}

TEST_F(CapacityFilesTest, ThatCannotBeReadLeaveWhatTheySaid) {
  write("slots=1");
  CapacityFiles files(path_, path_);
  ASSERT_TRUE(files.changed());
  std::filesystem::remove(path_);
  EXPECT_FALSE(files.changed());
  EXPECT_THAT(error(), testing::HasSubstr("No such file"));
  write(std::string(protocol::kMostCapacityText + 1, ' '));
  EXPECT_FALSE(files.changed());
  EXPECT_THAT(error(), testing::HasSubstr("has more than 4096 bytes"));
  write(std::string(protocol::kMostCapacityText, ' '));
  EXPECT_TRUE(files.changed());
}

TEST_F(CapacityFilesTest, ThatAreNoFilesDoNotHoldUpTheWorker) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(error(), testing::HasSubstr("is no regular file"));
}

TEST_F(CapacityFilesTest, ThereMayBeNone) {
  CapacityFiles files("", "");
  EXPECT_FALSE(files.changed());
}

}  // namespace
}  // namespace weft::runtime
