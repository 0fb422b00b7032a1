// Operators run in the calls of emit(…) and records(…), in frames of user functions: what such a function catches there must not be
// missing from the output of a job that succeeds.
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using Pair = std::pair<int, std::int64_t>;

/// Of a job of one attempt; empty: it succeeded.
std::string outcome_of(const std::function<void(Flow&)>& define) {
  const auto report = run_locally(define, {.threads = 1, .job = {{"max-attempts", "1"}}});
  return report ? "" : report.error().to_string();
}
bool fails_with(const std::string& text, const std::function<void(Flow&)>& define) {
  return outcome_of(define).find(text) != std::string::npos;
}

/// What a careful program does around each record.
void emit_carefully(auto&& emit, auto record) {
  try {
    emit(record);
  } catch (...) {
    bad_record("it throws");
  }
}
template <class Out>
auto careful() {
  return [](auto&& record, auto&& emit) { emit_carefully(emit, Out(record)); };
}
std::int64_t no_thirteen(std::int64_t a, std::int64_t b) {
  if (b == 13) throw std::overflow_error("thirteen");
  return a + b;
}
auto two_hundred(Flow& flow) {
  return flow.generate(200, [](std::uint64_t i) { return static_cast<std::int64_t>(i); });
}

TEST(CaughtExceptions, OfLaterOperatorsFailTheAttempt) {
  const auto thirteen = [](std::int64_t i) {
    if (i == 13) throw std::overflow_error("thirteen");
    return i;
  };
  EXPECT_TRUE(fails_with("thirteen", [&](Flow& flow) {
    (void)two_hundred(flow).flat_map<std::int64_t>(careful<std::int64_t>()).map(thirteen).count();
  }));
  EXPECT_TRUE(fails_with("thirteen", [](Flow& flow) {
    const auto pair = [](std::int64_t i, auto&& emit) { emit_carefully(emit, Pair(1, i)); };
    (void)two_hundred(flow).flat_map<Pair>(pair).reduce_by_key(no_thirteen).collect();
  })) << "in the combiner's table";
  EXPECT_TRUE(fails_with("thirteen", [&](Flow& flow) {
    (void)two_hundred(flow)
        .map_partitions<std::int64_t>(
            [](auto&& records, auto&& emit) { records([&](std::int64_t i) { emit_carefully(emit, i); }); })
        .map(thirteen)
        .count();
  }));
  EXPECT_TRUE(fails_with("thirteen", [&](Flow& flow) {
    (void)two_hundred(flow)
        .map_partitions<std::int64_t>([](auto&& records, auto&& emit) {
          try {
            records([&](std::int64_t i) { emit(i); });
          } catch (const std::exception&) {
          }
        })
        .map(thirteen)
        .count();
  }));
  const ScratchDirectory scratch;
  EXPECT_TRUE(fails_with("write_text_by", [&](Flow& flow) {
    two_hundred(flow)
        .flat_map<std::string>([](std::int64_t, auto&& emit) { emit_carefully(emit, std::string("..")); })
        .write_text_by(scratch / "out", [](const std::string& name) { return name; });
  })) << "a directory cannot have this name";
}

TEST(CaughtExceptions, OfEarlierOperatorsFailTheAttempt) {
  EXPECT_TRUE(fails_with("thirteen", [](Flow& flow) {
    (void)two_hundred(flow)
        .map([](std::int64_t i) { return no_thirteen(0, i); })
        .map_partitions<std::int64_t>([](auto&& records, auto&& emit) {
          try {
            records([&](std::int64_t i) { emit(i); });
          } catch (const std::exception&) {
          }
        })
        .count();
  }));
}

struct CarefulMapper : Mapper<std::int64_t, int, std::int64_t> {
  void map(const std::int64_t& i, Emit emit) override {
    try {
      emit(1, i);
    } catch (...) {
    }
  }
};
struct CarefulSum : Reducer<int, std::int64_t, std::int64_t> {
  void reduce(const int&, Values<std::int64_t>& values, Emit emit) override {
    std::int64_t sum = 0;
    for (const std::int64_t value : values) sum += value;
    try {
      emit(sum);
    } catch (...) {
    }
  }
};
struct NoPartition : Partitioner<int> {
  std::uint32_t partition(const int&, std::uint32_t) const override { throw std::runtime_error("no partition"); }
};

TEST(CaughtExceptions, OfClassesFailTheAttempt) {
  EXPECT_TRUE(fails_with("no partition", [](Flow& flow) {
    (void)MapReduce<CarefulMapper, CarefulSum>().partitioner<NoPartition>().run(two_hundred(flow)).count();
  }));
  EXPECT_TRUE(fails_with("19900", [](Flow& flow) {
    (void)MapReduce<CarefulMapper, CarefulSum>()
        .run(two_hundred(flow))
        .map([](std::int64_t sum) -> int { throw std::runtime_error(std::to_string(sum)); })
        .count();
  }));
}

/// A function may leave its records by an exception of its own.
TEST(CaughtExceptions, OfTheFunctionItselfAreItsOwnAffair) {
  struct Found {
    std::int64_t what;
  };
  std::vector<std::int64_t> found;
  EXPECT_EQ(outcome_of([&](Flow& flow) {
              found = two_hundred(flow)
                          .flat_map<std::int64_t>([](std::int64_t i, auto&& emit) { emit(i); })
                          .map_partitions<std::int64_t>([](auto&& records, auto&& emit) {
                            try {
                              records([&](std::int64_t i) {
                                if (i % 10 == 7) throw Found{i};
                              });
                            } catch (const Found& it) {
                              emit(it.what);
                            }
                          })
                          .collect();
            }),
            "");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), 7);
}

/// That a task needs no more records is no failure, whoever catches it.
TEST(CaughtExceptions, OfWhoHasEnoughAreNoFailure) {
  std::vector<std::int64_t> some, others;
  EXPECT_EQ(outcome_of([&](Flow& flow) {
              const auto all = two_hundred(flow).flat_map<std::int64_t>(careful<std::int64_t>());
              some = all.first(3);
              others = two_hundred(flow)
                           .map_partitions<std::int64_t>(
                               [](auto&& records, auto&& emit) { records([&](std::int64_t i) { emit_carefully(emit, i); }); })
                           .first(3);
            }),
            "");
  EXPECT_EQ(some, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(others, (std::vector<std::int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace weft::test
