#include "engine/master/protocol/driver_paths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DriverPaths, AreOfWordsAndOfValuesOfOptions) {
  EXPECT_THAT(paths_in({"in.txt", "/data/../data/a", "--output=out", "--input", "in.txt", "./b/"}, "/home/ann"),
              ElementsAre("/home/ann/in.txt", "/data/a", "/home/ann/out", "/home/ann/b/"));
}

TEST(DriverPaths, AreNotOfOptionsUrlsAndWhatIsTooLong) {
  EXPECT_THAT(
      paths_in({"--quiet", "-v", "--output=", "weft://a/b", "--input=s3://b/k", "", std::string(4097, 'x'), "--a=-b"}, "/d"),
      IsEmpty());
}

TEST(DriverPaths, OfInputsAreThoseBehindTheirOption) {
  EXPECT_THAT(inputs_in({"x", "--input", "/a/*.txt", "b", "--quiet", "c", "--input=d", "e", "--inputs=f", "--input"}),
              ElementsAre("/a/*.txt", "b", "d"));
  EXPECT_THAT(inputs_in({"--input", "weft://a", "--input=s3://b/k"}), IsEmpty());
}

TEST(DriverPaths, NeedTheDirectoryOfTheSubmissionWhereOneIsRelative) {
  EXPECT_TRUE(need_directory({"--input", "/a", "b", "--output", "/o"}));
  EXPECT_TRUE(need_directory({"--input", "/a", "--output", "o"}));
  EXPECT_TRUE(need_directory({"--output=o"}));
  EXPECT_TRUE(need_directory({"--stats", "figures.json"}));
  EXPECT_FALSE(need_directory({"--input", "/a", "weft://b", "--output", "/o", "word", "--top", "10", "--outputs=o", "--stats=/s"}));
}

TEST(DriverPaths, OfFileUrlsAreThoseOfTheirFiles) {
  EXPECT_THAT(paths_in({"--input", "file:///tmp/x.txt", "--input=file:///a/b", "file://in", "file://"}, "/d"),
              ElementsAre("/tmp/x.txt", "/a/b", "/d/in"));
  EXPECT_THAT(inputs_in({"--input", "file:///a/*.txt", "file://b", "--input=file:///c"}), ElementsAre("/a/*.txt", "b", "/c"));
  EXPECT_TRUE(need_directory({"--output=file://o"}));
  EXPECT_FALSE(need_directory({"--input", "file:///a", "--output", "file:///o"}));
}

TEST(DriverPaths, AreNotTooMany) {
  std::vector<std::string> words;
  for (int i = 0; i < 1000; ++i) words.push_back(std::to_string(i));
  EXPECT_EQ(paths_in(words, "/d").size(), kMostDriverPaths);
}

}  // namespace
}  // namespace weft::client
