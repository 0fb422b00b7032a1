// What is said of a job in words: the name that it goes by, and what cost it time.
#include "engine/client/job_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/client/run_stats.hpp"

namespace weft::client {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMiB = 1u << 20;

master::JobStatus job() {
  master::JobStatus status;
  status.name = "ranks";
  master::StageStatus& stage = status.stages.emplace_back();
  stage.id = StageId(2);
  stage.name = "group";
  stage.usage.figures.shuffle_read_bytes = {500 * kMiB, 1, 10 * kMiB, 20 * kMiB, 300 * kMiB};
  return status;
}

TEST(JobSummary, NamesTheJobAsItsUserDoes) {
  master::JobStatus status = job();
  EXPECT_EQ(shown_name(status), "ranks");
  status.options["name"] = "nightly";
  EXPECT_EQ(shown_name(status), "nightly");
}

TEST(JobSummary, RemarksAHotPartition) {
  master::JobStatus status = job();
  EXPECT_THAT(remark_lines("ranks", status),
              AllOf(HasSubstr("ranks: stage 2 group: one task read 300 MiB of shuffles, 30 times the median"),
                    HasSubstr("few keys"), Not(HasSubstr("spilled"))));
  EXPECT_THAT(closing_lines(status, {}), HasSubstr("one task read 300 MiB")) << "it ends with that";
  Distribution& read = status.stages[0].usage.figures.shuffle_read_bytes;
  read.median = 80 * kMiB;
  EXPECT_EQ(remark_lines("ranks", status), "") << "less than four times the median";
  read.median = 10 * kMiB;
  read.total = 5000 * kMiB;
  EXPECT_EQ(remark_lines("ranks", status), "") << "a small part of all";
  read = {20 * kMiB, 1, 1, 2, 15 * kMiB};
  EXPECT_EQ(remark_lines("ranks", status), "") << "too little to matter";
}

TEST(JobSummary, RemarksSpills) {
  master::JobStatus status = job();
  status.stages[0].usage.figures.shuffle_read_bytes = {};
  status.stages[0].usage.figures.spilled_bytes.total = kSpilled;
  EXPECT_THAT(remark_lines("ranks", status), HasSubstr("ranks: stage 2 group: its tasks spilled 64.0 MiB: more --memory"));
  status.stages[0].usage.figures.spilled_bytes.total = kSpilled - 1;
  EXPECT_EQ(remark_lines("ranks", status), "");
}

}  // namespace
}  // namespace weft::client
