// Which stages may write other records to a partition when a task of them runs again, as the plan says it to the master.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/engine/api/plan_of.hpp"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The stages that are indeterminate: their names up to the place in the program.
template <class Define>
std::vector<std::string> indeterminate(Define define) {
  std::vector<std::string> names;
  for (const plan::Stage& stage : plan_of(define))
    if (stage.indeterminate)
      names.push_back(stage.name.substr(0, stage.name.find(" (")) + stage.name.substr(stage.name.find(')') + 1));
  return names;
}

auto counts(Flow& flow) { return pairs(flow).reduce_by_key(std::plus<>()); }
auto doubles(Flow& flow) {
  return pairs(flow).map_values([](std::uint64_t n) { return 0.1 * static_cast<double>(n); }).reduce_by_key(std::plus<>());
}
constexpr auto kAnyOrder = [](std::uint64_t a, std::uint64_t b) { return a < b; };

/// Tasks that read files or ranges do what they did, in the same order.
TEST(Determinism, OfWhatReadsNoShuffle) {
  EXPECT_THAT(indeterminate([](Flow& flow) { (void)numbers(flow).repartition(3).count(); }), IsEmpty());
  EXPECT_THAT(indeterminate([](Flow& flow) { (void)numbers(flow).sample(0.5).repartition(3).count(); }), IsEmpty());
  EXPECT_THAT(indeterminate([](Flow& flow) { (void)numbers(flow).sort_by([](auto n) { return n; }).count(); }), IsEmpty());
  EXPECT_THAT(indeterminate([](Flow& flow) { (void)numbers(flow).top(3, kAnyOrder).count(); }), IsEmpty());
  EXPECT_THAT(indeterminate([](Flow& flow) { (void)pairs(flow).group_by_key().count(); }), IsEmpty());
}

/// Behind a shuffle, whatever goes by the place of a record depends on the order in which blocks came.
TEST(Determinism, OfWhatGoesByThePlaceOfARecord) {
  EXPECT_THAT(indeterminate([](Flow& flow) { (void)counts(flow).repartition(3).count(); }), ElementsAre("repartition"));
  EXPECT_THAT(
      indeterminate([](Flow& flow) {
        (void)counts(flow).sample(0.5).reduce_by_key(std::plus<>(), partition_by([](auto k, auto n) { return k % n; }, 3)).count();
      }),
      ElementsAre("reduce_by_key"));
  EXPECT_THAT(indeterminate([](Flow& flow) { (void)counts(flow).sort_by([](const auto& row) { return row.first; }).count(); }),
              ElementsAre("sort_by samples"));
  EXPECT_THAT(indeterminate([](Flow& flow) {
                (void)counts(flow).top(3, [](const auto& a, const auto& b) { return a.second < b.second; }).count();
              }),
              ElementsAre("top"));
  EXPECT_THAT(indeterminate([](Flow& flow) { (void)counts(flow).zip_with_index().count(); }), ElementsAre("zip_with_index cache"))
      << "whoever else reads it must see the same numbers";
  EXPECT_THAT(indeterminate([](Flow& flow) {
                const auto numbered = counts(flow).zip_with_index();
                (void)numbered.map([](const auto& row) { return std::pair(row.second, row.first); }).group_by_key().count();
              }),
              ElementsAre("zip_with_index cache", "group_by_key"));
  EXPECT_THAT(indeterminate([](Flow& flow) {
                (void)counts(flow)
                    .map_partitions<std::pair<std::uint64_t, int>>(
                        [](auto records, auto emit) { records([&](const auto& row) { emit(std::pair(row.first, 1)); }); })
                    .group_by_key()
                    .count();
              }),
              ElementsAre("group_by_key"));
}

/// Sums of doubles, and values in the order in which they came, differ from run to run: that matters where they are more than the
/// value of a key.
TEST(Determinism, OfWhatGoesByValues) {
  const auto by_key = [](const auto& row) { return std::pair(row.first + 1, row.second); };
  EXPECT_THAT(indeterminate([&](Flow& flow) { (void)counts(flow).map(by_key).group_by_key().count(); }), IsEmpty());
  EXPECT_THAT(indeterminate([&](Flow& flow) { (void)doubles(flow).map(by_key).group_by_key().count(); }),
              ElementsAre("group_by_key"));
  EXPECT_THAT(indeterminate([&](Flow& flow) {
                (void)doubles(flow).map_values([](double d) { return d * 2; }).group_by_key(HashPartitions{3}).count();
              }),
              IsEmpty());
  EXPECT_THAT(indeterminate([&](Flow& flow) {
                (void)doubles(flow)
                    .filter([](const auto& row) { return row.second > 1; })
                    .sort_by([](const auto& row) { return row.second; })
                    .count();
              }),
              ElementsAre("sort_by samples", "sort_by"));
  EXPECT_THAT(indeterminate([&](Flow& flow) { (void)doubles(flow).distinct().count(); }), ElementsAre("distinct"));
  EXPECT_THAT(
      indeterminate([&](Flow& flow) { (void)pairs(flow).reduce_by_key(std::plus<double>()).map(by_key).distinct().count(); }),
      ElementsAre("distinct"))
      << "integers are rounded when they are added as doubles";
  EXPECT_THAT(indeterminate([&](Flow& flow) { (void)pairs(flow).reduce_by_key(std::plus<int>()).map(by_key).distinct().count(); }),
              IsEmpty());
  EXPECT_THAT(indeterminate([&](Flow& flow) { (void)doubles(flow).zip_with_index().count(); }),
              ElementsAre("zip_with_index cache"));
  EXPECT_THAT(indeterminate([&](Flow& flow) { (void)doubles(flow).cache().count(); }), ElementsAre("cache")) << "two may read it";
  EXPECT_THAT(indeterminate([&](Flow& flow) { (void)counts(flow).cache().count(); }), IsEmpty());
  EXPECT_THAT(indeterminate([&](Flow& flow) {
                (void)pairs(flow)
                    .group_by_key()
                    .map([](const auto& key, const auto& values) { return std::pair(values.to_vector().size(), key); })
                    .group_by_key()
                    .count();
              }),
              ElementsAre("group_by_key"));
  EXPECT_THAT(indeterminate([&](Flow& flow) {
                (void)pairs(flow)
                    .aggregate_by_key(weft::count(), weft::sum())
                    .map([](const auto& row) { return std::pair(std::get<0>(row.second), row.first); })
                    .group_by_key()
                    .count();
              }),
              IsEmpty());
}

/// All that reads an indeterminate stage runs again with it, so what comes behind is none for its sake.
TEST(Determinism, EndsAtTheNextShuffle) {
  EXPECT_THAT(indeterminate([](Flow& flow) {
                (void)counts(flow).repartition(3).map([](const auto& row) { return row; }).group_by_key().count();
              }),
              ElementsAre("repartition"));
  EXPECT_THAT(indeterminate([](Flow& flow) {
                (void)counts(flow).sample(0.5).cache().map([](const auto& row) { return row; }).group_by_key().count();
              }),
              ElementsAre("cache"));
}

/// A join may be made where the records of a side are, which then are not those behind its shuffle.
TEST(Determinism, OfAJoinIsThatOfItsSides) {
  EXPECT_THAT(indeterminate([](Flow& flow) {
                const auto some = counts(flow).sample(0.5).map([](const auto& row) { return std::pair(row.second, row.first); });
                (void)some.join(pairs(flow))
                    .map([](const auto& key, const auto&, const auto& right) { return std::pair(right, key); })
                    .group_by_key()
                    .count();
              }),
              testing::Contains("group_by_key"));
}

/// A partition of a join may be read by several tasks, and a side that is read whole by all: they must read the same.
TEST(Determinism, OfWhatSeveralTasksRead) {
  const auto moved = [](Flow& flow) { return doubles(flow).map_values([](double d) { return d * 2; }); };
  EXPECT_THAT(indeterminate([&](Flow& flow) { (void)pairs(flow).join(moved(flow), JoinStrategy::broadcast).count(); }),
              ElementsAre("join right, whole"));
  EXPECT_THAT(indeterminate([&](Flow& flow) { (void)pairs(flow).join(moved(flow), HashPartitions{3}).count(); }),
              ElementsAre("join right"));
  EXPECT_THAT(indeterminate([](Flow& flow) {
                const auto seen = pairs(flow).join(counts(flow), JoinStrategy::broadcast);
                (void)seen.repartition(3).count();
              }),
              ElementsAre("repartition"));
}

/// A sample that only says how large partitions will be.
TEST(Determinism, OfAnEstimateIsOfNoConsequence) {
  EXPECT_THAT(indeterminate([](Flow& flow) {
                (void)counts(flow)
                    .map([](const auto& row) { return row; })
                    .group_by_key(partition_by([](auto k, auto n) { return k % n; }, 3).sampled())
                    .count();
              }),
              IsEmpty());
}

}  // namespace
}  // namespace weft::test
