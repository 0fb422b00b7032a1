// TPC-H query 18, the customers with large orders: the hundred most expensive orders of more than 300 pieces.
#include "tables.hpp"

namespace {

struct Customer {
  std::int64_t c_custkey = 0;
  std::string c_name;
};
struct Order {
  std::int64_t o_orderkey = 0, o_custkey = 0;
  weft::Date o_orderdate;
  double o_totalprice = 0;
};
struct Line {
  std::int64_t l_orderkey = 0;
  double l_quantity = 0;
};
struct Row {
  std::string c_name;
  std::int64_t c_custkey = 0, o_orderkey = 0;
  weft::Date o_orderdate;
  double o_totalprice = 0, sum_quantity = 0;
};

bool is_less(const Row& a, const Row& b) {
  return a.o_totalprice != b.o_totalprice ? a.o_totalprice < b.o_totalprice : a.o_orderdate > b.o_orderdate;
}

void define(weft::Flow& flow, const tpch::Options& options) {
  const auto customers = flow.read_parquet<Customer>(options.table("customer")).map([](const Customer& customer) {
    return std::pair(customer.c_custkey, customer.c_name);
  });
  const auto large = flow.read_parquet<Line>(options.table("lineitem"))
                         .map([](const Line& line) { return std::pair(line.l_orderkey, tpch::hundredths(line.l_quantity)); })
                         .reduce_by_key(std::plus<>())
                         .filter([](std::int64_t, std::int64_t quantity) { return quantity > 300 * 100; });
  flow.read_parquet<Order>(options.table("orders"))
      .map([](const Order& order) { return std::pair(order.o_orderkey, order); })
      .join(large)
      .map([](std::int64_t, const Order& order, std::int64_t quantity) {
        return std::pair(order.o_custkey, std::pair(order, quantity));
      })
      .join(customers)
      .map([](std::int64_t customer, const auto& bought, const std::string& name) {
        const auto& [order, quantity] = bought;
        return Row{name, customer, order.o_orderkey, order.o_orderdate, order.o_totalprice, static_cast<double>(quantity) / 1e2};
      })
      .top(100, is_less)
      .write_csv_file(options.output);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<tpch::Options>(argc, argv, "TPC-H query 18", tpch::declare, define); }
