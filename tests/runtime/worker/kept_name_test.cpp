#include "runtime/worker/kept_name.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::runtime {
namespace {

using test::read_file;
using test::write_file;

class KeptNameTest : public testing::Test {
 protected:
  std::string file(const std::string& directory) const { return scratch_ / (directory + "/tables/WORKER"); }
  std::string name(const std::vector<std::string>& directories) const {
    std::vector<std::string> paths;
    for (const std::string& directory : directories) paths.push_back(scratch_ / directory);
    return kept_name(paths, "host");
  }
  test::ScratchDirectory scratch_;
};

TEST_F(KeptNameTest, ADrawnNameIsThereAtTheNextStart) {
  const std::string drawn = name({"a"});
  EXPECT_EQ(drawn.size(), std::string("host-01234567").size());
  EXPECT_TRUE(drawn.starts_with("host-")) << drawn;
  EXPECT_EQ(name({"a"}), drawn);
  EXPECT_NE(name({"b"}), drawn) << "another worker of the machine";
}

TEST_F(KeptNameTest, ADirectoryThatIsAddedOrReplacedGetsTheNameOfTheOthers) {
  const std::string drawn = name({"a"});
  EXPECT_EQ(name({"new", "a"}), drawn);
  EXPECT_EQ(name({"new"}), drawn);
  std::filesystem::remove_all(scratch_ / "a");
  EXPECT_EQ(name({"a", "new"}), drawn);
  EXPECT_EQ(read_file(file("a")), drawn + "\n");
}

TEST_F(KeptNameTest, OfTwoNamesTheFirstCountsAndBothStay) {
  const std::string one = name({"a"}), other = name({"b"});
  EXPECT_EQ(name({"a", "b"}), one);
  EXPECT_EQ(name({"b", "a"}), other);
  EXPECT_EQ(name({"b"}), other);
}

TEST_F(KeptNameTest, WhatIsNoNameIsPassedOverAndLeft) {
  const std::string drawn = name({"a"});
  for (const std::string& text : {std::string(), std::string("two words\n"), std::string(2000, 'x')}) {
    write_file(file("a"), text);
    EXPECT_NE(name({"a"}), drawn);
    EXPECT_EQ(read_file(file("a")), text);
    const std::string kept = name({"a", "b"});
    EXPECT_EQ(name({"b"}), kept);
  }
}

TEST_F(KeptNameTest, AWorkerWithoutAUsableDirectoryHasANameAllTheSame) {
  write_file(scratch_ / "a", "no directory");
  EXPECT_TRUE(name({"a"}).starts_with("host-"));
}

}  // namespace
}  // namespace weft::runtime
