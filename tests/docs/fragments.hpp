// What the fragments of C++ in the pages take as known (fragments_test.py).
#pragma once

#include <compare>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <weft/asof.hpp>
#include <weft/kernel.hpp>
#include <weft/rollup.hpp>
#include <weft/statistics.hpp>
#include <weft/weft.h>

struct Point {
  std::int32_t x, y;
};
struct Order {
  std::string customer;
  double price = 0;
  std::uint64_t time = 0;
};
struct Visit {
  std::string page;
  std::uint64_t time = 0;
  double seconds = 0;
  friend auto operator<=>(const Visit&, const Visit&) = default;
};
struct Row {
  std::string text;
  std::uint64_t time = 0;
  friend auto operator<=>(const Row&, const Row&) = default;
};
struct Trade {
  std::uint64_t time = 0, amount = 0;
};
struct Quote {
  std::uint64_t time = 0;
  double price = 0;
};
struct T {};
struct Generate {};
struct Sort {};
struct Mean {
  double sum = 0;
  std::uint64_t count = 0;
  void add(double x) { sum += x, ++count; }
  void merge(const Mean& other) { sum += other.sum, count += other.count; }
};
struct MyCombiner {
  using Value = int;
  using Acc = std::int64_t;
  Acc init(int value) const { return value; }
  void add(Acc& acc, int value) const { acc += value; }
  void merge(Acc& acc, Acc other) const { acc += other; }
};
struct LocalSum : weft::Combiner<std::string, std::uint64_t> {
  void combine(const std::string&, weft::Values<std::uint64_t>& values, Emit emit) override {
    std::uint64_t all = 0;
    for (const std::uint64_t value : values) all += value;
    emit(all);
  }
};
struct ByFirstLetter : weft::Partitioner<std::string> {
  std::uint32_t partition(const std::string& key, std::uint32_t partitions) const override {
    return static_cast<unsigned char>(key[0]) % partitions;
  }
};

void declare_gen(weft::Arguments& arguments, Generate& options);
void declare_sort(weft::Arguments& arguments, Sort& options);
void gen(weft::Flow& flow, const Generate& options);
void sort(weft::Flow& flow, const Sort& options);
std::string decode(std::string_view image);
std::string decode_on_gpu(std::string_view image);
std::string decode_on_fpga(std::string_view image);
double score(const std::pair<std::string, std::uint64_t>& count);
std::uint32_t region_of(const std::string& key, std::uint32_t partitions);
std::uint64_t key(const Row& row);
std::string f(std::string_view line);
std::optional<Row> parse(std::string_view line);
std::vector<int> load_table();

inline constexpr int sum = 3;
inline const std::vector<std::string> paths;
inline constexpr std::uint64_t n_bytes = 8, seed = 1;

template <class Record>
using Data = const weft::Dataset<Record>&;

// The parameters of a fragment.
#define WEFT_FRAGMENT                                                                                                           \
  [[maybe_unused]] weft::Flow &flow, [[maybe_unused]] int argc, [[maybe_unused]] char **argv, [[maybe_unused]] std::uint64_t n, \
      [[maybe_unused]] weft::JoinStrategy strategy, [[maybe_unused]] Data<std::string_view> lines,                              \
      [[maybe_unused]] Data<std::string_view> images, [[maybe_unused]] Data<std::pair<std::string, int>> pairs,                 \
      [[maybe_unused]] Data<std::pair<std::string, int>> left, [[maybe_unused]] Data<std::pair<std::string, double>> right,     \
      [[maybe_unused]] Data<std::pair<std::string, std::string>> texts,                                                         \
      [[maybe_unused]] Data<std::pair<std::string, Visit>> visits, [[maybe_unused]] Data<Order> orders,                         \
      [[maybe_unused]] Data<std::pair<std::string, Trade>> trades, [[maybe_unused]] Data<std::pair<std::string, Quote>> quotes, \
      [[maybe_unused]] Data<Row> records, [[maybe_unused]] Data<Row> rows, [[maybe_unused]] Data<int> numbers,                  \
      [[maybe_unused]] Data<int> a, [[maybe_unused]] Data<int> b,                                                               \
      [[maybe_unused]] Data<std::pair<std::string, std::uint64_t>> counts
