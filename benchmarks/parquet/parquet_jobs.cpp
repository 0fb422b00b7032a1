// What parquet_bench measures of weft, one program for each query.
#include <cstdint>
#include <string>
#include <utility>

#include <weft/weft.h>

namespace {

struct Sale {
  std::int64_t customer = 0;
  double amount = 0;
};
struct Customer {
  std::int64_t id = 0;
  std::int32_t region = 0;
};
struct RegionTotal {
  std::int32_t region = 0;
  double amount = 0;
};

/// 10 M rows with 1 M, and sums by what the smaller table says.
void join(weft::Flow& flow, const weft::InputOutput& job) {
  const auto customers = flow.read_parquet<Customer>(job.input.at(1)).map([](const Customer& customer) {
    return std::pair(customer.id, customer.region);
  });
  flow.read_parquet<Sale>(job.input.at(0))
      .map([](const Sale& sale) { return std::pair(sale.customer, sale.amount); })
      .join(customers)
      .map([](std::int64_t, double amount, std::int32_t region) { return std::pair(region, amount); })
      .reduce_by_key(std::plus<>(), 1)
      .map([](std::int32_t region, double amount) {
        return RegionTotal{region, amount};
      })
      .write_parquet(job.output);
}

struct Reading {
  std::int64_t key = 0, value = 0;
};
struct KeyTotal {
  std::int64_t key = 0, sum = 0;
  std::uint64_t count = 0;
};

/// 100 M rows by 1 M keys.
void aggregate(weft::Flow& flow, const weft::InputOutput& job) {
  flow.read_parquet<Reading>(job.input)
      .map([](const Reading& reading) { return std::pair(reading.key, reading.value); })
      .aggregate_by_key(weft::sum(), weft::count())
      .map([](std::int64_t key, std::int64_t sum, std::uint64_t count) {
        return KeyTotal{key, sum, count};
      })
      .write_parquet(job.output);
}

struct Event {
  std::int64_t value = 0;
};
struct Total {
  std::int64_t value = 0;
};

/// A condition that two of 200 row groups meet.
void filter(weft::Flow& flow, const weft::InputOutput& job) {
  const std::int64_t sum =
      flow.read_parquet<Event>(job.input, {.where = {weft::column("id") >= 10'000'000, weft::column("id") < 10'200'000}})
          .map([](const Event& event) { return event.value; })
          .aggregate(weft::sum());
  flow.from_vector(std::vector{Total{sum}}, 1).write_parquet(job.output);
}

struct Row {
  std::int64_t key = 0;
  std::string text;
};

/// 10 M rows of a number and a text, by the number.
void sort(weft::Flow& flow, const weft::InputOutput& job) {
  flow.read_parquet<Row>(job.input)
      .sort_by([](const Row& row) { return row.key; })
      .write_parquet(job.output, {.sorted_by = {"key"}});
}

}  // namespace

int main(int argc, char** argv) {
  weft::Programs programs("Jobs on Parquet files");
  programs.add("join", "Sums of sales by region", join);
  programs.add("aggregate", "Sums by key", aggregate);
  programs.add("filter", "A sum over few row groups", filter);
  programs.add("sort", "Rows by key", sort);
  return programs.main(argc, argv);
}
