// Random dataflow graphs against an interpreter that does the same to vectors in memory.
#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using Row = std::pair<std::int64_t, std::string>;
using Rows = std::vector<Row>;

Rows sorted(Rows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::string larger(const std::string& a, const std::string& b) { return a < b ? b : a; }

/// A partitioner that is not the default one.
std::uint32_t backwards(std::int64_t key, std::uint32_t partitions) {
  return partitions - 1 - static_cast<std::uint32_t>(key + 1'000'000) % partitions;
}

std::map<std::int64_t, Rows> by_key(const Rows& rows) {
  std::map<std::int64_t, Rows> groups;
  for (const Row& row : rows) groups[row.first].push_back(row);
  return groups;
}

/// The same dataset twice: as weft describes it, and its content.
struct Both {
  Dataset<Row> dataset;
  Rows rows;
};

class RandomDag {
 public:
  RandomDag(Flow& flow, std::uint64_t seed) : flow_(flow), random_(seed) {
    const std::size_t sources = 1 + below(3);
    for (std::size_t i = 0; i < sources; ++i) pool_.push_back(source());
    const std::size_t operators = 3 + below(8);
    for (std::size_t i = 0; i < operators; ++i) pool_.push_back(apply(below(22)));
  }

  const std::vector<Both>& pool() const { return pool_; }
  const Both& any() { return pool_[below(pool_.size())]; }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_.below(n)); }

  Both source() {
    Rows rows;
    const std::size_t count = below(4) == 0 ? below(3) : below(400);
    for (std::size_t i = 0; i < count; ++i) {
      rows.emplace_back(static_cast<std::int64_t>(below(40)) - 20, std::string(below(12), 'x') + std::to_string(below(50)));
    }
    return {flow_.from_vector(rows, static_cast<std::uint32_t>(below(4))), rows};
  }

  /// Often one whose records lie in the partitions of their keys already.
  Both pick() { return below(2) == 0 ? any() : pool_.back(); }

  Both apply(std::size_t what) {
    const Both in = pick();
    const Both other = any();
    const auto partitions = static_cast<std::uint32_t>(1 + below(5));
    Rows out;
    switch (what) {
      case 0:
        for (const Row& row : in.rows) out.emplace_back(row.first / 2, row.second + "m");
        return {in.dataset.map([](const Row& row) { return Row(row.first / 2, row.second + "m"); }), out};
      case 1:
        for (const Row& row : in.rows) {
          if (row.second.size() % 2 == 0) out.push_back(row);
        }
        return {in.dataset.filter([](const Row& row) { return row.second.size() % 2 == 0; }), out};
      case 2:
        if (in.rows.size() > 5000) return in;
        for (const Row& row : in.rows) {
          out.push_back(row);
          out.emplace_back(row.first + 1, row.second);
        }
        return {in.dataset.flat_map([](const Row& row) { return Rows{row, {row.first + 1, row.second}}; }), out};
      case 3:
        for (const auto& [key, rows] : by_key(in.rows)) {
          std::string most;
          for (const Row& row : rows) most = larger(most, row.second);
          out.emplace_back(key, most);
        }
        if (below(3) == 0) return {in.dataset.reduce_by_key(larger), out};
        if (below(3) == 0) return {in.dataset.reduce_by_key(larger, partition_by(backwards, partitions)), out};
        return {in.dataset.reduce_by_key(larger, partitions), out};
      case 4:
        for (const auto& [key, rows] : by_key(in.rows)) out.emplace_back(key, std::to_string(rows.size()));
        return {in.dataset
                    .aggregate_by_key(
                        std::uint64_t{0}, [](std::uint64_t& n, const std::string&) { ++n; },
                        [](std::uint64_t& n, const std::uint64_t& m) { n += m; })
                    .map([](const std::pair<std::int64_t, std::uint64_t>& e) { return Row(e.first, std::to_string(e.second)); }),
                out};
      case 5:
        for (const auto& [key, rows] : by_key(in.rows)) {
          std::size_t bytes = 0;
          for (const Row& row : rows) bytes += row.second.size();
          out.emplace_back(key, std::to_string(bytes));
        }
        return {in.dataset.group_by_key().map([](const std::pair<std::int64_t, Values<std::string>>& group) {
                  std::size_t bytes = 0;
                  for (const std::string& value : group.second) bytes += value.size();
                  return Row(group.first, std::to_string(bytes));
                }),
                out};
      case 6:
        out = in.rows;
        out.insert(out.end(), other.rows.begin(), other.rows.end());
        if (out.size() > 5000) return in;
        return {in.dataset.union_with(other.dataset), out};
      case 7: {
        const std::set<Row> once(in.rows.begin(), in.rows.end());
        return {in.dataset.distinct(), Rows(once.begin(), once.end())};
      }
      case 8:
        return {in.dataset.sort_by([](const Row& row) { return row; }, below(2) == 0 ? Order::ascending : Order::descending,
                                   partitions),
                in.rows};
      case 9:
        return {in.dataset.cache(), in.rows};
      case 10:
        return {in.dataset.repartition(partitions), in.rows};
      case 11:
        return joined(in, other);
      case 12:
        return joined(in, pick());
      case 13:
        return joined(other, in);
      case 14:
        for (const Row& row : in.rows) out.emplace_back(row.first, row.second + "v");
        return {in.dataset.map_values([](const std::string& value) { return value + "v"; }), out};
      case 15:
        for (const auto& [key, rows] : by_key(in.rows)) {
          for (const Row& row : rows) out.emplace_back(key, std::to_string(row.second.size()));
        }
        return {in.dataset.group_by_key(partitions).flat_map([](const std::pair<std::int64_t, Values<std::string>>& group) {
                  Rows sizes;
                  for (const std::string& value : group.second) sizes.emplace_back(group.first, std::to_string(value.size()));
                  return sizes;
                }),
                out};
      case 16: {
        const auto lefts = by_key(in.rows), rights = by_key(other.rows);
        std::set<std::int64_t> keys;
        for (const Row& row : in.rows) keys.insert(row.first);
        for (const Row& row : other.rows) keys.insert(row.first);
        const auto count = [](const auto& groups, std::int64_t key) { return groups.contains(key) ? groups.at(key).size() : 0; };
        for (const std::int64_t key : keys)
          out.emplace_back(key, std::to_string(count(lefts, key)) + "+" + std::to_string(count(rights, key)));
        const auto sizes = [](auto groups) {
          return std::to_string(std::ranges::distance(groups.first)) + "+" + std::to_string(std::ranges::distance(groups.second));
        };
        if (below(2) == 0) return {in.dataset.cogroup(other.dataset).map_values(sizes), out};
        return {in.dataset.cogroup(other.dataset, partitions).map_values(sizes), out};
      }
      case 18:
        for (const auto& [key, rows] : by_key(in.rows)) out.emplace_back(key, std::to_string(rows.size()));
        return {
            in.dataset.count_by_key(below(2) == 0 ? 0 : partitions).map_values([](std::uint64_t n) { return std::to_string(n); }),
            out};
      case 19:
        for (auto& [key, rows] : by_key(in.rows)) {
          std::sort(rows.rbegin(), rows.rend());
          for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 2); ++i) out.push_back(rows[i]);
        }
        return {in.dataset.top_by_key(2).flat_map([](std::int64_t key, const std::vector<std::string>& values) {
                  Rows largest;
                  for (const std::string& value : values) largest.emplace_back(key, value);
                  return largest;
                }),
                out};
      case 20: {
        const auto joined = [](const std::string& a, const std::string& b) { return a.substr(0, 6) + "<" + b.substr(0, 6); };
        for (auto& [key, rows] : by_key(in.rows)) {
          std::sort(rows.begin(), rows.end());
          for (std::size_t i = 1; i < rows.size(); ++i) out.emplace_back(key, joined(rows[i - 1].second, rows[i].second));
        }
        return {in.dataset.group_by_key(partitions)
                    .sorted_by([](const std::string& value) { return value; })
                    .windows(2)
                    .map_values([joined](const std::vector<std::string>& window) { return joined(window[0], window[1]); }),
                out};
      }
      case 21:
        return {in.dataset.zip_with_index().map([](const Row& row, std::uint64_t) { return row; }), in.rows};
      default: {
        const std::size_t n = below(20);
        out = sorted(in.rows);
        std::reverse(out.begin(), out.end());
        out.resize(std::min(out.size(), n));
        return {in.dataset.top(n), out};
      }
    }
  }

  Both joined(const Both& left, const Both& right) {
    const auto kind = static_cast<JoinKind>(below(6));
    const bool broadcast = kind != JoinKind::right && kind != JoinKind::full && below(2) == 0;
    const auto lefts = by_key(left.rows), rights = by_key(right.rows);
    Rows out;
    const auto row = [](std::int64_t key, const std::optional<std::string>& l, const std::optional<std::string>& r) {
      return Row(key, l.value_or("-").substr(0, 8) + "|" + r.value_or("-").substr(0, 8));
    };
    for (const auto& [key, rows] : lefts) {
      const auto match = rights.find(key);
      for (const Row& l : rows) {
        if (kind == JoinKind::semi || kind == JoinKind::anti) {
          if ((match != rights.end()) == (kind == JoinKind::semi)) out.push_back(row(key, l.second, std::nullopt));
        } else if (match != rights.end()) {
          for (const Row& r : match->second) out.push_back(row(key, l.second, r.second));
        } else if (kind == JoinKind::left || kind == JoinKind::full) {
          out.push_back(row(key, l.second, std::nullopt));
        }
      }
    }
    if (kind == JoinKind::right || kind == JoinKind::full) {
      for (const auto& [key, rows] : rights) {
        if (lefts.contains(key)) continue;
        for (const Row& r : rows) out.push_back(row(key, std::nullopt, r.second));
      }
    }
    if (out.size() > 5000) return left;
    const auto strategy = broadcast ? JoinStrategy::broadcast : below(3) == 0 ? JoinStrategy::hash : JoinStrategy::automatic;
    const auto both = [row](std::int64_t key, const auto& l, const auto& r) { return row(key, l, r); };
    if (kind == JoinKind::inner && below(2) == 0) return {left.dataset.join(right.dataset, strategy).map(both), out};
    if (kind == JoinKind::right && below(2) == 0) return {left.dataset.right_join(right.dataset, strategy).map(both), out};
    const auto values = [row](const auto& value) { return row(0, value.left, value.right).second; };
    if (below(2) == 0) return {left.dataset.join_optional(right.dataset, kind, strategy).map_values(values), out};
    if (below(2) == 0) {
      const auto partitions = static_cast<std::uint32_t>(1 + below(5));
      return {left.dataset.join_optional(right.dataset, kind, JoinHow{strategy, partitions}).map_values(values), out};
    }
    if (below(2) == 0) {
      const auto how = partition_by(backwards, static_cast<std::uint32_t>(1 + below(5)));
      if (below(2) == 0)
        return {left.dataset.join_optional(right.dataset, kind, JoinHow{strategy, how.sampled()}).map_values(values), out};
      return {left.dataset.join_optional(right.dataset, kind, JoinHow{strategy, how}).map_values(values), out};
    }
    return {left.dataset.join_optional(right.dataset, kind, strategy).map([row](const auto& entry) {
              return row(entry.first, entry.second.left, entry.second.right);
            }),
            out};
  }

  Flow& flow_;
  Random random_;
  std::vector<Both> pool_;
};

Rows parsed(const std::vector<std::string>& lines) {
  Rows rows;
  for (const std::string& line : lines) {
    const auto tab = line.find('\t');
    rows.emplace_back(std::stoll(line.substr(0, tab)), line.substr(tab + 1));
  }
  return rows;
}

void check(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const ScratchDirectory scratch;
  std::vector<Rows> wanted;
  const auto report = run_locally(
      [&](Flow& flow) {
        RandomDag dag(flow, seed);
        const Both collected = dag.any();
        EXPECT_EQ(sorted(collected.dataset.collect()), sorted(collected.rows));
        const Both counted = dag.any();
        EXPECT_EQ(counted.dataset.count(), counted.rows.size());
        for (std::size_t i = 0; i < 3; ++i) {
          const Both sink = dag.any();
          sink.dataset.write_text(scratch / ("out" + std::to_string(i)));
          wanted.push_back(sorted(sink.rows));
        }
        const Both ordered = dag.any();
        ordered.dataset.sort_by([](const Row& row) { return row; }).write_text(scratch / "sorted");
        wanted.push_back(sorted(ordered.rows));
      },
      {.threads = 2, .memory_bytes = 64u << 20});
  ASSERT_TRUE(report) << report.error().to_string();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(sorted(parsed(part_lines(scratch / ("out" + std::to_string(i))))), wanted[i]);
  EXPECT_EQ(parsed(part_lines(scratch / "sorted")), wanted[3]);
}

TEST(RandomDag, GivesWhatAnInterpreterGives) {
  const char* given = std::getenv("WEFT_TEST_SEED");
  const std::uint64_t first = given != nullptr ? std::stoull(given) : std::random_device{}();
  const std::uint64_t runs = given != nullptr ? 1 : 60;
  std::cout << "seeds " << first << " to " << first + runs - 1 << " (WEFT_TEST_SEED=n repeats one)\n";
  for (std::uint64_t seed = first; seed < first + runs && !testing::Test::HasFailure(); ++seed) check(seed);
}

}  // namespace
}  // namespace weft::test
