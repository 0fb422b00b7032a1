// Computed processor sharing: when jobs end in it, and what changes that.
#include "schedulers/parts/virtual_sharing.hpp"

#include <gtest/gtest.h>

namespace weft::schedulers::virtual_sharing_rules {
namespace {

constexpr JobId kFirst{1}, kSecond{2}, kThird{3};

struct Shared {
  VirtualSharing all;
  void add(JobId job, double work, VirtualSharing::Claim claim = {}) {
    all.add(job, std::move(claim));
    all.resize(job, work);
  }
};

TEST(VirtualSharing, JobsOfAGroupHaveEqualParts) {
  Shared shared;
  shared.add(kFirst, 10);
  shared.add(kSecond, 30);
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), 20);
  shared.all.advance(20);
  EXPECT_DOUBLE_EQ(shared.all.finish(kSecond), 40) << "alone from 20 on";
  shared.all.advance(30);
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), 20) << "an end stays";
  EXPECT_DOUBLE_EQ(shared.all.finish(kSecond), 40);
}

TEST(VirtualSharing, SeveralEndsInOneStepAreInTheirOrder) {
  Shared shared;
  shared.add(kFirst, 10);
  shared.add(kSecond, 20);
  shared.add(kThird, 60);
  shared.all.advance(100);
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), 30);
  EXPECT_DOUBLE_EQ(shared.all.finish(kSecond), 50);
  EXPECT_DOUBLE_EQ(shared.all.finish(kThird), 90);
}

TEST(VirtualSharing, AJobThatComesLaterBeginsWithNothing) {
  Shared shared;
  shared.add(kFirst, 10);
  shared.all.advance(6);
  shared.add(kSecond, 5);
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), 14) << "4 are left, at half the speed";
  shared.all.advance(8);
  EXPECT_DOUBLE_EQ(shared.all.finish(kSecond), 15);
}

TEST(VirtualSharing, WeightsCountWithinAGroupAndBetweenGroups) {
  Shared shared;
  shared.add(kFirst, 30, {.group = "a", .group_weight = 3, .weight = 2});
  shared.add(kSecond, 30, {.group = "a", .group_weight = 3, .weight = 1});
  shared.add(kThird, 30, {.group = "b"});
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), 60) << "3/4 of 2/3";
  EXPECT_DOUBLE_EQ(shared.all.finish(kSecond), 120);
  EXPECT_DOUBLE_EQ(shared.all.finish(kThird), 120);
}

TEST(VirtualSharing, AGroupHasItsPartHoweverManyJobsAnotherHas) {
  Shared shared;
  for (std::uint64_t id = 10; id < 30; ++id) shared.add(JobId(id), 5, {.group = "many"});
  shared.add(kFirst, 20, {.group = "few"});
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), 40);
}

TEST(VirtualSharing, AHigherPriorityTakesThePartOfItsGroupAlone) {
  Shared shared;
  shared.add(kFirst, 10, {.group = "a"});
  shared.add(kSecond, 10, {.group = "a", .priority = 1});
  shared.add(kThird, 40, {.group = "b"});
  EXPECT_DOUBLE_EQ(shared.all.finish(kSecond), 20);
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), 40) << "after it, with the group's half";
  shared.all.advance(40);
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), 40);
}

TEST(VirtualSharing, AJobThatReallyEndedKeepsItsPart) {
  Shared shared;
  shared.add(kFirst, 10);
  shared.add(kSecond, 30);
  shared.all.leave(kFirst);
  EXPECT_DOUBLE_EQ(shared.all.finish(kSecond), 60);
  shared.all.advance(20);
  EXPECT_DOUBLE_EQ(shared.all.finish(kSecond), 40) << "as if the first had run until 20";
}

TEST(VirtualSharing, ABetterEstimateMovesTheEnd) {
  Shared shared;
  shared.add(kFirst, 10);
  shared.all.advance(4);
  shared.all.resize(kFirst, 6);
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), 6);
  shared.all.advance(10);
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), 6);
  shared.all.resize(kFirst, 8);
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), 16) << "it has had 6, and goes on";
  shared.all.resize(kFirst, 3);
  EXPECT_DOUBLE_EQ(shared.all.finish(kFirst), shared.all.clock()) << "it has had more";
}

TEST(VirtualSharing, EqualJobsEndTogetherWhateverTheStep) {
  for (const double step : {0.125, 1.0, 7.0}) {
    Shared shared;
    for (const JobId id : {kFirst, kSecond, kThird}) shared.add(id, 14);
    for (double done = 0; done < 50; done += step) shared.all.advance(step);
    for (const JobId id : {kFirst, kSecond, kThird}) EXPECT_NEAR(shared.all.finish(id), 42, 1e-9) << step;
  }
}

}  // namespace
}  // namespace weft::schedulers::virtual_sharing_rules
