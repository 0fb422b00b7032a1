// Aggregators, functions of sorted groups, subtotals and joins on a table of CSV: analytics_test.py compares with DuckDB.
#include <cstdint>
#include <optional>
#include <string>

#include <weft/asof.hpp>
#include <weft/rollup.hpp>
#include <weft/statistics.hpp>
#include <weft/weft.h>

namespace {

struct Sale {
  std::int64_t id = 0, time = 0;
  std::string shop, item;
  double price = 0;
  std::optional<std::int64_t> customer;
};

struct Options : weft::InputOutput {
  std::string kind;
};

void declare(weft::Arguments& arguments, Options& options) {
  weft::declare(arguments, options);
  arguments.option("--kind", options.kind, "aggregates, all, sequences, rollup, asof or joins").required();
}

auto by_shop(weft::Flow& flow, const Options& options) {
  return flow.read_csv<Sale>(options.input, {.missing = {""}}).map([](const Sale& sale) { return std::pair(sale.shop, sale); });
}

void aggregates(weft::Flow& flow, const Options& options) {
  by_shop(flow, options)
      .aggregate_by_key(weft::count_distinct(&Sale::customer), weft::approx_count_distinct(&Sale::customer),
                        weft::quantile(0.5, &Sale::price), weft::quantile(0.9, &Sale::price),
                        weft::min_by(&Sale::price, &Sale::item), weft::max_by(&Sale::time, &Sale::price), weft::first(&Sale::id),
                        weft::last(&Sale::id))
      .write_csv(options.output,
                 {.columns = {"shop", "customers", "about", "median", "p90", "cheapest", "latest", "first", "last"}});
}

void all(weft::Flow& flow, const Options& options) {
  const auto [customers, items, median] =
      by_shop(flow, options)
          .values()
          .aggregate(weft::count_distinct(&Sale::customer), weft::count_distinct(&Sale::item), weft::quantile(0, &Sale::price));
  flow.from_vector(std::vector{std::tuple(customers, items, median)})
      .write_csv(options.output, {.columns = {"customers", "items", "least"}});
}

/// The running sum, the price before, and the number of each sale of a shop.
void sequences(weft::Flow& flow, const Options& options) {
  const auto in_order =
      by_shop(flow, options).group_by_key().sorted_by([](const Sale& sale) { return std::pair(sale.time, sale.id); });
  struct State {
    double sum = 0;
    std::optional<double> before;
    std::uint64_t number = 0;
  };
  in_order
      .scan(State(),
            [](State& state, const Sale& sale) {
              const auto before = std::exchange(state.before, sale.price);
              return std::tuple(sale.id, state.sum += sale.price, before, ++state.number);
            })
      .write_csv(options.output + "/scan", {.columns = {"shop", "id", "sum", "before", "number"}});
  in_order.lag(2)
      .map([](const std::string& shop, const auto& both) {
        return std::tuple(shop, both.first.id, both.second ? std::optional(both.second->id) : std::nullopt);
      })
      .write_csv(options.output + "/lag", {.columns = {"shop", "id", "before"}});
  in_order.row_number()
      .map([](const std::string& shop, const auto& both) { return std::tuple(shop, both.first.id, both.second); })
      .write_csv(options.output + "/numbers", {.columns = {"shop", "id", "number"}});
}

void rollup(weft::Flow& flow, const Options& options) {
  by_shop(flow, options)
      .values()
      .flat_map(weft::rollup(&Sale::shop, &Sale::item))
      .aggregate_by_key(weft::count(), weft::sum(&Sale::price))
      .write_csv(options.output, {.columns = {"shop", "item", "count", "sum"}});
}

/// Each sale and the latest of the same shop that was at least as expensive as 50, not later.
void asof(weft::Flow& flow, const Options& options) {
  const auto sales = by_shop(flow, options);
  const auto expensive = sales.filter([](const std::string&, const Sale& sale) { return sale.price >= 50; });
  weft::asof_join(sales, expensive, &Sale::time, &Sale::time)
      .map([](const std::string& shop, const Sale& sale, const std::optional<Sale>& other) {
        return std::tuple(shop, sale.id, other ? std::optional(other->time) : std::nullopt);
      })
      .write_csv(options.output, {.columns = {"shop", "id", "time"}});
}

/// Three tables by one key, each of which is shuffled once.
void joins(weft::Flow& flow, const Options& options) {
  const auto sales = by_shop(flow, options);
  const auto counts = sales.map_values([](const Sale&) { return 1; }).reduce_by_key(std::plus<>(), 4);
  const auto latest =
      sales.map_values([](const Sale& sale) { return sale.time; }).reduce_by_key([](auto a, auto b) { return std::max(a, b); }, 4);
  const auto prices = sales.map_values([](const Sale& sale) { return sale.price; });
  counts.join(latest, 4)
      .join(prices, 4)
      .aggregate_by_key(weft::count(), 4)
      .write_csv(options.output, {.columns = {"shop", "rows"}});
}

void define(weft::Flow& flow, const Options& options) {
  if (options.kind == "aggregates") return aggregates(flow, options);
  if (options.kind == "all") return all(flow, options);
  if (options.kind == "sequences") return sequences(flow, options);
  if (options.kind == "rollup") return rollup(flow, options);
  if (options.kind == "asof") return asof(flow, options);
  joins(flow, options);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Analyses of sales", declare, define); }
