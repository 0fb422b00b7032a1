// What a job reads and writes, without a job.
#include "engine/api/job_data.hpp"

#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using detail::JobData;

Code code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const JobFailure& failure) {
    return failure.error().code();
  }
  return Code::internal;
}

std::vector<Buffer> names(std::initializer_list<std::string_view> texts) {
  std::vector<Buffer> made;
  for (const std::string_view text : texts) made.push_back(Buffer::copy_of(as_bytes(text)));
  return made;
}

class JobDataTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return scratch / name; }

  ScratchDirectory scratch;
  JobData data{nullptr, false};
};

TEST_F(JobDataTest, AnOutputIsThereOnceItIsCommitted) {
  const std::string work = data.open_output(path("out"));
  write_file(work + "/a", "one");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  data.commit(data.name_of(path("out")), names({"a"}));
  EXPECT_EQ(read_file(path("out") + "/part-00000"), "one");
}

TEST_F(JobDataTest, AnAbandonedOutputLeavesNothing) {
  write_file(data.open_output(path("out")) + "/a", "one");
  data.abandon_outputs();
  EXPECT_TRUE(entries(scratch.path()).empty());
}

TEST_F(JobDataTest, APathHasOneNameHoweverItIsWritten) {
  EXPECT_EQ(data.name_of(path("a/../out/")), data.name_of(path("out")));
  data.open_output(path("out"));
  EXPECT_EQ(code_of([&] { data.open_output(path("./out")); }), Code::already_exists);
}

TEST_F(JobDataTest, AnOutputMayNotHoldAnInput) {
  std::filesystem::create_directory(path("in"));
  write_file(path("in/a"), "x");
  const std::vector<std::string> inputs{path("in")};
  EXPECT_EQ(data.expand(inputs), std::vector<std::string>{path("in/a")});
  EXPECT_EQ(code_of([&] { data.open_output(path("in")); }), Code::invalid_argument);
}

TEST_F(JobDataTest, WhatIsNoPlaceIsRefused) {
  EXPECT_EQ(code_of([&] { data.open_output(""); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { data.open_output("table://t"); }), Code::invalid_argument) << "there is no cluster";
  EXPECT_EQ(code_of([&] { data.expand(std::vector<std::string>{path("missing")}); }), Code::not_found);
}

TEST_F(JobDataTest, SkippedNamesAreRemembered) {
  std::filesystem::create_directory(path("in"));
  write_file(path("in/a"), "x");
  write_file(path("in/.hidden"), "x");
  data.expand(std::vector<std::string>{path("in")});
  ASSERT_EQ(data.input_notes().skipped.size(), 1u);
  EXPECT_NE(data.input_notes().skipped.begin()->find(".hidden"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
