// What the customers of each country spent: orders without a price are counted apart, and customers of whom nobody knows the
// country, or anything, are of "unknown".
#include <weft/weft.h>

struct Order {
  std::string customer;
  std::optional<double> price;
  std::uint32_t quantity;
};
struct Customer {
  std::string customer;
  std::optional<std::string> country;
  std::optional<double> discount;
};
struct Options : weft::InputOutput {
  std::string customers;
};

void declare(weft::Arguments& arguments, Options& options) {
  weft::declare(arguments, options);
  arguments.option("--customers", options.customers, "CSV with the columns customer, country and discount").required();
}

void define(weft::Flow& flow, const Options& options) {
  const auto by_customer = [](const auto& row) { return std::pair(row.customer, row); };
  const auto customers = flow.read_csv<Customer>(options.customers).map(by_customer);
  flow.read_csv<Order>(options.input, {.missing = {"", "NA"}})
      .map(by_customer)
      .left_join(customers)
      .map([](const auto&, const Order& order, const std::optional<Customer>& found) {
        const Customer customer = found.value_or(Customer());
        const double price = order.price.value_or(0) * (1 - customer.discount.value_or(0));
        return std::pair(customer.country.value_or("unknown"), std::pair(!order.price, price * order.quantity));
      })
      .aggregate_by_key(weft::count(), weft::sum(&std::pair<bool, double>::first), weft::sum(&std::pair<bool, double>::second))
      .write_text(options.output);
}

WEFT_JOB(define, "Sums what the customers of each country spent")
