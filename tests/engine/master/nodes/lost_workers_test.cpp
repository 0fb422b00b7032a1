#include "engine/master/nodes/lost_workers.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

using namespace std::chrono_literals;

LostWorker lost(const std::string& name, Duration at, const std::string& reason = "SIGBUS") {
  return {NodeId(1), name, "host-of-" + name, "rack", "10.0.0.1:7078", reason, at};
}

TEST(LostWorkers, AreAnAlarmTheSecondTimeWithinAMinute) {
  LostWorkers workers;
  EXPECT_FALSE(workers.add(lost("a", 1s)));
  EXPECT_FALSE(workers.add(lost("b", 2s)));
  const auto alarm = workers.add(lost("a", 60s, "SIGSEGV"));
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->find("it was lost twice within a minute (SIGBUS, then SIGSEGV): see the end of its log on host-of-a"), 0u)
      << *alarm;
  EXPECT_FALSE(workers.add(lost("b", 62s)));
  EXPECT_TRUE(workers.add(lost("a", 61s)));
}

TEST(LostWorkers, AreKeptForAnHourAndAreNeverMany) {
  LostWorkers workers;
  (void)workers.add(lost("a", 1s));
  (void)workers.add(lost("b", 30min));
  EXPECT_EQ(workers.recent(60min).size(), 2u);
  ASSERT_EQ(workers.recent(60min + 2s).size(), 1u);
  EXPECT_EQ(workers.recent(60min + 2s).front().name, "b");
  for (std::size_t i = 0; i < 3 * LostWorkers::kMostKept; ++i) (void)workers.add(lost("c", 31min));
  EXPECT_EQ(workers.recent(31min).size(), LostWorkers::kMostKept);
}

}  // namespace
}  // namespace weft::master
