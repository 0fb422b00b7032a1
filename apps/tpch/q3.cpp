// TPC-H query 3, shipping priority: the ten orders of the greatest value, of customers in the building segment, that had not been
// shipped by 15 March 1995.
#include "tables.hpp"

namespace {

struct Customer {
  std::int64_t c_custkey = 0;
};
struct Order {
  std::int64_t o_orderkey = 0, o_custkey = 0;
  weft::Date o_orderdate;
  std::int32_t o_shippriority = 0;
};
struct Line {
  std::int64_t l_orderkey = 0;
  double l_extendedprice = 0, l_discount = 0;
};
struct Row {
  std::int64_t l_orderkey = 0;
  double revenue = 0;
  weft::Date o_orderdate;
  std::int32_t o_shippriority = 0;
};

bool is_less(const Row& a, const Row& b) { return a.revenue != b.revenue ? a.revenue < b.revenue : a.o_orderdate > b.o_orderdate; }

void define(weft::Flow& flow, const tpch::Options& options) {
  const auto customers =
      flow.read_parquet<Customer>(options.table("customer"), {.where = {weft::column("c_mktsegment") == "BUILDING"}})
          .map([](const Customer& customer) { return std::pair(customer.c_custkey, true); });
  const auto orders = flow.read_parquet<Order>(options.table("orders"), {.where = {weft::column("o_orderdate") < "1995-03-15"}})
                          .map([](const Order& order) { return std::pair(order.o_custkey, order); })
                          .semi_join(customers)
                          .map([](std::int64_t, const Order& order) { return std::pair(order.o_orderkey, order); });
  flow.read_parquet<Line>(options.table("lineitem"), {.where = {weft::column("l_shipdate") > "1995-03-15"}})
      .map([](const Line& line) {
        return std::pair(line.l_orderkey, tpch::hundredths(line.l_extendedprice) * (100 - tpch::hundredths(line.l_discount)));
      })
      .reduce_by_key(std::plus<>())
      .join(orders)
      .map([](std::int64_t key, std::int64_t revenue, const Order& order) {
        return Row{key, static_cast<double>(revenue) / 1e4, order.o_orderdate, order.o_shippriority};
      })
      .top(10, is_less)
      .write_csv_file(options.output);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<tpch::Options>(argc, argv, "TPC-H query 3", tpch::declare, define); }
