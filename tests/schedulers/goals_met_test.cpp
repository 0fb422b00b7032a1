// Which deadlines are given up: as few as possible, against all subsets.
#include "schedulers/prediction/goals_met.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

namespace weft::schedulers {
namespace {

/// Whether all goals in `kept`, a set of bits, are met one after the other in the order of their deadlines.
bool all_met(const std::vector<Goal>& goals, std::uint32_t kept, double slots) {
  std::vector<Goal> in_order;
  for (std::size_t i = 0; i < goals.size(); ++i)
    if ((kept >> i & 1) != 0) in_order.push_back(goals[i]);
  std::sort(in_order.begin(), in_order.end(), [](const Goal& a, const Goal& b) { return a.seconds < b.seconds; });
  double work = 0;
  return std::all_of(in_order.begin(), in_order.end(), [&](const Goal& goal) {
    work += goal.work;
    return work <= slots * goal.seconds;
  });
}

TEST(GoalsToGiveUp, AreNoneWhereAllCanBeMet) {
  EXPECT_EQ(goals_to_give_up({{10, 60}, {20, 40}, {5, 20}}, 8), (std::vector{false, false, false}));
  EXPECT_TRUE(goals_to_give_up({}, 8).empty());
}

TEST(GoalsToGiveUp, AreThoseWithMostWorkOfTheOnesUpToADeadline) {
  EXPECT_EQ(goals_to_give_up({{10, 30}, {10, 60}, {20, 80}}, 8), (std::vector{false, true, false}));
  EXPECT_EQ(goals_to_give_up({{10, 90}}, 8), (std::vector{true})) << "not even alone";
  EXPECT_EQ(goals_to_give_up({{10, 50}, {10, 50}}, 8), (std::vector{false, true}));
}

TEST(GoalsToGiveUp, AreThoseThatArePast) { EXPECT_EQ(goals_to_give_up({{-1, 1}, {4, 16}}, 4), (std::vector{true, false})); }

TEST(GoalsToGiveUp, AreAsFewAsPossible) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> seconds(1, 50), work(1, 60);
  for (int round = 0; round < 500; ++round) {
    std::vector<Goal> goals(1 + random() % 9);
    for (Goal& goal : goals) goal = {seconds(random), work(random)};
    const std::vector<bool> out = goals_to_give_up(goals, 3);
    std::uint32_t kept = 0;
    for (std::size_t i = 0; i < goals.size(); ++i)
      if (!out[i]) kept |= 1U << i;
    EXPECT_TRUE(all_met(goals, kept, 3)) << round;
    int most = 0;
    for (std::uint32_t set = 0; set < 1U << goals.size(); ++set)
      if (all_met(goals, set, 3)) most = std::max(most, std::popcount(set));
    EXPECT_EQ(std::popcount(kept), most) << round;
  }
}

TEST(GoalsAtRisk, AreThoseThatWouldSoonBeOutOfReachAlone) {
  const std::vector<Goal> goals{{30, 40, 25}, {30, 40, 28}, {30, 40, 29}};
  const std::vector<bool> kept(3);
  EXPECT_EQ(goals_at_risk(goals, kept, 8, 0, 0), (std::vector{false, false, false}));
  EXPECT_EQ(goals_at_risk(goals, kept, 8, 0, 1.5), (std::vector{false, false, true})) << "slots are free late";
  EXPECT_EQ(goals_at_risk(goals, kept, 8, 0.1, 0), (std::vector{false, true, true})) << "work may take longer";
}

TEST(GoalsAtRisk, AreThoseBeforeADeadlineUntilWhichTheSlotsHaveJustEnoughTime) {
  const std::vector<Goal> goals{{40, 200, 1}, {20, 79, 1}, {10, 1, 1}, {100, 80, 1}};
  EXPECT_EQ(goals_at_risk(goals, std::vector<bool>(4), 8, 0, 0), (std::vector(4, false))) << "10, 35 and 45 s of all";
  EXPECT_EQ(goals_at_risk(goals, std::vector<bool>(4), 8, 0.15, 0), (std::vector{true, true, true, false}));
  EXPECT_EQ(goals_at_risk(goals, {false, true, false, false}, 8, 0.15, 0), (std::vector(4, false)))
      << "what is given up needs no time";
}

}  // namespace
}  // namespace weft::schedulers
