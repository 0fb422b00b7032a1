// Writes the tables that `returns` and `jointree` read, lines of columns with tabs between: customers.tsv, stores.tsv,
// products.tsv, orders.tsv, lines.tsv and returns.tsv; and item_pairs.tsv for `selfjoin`.
//
//   shop_tables ROWS DIRECTORY     ROWS: of the largest tables, lines and returns
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "benchmarks/data/file_writer.hpp"
#include "benchmarks/data/random.hpp"

namespace {

using weft::bench::FileWriter;
using weft::bench::Random;

/// rows lines of `format`, whose numbers are given by `make(row)`.
template <class Make>
void write_table(const std::string& path, std::uint32_t rows, const char* format, Make make) {
  FileWriter file(path.c_str());
  constexpr std::size_t kLine = 200;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::array<std::uint32_t, 5> numbers = make(row);
    const int length = std::snprintf(file.room(kLine), kLine, format, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
    file.advance(static_cast<std::size_t>(length));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::atol(argv[1]) < 100) {
    std::fprintf(stderr, "usage: shop_tables ROWS DIRECTORY     at least 100 rows\n");
    return 2;
  }
  const auto rows = static_cast<std::uint32_t>(std::atol(argv[1]));
  const std::uint32_t orders = rows / 4, customers = rows / 20, stores = 40, products = rows / 50;
  const std::string directory = std::string(argv[2]) + "/";
  Random random(1);
  using Row = std::uint32_t;
  write_table(directory + "customers.tsv", customers, "c%u\tn%u\n", [&](Row row) {
    return std::array{row, random.below(25), 0u, 0u, 0u};
  });
  write_table(directory + "stores.tsv", stores, "s%u\tS%u\n", [&](Row row) { return std::array{row, row % 8, 0u, 0u, 0u}; });
  write_table(directory + "products.tsv", products, "p%u\tk%u\n", [&](Row row) {
    return std::array{row, random.below(30), 0u, 0u, 0u};
  });
  write_table(directory + "orders.tsv", orders, "o%u\tc%u\n", [&](Row row) {
    return std::array{row, random.below(customers), 0u, 0u, 0u};
  });
  write_table(directory + "lines.tsv", rows, "o%u\tp%u\t%u\n", [&](Row) {
    return std::array{random.below(orders), random.below(products), random.below(100'000), 0u, 0u};
  });
  write_table(directory + "returns.tsv", rows, "200%u-%02u-11\ts%u\tc%u\t%u\n", [&](Row) {
    return std::array{random.below(2), 1 + random.below(12), random.below(stores), random.below(customers), random.below(50'000)};
  });
  write_table(directory + "item_pairs.tsv", rows / 4, "i%06u\tj%06u\n", [&](Row) {
    return std::array{random.below(rows / 16), random.below(rows), 0u, 0u, 0u};
  });
}
