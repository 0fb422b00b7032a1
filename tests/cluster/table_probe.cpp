// A job program for the tests of tables: rows of one table, changed, into another.
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <unistd.h>
#include <weft/weft.h>

namespace {

struct Options {
  std::string mode, from, to, snapshot, marker;
};

void declare(weft::Arguments& arguments, Options& options) {
  arguments.option("mode", options.mode, "copy, sums, fail or wait").required();
  arguments.option("--from", options.from, "Table to read").required();
  arguments.option("--to", options.to, "Table to write");
  arguments.option("--snapshot", options.snapshot, "Of the table to read");
  arguments.option("--marker", options.marker, "File that the mode wait waits for");
}

void define(weft::Flow& flow, const Options& options) {
  const auto rows = flow.read_table(options.from, options.snapshot);
  if (options.mode == "sums") {  // of the numbers in the values, by the keys' first letters
    rows.map([](std::pair<std::string_view, std::string_view> row) {
          return std::pair(std::string(row.first.substr(0, 1)), std::stoull(std::string(row.second)));
        })
        .reduce_by_key([](std::uint64_t a, std::uint64_t b) { return a + b; })
        .map([](const auto& sum) { return std::pair(sum.first, std::to_string(sum.second)); })
        .write_table(options.to);
    return;
  }
  rows.map([mode = options.mode, marker = options.marker](std::pair<std::string_view, std::string_view> row) {
        if (mode == "fail" && row.first.ends_with("77")) throw std::runtime_error("told to fail");
        while (mode == "wait" && access(marker.c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return row;
      })
      .write_table(options.to);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Tables in, tables out", declare, define); }
