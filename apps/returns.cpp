// Customers who return much: those whose returns at a store of a state, in a year, are worth more than 1.2 times what customers of
// that store return in the mean. The shape of TPC-DS's first query: eight stages, of which two read the totals and meet again.
//
//   returns ── totals by store and customer ──┬── mean by store ──┐
//                                             └── by store ───────┼── above the mean ──┐
//                                                 stores ─────────┘       customers ───┴── names ── the largest
//
//   returns --returns returns/ --stores stores.tsv --customers customers.tsv --output frequent --year 2000 --state TN
//
// Rows are tab-separated: returns are date (2000-12-31), store, customer, amount in cents; stores are store, state; customers are
// customer, name. The output has total, store, customer, name, the largest totals first.
#include <charconv>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

struct Options {
  std::vector<std::string> returns, stores, customers;
  std::string output, year = "2000", state = "TN";
  std::size_t limit = 100;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--returns", options.returns, "Rows of date, store, customer, amount (repeatable)").required();
  arguments.option("--stores", options.stores, "Rows of store, state (repeatable)").required();
  arguments.option("--customers", options.customers, "Rows of customer, name (repeatable)").required();
  arguments.option("--output", options.output, "Directory for the customers found").required();
  arguments.option("--year", options.year, "Year of the returns").show_default();
  arguments.option("--state", options.state, "State of the stores").show_default();
  arguments.option("--limit", options.limit, "Customers at most").positive().show_default();
}

std::int64_t cents(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument("'" + std::string(text) + "' is no amount in cents");
  return value;
}

/// What the customers of a store return.
struct Returned {
  std::int64_t cents = 0, customers = 0;
};

void define(weft::Flow& flow, const Options& options) {
  const auto totals = flow.read_text(options.returns)
                          .filter([year = options.year + "-"](std::string_view line) { return line.starts_with(year); })
                          .map([](std::string_view line) {
                            const auto [date, store, customer, amount] = weft::columns<4>(line);
                            const std::string_view both(store.data(), store.size() + 1 + customer.size());
                            return std::pair(both, cents(amount));
                          })
                          .reduce_by_key(std::plus<>());
  const auto means =
      totals.map([](const auto& total) { return std::pair(std::string(weft::columns<2>(total.first)[0]), total.second); })
          .aggregate_by_key(
              Returned{},
              [](Returned& store, std::int64_t total) {
                store.cents += total;
                ++store.customers;
              },
              [](Returned& store, const Returned& other) {
                store.cents += other.cents;
                store.customers += other.customers;
              });
  const auto stores = flow.read_text(options.stores)
                          .map([](std::string_view line) {
                            const auto [store, state] = weft::columns<2>(line);
                            return std::pair(std::string(store), std::string(state));
                          })
                          .filter([state = options.state](const auto& row) { return row.second == state; });
  const auto customers = flow.read_text(options.customers).map([](std::string_view line) {
    const auto [customer, name] = weft::columns<2>(line);
    return std::pair(std::string(customer), std::string(name));
  });

  totals
      .map([](const auto& total) {
        const auto [store, customer] = weft::columns<2>(total.first);
        return std::pair(std::string(store), std::pair(std::string(customer), total.second));
      })
      .semi_join(stores)
      .join(means)
      .filter([](const auto& row) {  // total > 1.2 * cents / customers, in whole numbers
        const auto& [customer, store] = row.second;
        return 5 * customer.second * store.customers > 6 * store.cents;
      })
      .map([](const auto& store, const auto& returned, const auto&) {
        const auto& [customer, total] = returned;
        return std::pair(std::string(customer), std::pair(std::string(store), total));
      })
      .join(customers)
      .map([](const auto& customer, const auto& returned, const auto& name) {
        const auto& [store, total] = returned;
        return std::tuple(total, std::string(store), std::string(customer), std::string(name));
      })
      .top(options.limit)
      .write_text(options.output);
}

}  // namespace

int main(int argc, char** argv) {
  return weft::main<Options>(argc, argv, "Finds customers who return much more than others", declare, define);
}
