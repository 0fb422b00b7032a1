// TPC-H query 6, the revenue change: what the discounts of about 6 % on small lines of 1994 took from the revenue.
#include "tables.hpp"

namespace {

struct Line {
  double l_extendedprice = 0, l_discount = 0;
};
struct Row {
  double revenue = 0;
};

void define(weft::Flow& flow, const tpch::Options& options) {
  using weft::column;
  const std::int64_t revenue =
      flow.read_parquet<Line>(options.table("lineitem"),
                              {.where = {column("l_shipdate") >= "1994-01-01", column("l_shipdate") < "1995-01-01",
                                         column("l_discount") >= 0.05, column("l_discount") <= 0.07, column("l_quantity") < 24}})
          .map([](const Line& line) { return tpch::hundredths(line.l_extendedprice) * tpch::hundredths(line.l_discount); })
          .aggregate(weft::sum());
  flow.from_vector(std::vector{Row{static_cast<double>(revenue) / 1e4}}).write_csv_file(options.output);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<tpch::Options>(argc, argv, "TPC-H query 6", tpch::declare, define); }
