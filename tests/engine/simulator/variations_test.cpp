#include "engine/simulator/workloads/variations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {
namespace {

using namespace std::chrono_literals;

Workload generated(std::size_t jobs) {
  auto workload = load("generate:jobs=" + std::to_string(jobs) + ",mean_gap=2s", {});
  EXPECT_TRUE(workload.has_value());
  return std::move(*workload);
}

std::vector<std::string> names(const Workload& workload) {
  std::vector<std::string> list;
  for (const JobSpec& job : workload.jobs) list.push_back(job.name);
  return list;
}

TEST(Reorder, MovesJobsALittleAndKeepsTheMomentsOfArrival) {
  constexpr std::size_t kJobs = 80, kNear = kJobs / 8;
  const Workload before = generated(kJobs);
  Workload after = before, again = before, other = before;
  reorder(after, 7), reorder(again, 7), reorder(other, 8);
  EXPECT_EQ(names(after), names(again));
  EXPECT_NE(names(after), names(other));
  EXPECT_NE(names(after), names(before));
  EXPECT_THAT(names(after), testing::UnorderedElementsAreArray(names(before)));
  for (std::size_t i = 0; i < kJobs; ++i) {
    EXPECT_EQ(after.jobs[i].arrival, before.jobs[i].arrival);
    const auto was = static_cast<std::size_t>(std::stoul(after.jobs[i].name.substr(4)));  // "job 12"
    EXPECT_LE(was > i ? was - i : i - was, kNear);
  }
}

TEST(Reorder, TakesOneJobAndNone) {
  Workload none, one = generated(1);
  reorder(none, 1), reorder(one, 1);
  EXPECT_EQ(names(one), std::vector<std::string>{"job 0"});
}

TEST(Forget, LeavesSchedulersWhatAPartOfTheJobsTells) {
  const Workload all = generated(200);
  const auto known = [](const Workload& workload) {
    return std::ranges::count_if(workload.jobs, [](const JobSpec& job) { return job.stages.front().estimate != Time(0); });
  };
  Workload none = all, some = all, every = all;
  forget(none, 0, 1), forget(some, 0.5, 1), forget(every, 1, 1);
  EXPECT_EQ(known(none), 0);
  EXPECT_EQ(known(every), 200);
  EXPECT_NEAR(static_cast<double>(known(some)), 100, 30);
  EXPECT_EQ(none.jobs[3].stages[0].duration, all.jobs[3].stages[0].duration) << "the truth stays";
}

}  // namespace
}  // namespace weft::simulator::workloads
