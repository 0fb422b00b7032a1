// Revenue by the customer's nation and the product's category, from four tables: a tree of joins whose two branches can run at the
// same time.
//
//   orders ──── nation of each order ───────────────┐
//   customers ──┘                                   ├── revenue of both ── sum
//   lines ───── category of each line ──────────────┘
//   products ───┘
//
//   jointree --orders orders/ --customers customers.tsv --lines lines/ --products products.tsv --output revenue
//
// Rows are tab-separated: orders are order, customer; customers are customer, nation; lines are order, product, amount (a whole
// number); products are product, category. The output has nation, category, sum of the amounts.
#include <charconv>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

struct Options {
  std::vector<std::string> orders, customers, lines, products;
  std::string output;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("--orders", options.orders, "Rows of order, customer (repeatable)").required();
  arguments.option("--customers", options.customers, "Rows of customer, nation (repeatable)").required();
  arguments.option("--lines", options.lines, "Rows of order, product, amount (repeatable)").required();
  arguments.option("--products", options.products, "Rows of product, category (repeatable)").required();
  arguments.option("--output", options.output, "Directory for the sums").required();
}

std::int64_t amount_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument("'" + std::string(text) + "' is no whole number");
  return value;
}

/// Rows of two columns, by column `key`.
auto pairs(weft::Flow& flow, const std::vector<std::string>& paths, std::size_t key) {
  return flow.read_text(paths).map([key](std::string_view line) {
    const auto columns = weft::columns<2>(line);
    return std::pair(std::string(columns[key]), std::string(columns[1 - key]));
  });
}

void define(weft::Flow& flow, const Options& options) {
  const auto nations = pairs(flow, options.orders, 1)
                           .join(pairs(flow, options.customers, 0))
                           .map([](const auto&, const auto& order, const auto& nation) {
                             return std::pair(std::string(order), std::string(nation));
                           });
  const auto categories = flow.read_text(options.lines)
                              .map([](std::string_view line) {
                                const auto [order, product, amount] = weft::columns<3>(line);
                                return std::pair(std::string(product), std::pair(std::string(order), amount_of(amount)));
                              })
                              .join(pairs(flow, options.products, 0))
                              .map([](const auto& row) {
                                const auto& [line, category] = row.second;
                                return std::pair(std::string(line.first), std::pair(std::string(category), line.second));
                              });
  nations.join(categories)
      .map([](const auto& row) {
        const auto& [nation, line] = row.second;
        return std::pair(std::string(nation) + '\t' + std::string(line.first), line.second);
      })
      .reduce_by_key(std::plus<>())
      .write_text(options.output);
}

}  // namespace

int main(int argc, char** argv) {
  return weft::main<Options>(argc, argv, "Sums revenue by nation and category over four tables", declare, define);
}
