#include "storage/tables/table_placement.hpp"

#include <gtest/gtest.h>

namespace weft::storage::tables {
namespace {

TEST(TablePlacement, PrefersARackThenAMachineWithoutAReplicaThenWhoHasLeast) {
  const TableWorker a1{"a1", "A", "h1", 5}, a2{"a2", "A", "h2", 0}, b1{"b1", "B", "h3", 9}, b2{"b2", "B", "h3", 7};
  EXPECT_EQ(choose_worker({a1, a2, b1, b2}, {}), "a2") << "least load";
  EXPECT_EQ(choose_worker({a2, b1, b2}, {a1}), "b2") << "the other rack, however busy";
  EXPECT_EQ(choose_worker({a2, b2}, {a1, b1}), "a2") << "another machine: as many replicas are in each rack";
  EXPECT_EQ(choose_worker({b1, b2}, {a1, a2}), "b2");
  EXPECT_EQ(choose_worker({}, {a1}), "");
}

}  // namespace
}  // namespace weft::storage::tables
