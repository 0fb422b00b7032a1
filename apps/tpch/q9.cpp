// TPC-H query 9, the profit by nation and year of all parts with "green" in their names: six tables.
#include "tables.hpp"

namespace {

struct Part {
  std::int64_t p_partkey = 0;
  std::string_view p_name;
};
struct Nation {
  std::int64_t n_nationkey = 0;
  std::string n_name;
};
struct Supplier {
  std::int64_t s_suppkey = 0, s_nationkey = 0;
};
struct PartSupplier {
  std::int64_t ps_partkey = 0, ps_suppkey = 0;
  double ps_supplycost = 0;
};
struct Order {
  std::int64_t o_orderkey = 0;
  weft::Date o_orderdate;
};
struct Line {
  std::int64_t l_orderkey = 0, l_partkey = 0, l_suppkey = 0;
  double l_quantity = 0, l_extendedprice = 0, l_discount = 0;
};
/// What a line earned, in hundredths of cents.
struct Profit {
  std::int64_t supplier = 0, amount = 0;
};
struct Row {
  std::string nation;
  int o_year = 0;
  double sum_profit = 0;
};

auto green_parts(weft::Flow& flow, const tpch::Options& options) {
  return flow.read_parquet<Part>(options.table("part"))
      .filter([](const Part& part) { return part.p_name.find("green") != std::string_view::npos; })
      .map([](const Part& part) { return std::pair(part.p_partkey, true); });
}

/// The number of each supplier and the name of its nation.
auto nations(weft::Flow& flow, const tpch::Options& options) {
  const auto names = flow.read_parquet<Nation>(options.table("nation")).map([](const Nation& nation) {
    return std::pair(nation.n_nationkey, nation.n_name);
  });
  return flow.read_parquet<Supplier>(options.table("supplier"))
      .map([](const Supplier& supplier) { return std::pair(supplier.s_nationkey, supplier.s_suppkey); })
      .join(names)
      .map([](std::int64_t, std::int64_t supplier, const std::string& nation) { return std::pair(supplier, nation); });
}

void define(weft::Flow& flow, const tpch::Options& options) {
  const auto parts = green_parts(flow, options);
  const auto costs = flow.read_parquet<PartSupplier>(options.table("partsupp"))
                         .map([](const PartSupplier& row) { return std::pair(row.ps_partkey, row); })
                         .semi_join(parts)
                         .map([](std::int64_t part, const PartSupplier& row) {
                           return std::pair(std::pair(part, row.ps_suppkey), tpch::hundredths(row.ps_supplycost));
                         });
  const auto years = flow.read_parquet<Order>(options.table("orders")).map([](const Order& order) {
    return std::pair(order.o_orderkey, order.o_orderdate.year());
  });
  flow.read_parquet<Line>(options.table("lineitem"))
      .map([](const Line& line) { return std::pair(line.l_partkey, line); })
      .semi_join(parts)
      .map([](std::int64_t part, const Line& line) { return std::pair(std::pair(part, line.l_suppkey), line); })
      .join(costs)
      .map([](const auto& key, const Line& line, std::int64_t cost) {
        const std::int64_t paid = tpch::hundredths(line.l_extendedprice) * (100 - tpch::hundredths(line.l_discount));
        return std::pair(line.l_orderkey, Profit{key.second, paid - cost * tpch::hundredths(line.l_quantity)});
      })
      .join(years)
      .map([](std::int64_t, const Profit& profit, int year) { return std::pair(profit.supplier, std::pair(year, profit.amount)); })
      .join(nations(flow, options))
      .map([](std::int64_t, const auto& profit, const std::string& nation) {
        return std::pair(std::pair(nation, -profit.first), profit.second);
      })
      .reduce_by_key(std::plus<>(), 1)
      .sort_by([](const auto& sum) { return sum.first; })
      .map([](const auto& key, std::int64_t sum) {
        return Row{key.first, -key.second, static_cast<double>(sum) / 1e4};
      })
      .write_csv_file(options.output);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<tpch::Options>(argc, argv, "TPC-H query 9", tpch::declare, define); }
