// TPC-H query 1, the pricing summary: sums and means of all lines that were shipped until 90 days before December 1998, by their
// two flags.
#include "tables.hpp"

namespace {

struct Line {
  std::string_view l_returnflag, l_linestatus;
  double l_quantity = 0, l_extendedprice = 0, l_discount = 0, l_tax = 0;
};
/// Of one line, or of many. Prices are in cents, discounted ones in a hundredth of that, charges in a hundredth of those: from
/// scale factor 84 on, a sum of them needs more than 64 bits. So it is a hundred times `charge` and the rest.
struct Sums {
  std::int64_t quantity = 0, price = 0, discounted = 0, charge = 0, charge_rest = 0, discount = 0, count = 0;
};
__extension__ using Wide = __int128;
struct Row {
  std::string l_returnflag, l_linestatus;
  double sum_qty = 0, sum_base_price = 0, sum_disc_price = 0, sum_charge = 0, avg_qty = 0, avg_price = 0, avg_disc = 0;
  std::int64_t count_order = 0;
};

Sums sums_of(const Line& line) {
  const std::int64_t price = tpch::hundredths(line.l_extendedprice), discount = tpch::hundredths(line.l_discount);
  const std::int64_t discounted = price * (100 - discount), charge = discounted * (100 + tpch::hundredths(line.l_tax));
  return {tpch::hundredths(line.l_quantity), price, discounted, charge / 100, charge % 100, discount, 1};
}

Sums operator+(const Sums& a, const Sums& b) {
  return {
      a.quantity + b.quantity, a.price + b.price, a.discounted + b.discounted, a.charge + b.charge, a.charge_rest + b.charge_rest,
      a.discount + b.discount, a.count + b.count};
}

Row row_of(const std::array<char, 2>& flags, const Sums& sums) {
  const auto mean = [&](std::int64_t of) { return static_cast<double>(of) / 100 / static_cast<double>(sums.count); };
  return {std::string(1, flags[0]),
          std::string(1, flags[1]),
          static_cast<double>(sums.quantity) / 1e2,
          static_cast<double>(sums.price) / 1e2,
          static_cast<double>(sums.discounted) / 1e4,
          static_cast<double>(Wide{sums.charge} * 100 + sums.charge_rest) / 1e6,
          mean(sums.quantity),
          mean(sums.price),
          mean(sums.discount),
          sums.count};
}

void define(weft::Flow& flow, const tpch::Options& options) {
  flow.read_parquet<Line>(options.table("lineitem"), {.where = {weft::column("l_shipdate") <= "1998-09-02"}})
      .map([](const Line& line) {
        return std::pair(std::array{line.l_returnflag[0], line.l_linestatus[0]}, sums_of(line));
      })
      .reduce_by_key(std::plus<>(), 1)
      .map(row_of)
      .sort_by([](const Row& row) { return std::pair(row.l_returnflag, row.l_linestatus); })
      .write_csv_file(options.output);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<tpch::Options>(argc, argv, "TPC-H query 1", tpch::declare, define); }
