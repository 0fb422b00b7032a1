// A job whose every function looks whether the upper halves of the vector registers are in use, and fails with the name of what ran
// before it when they are: behind text of any compression, rows, values, and every kind of shuffle (vector_state_test.cpp).
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/weft.h>

#include "base/vector_state.hpp"

namespace {

struct Options : weft::InputOutput {
  std::string rows, json;
};

void declare(weft::Arguments& arguments, Options& options) {
  weft::declare(arguments, options);
  arguments.option("--rows", options.rows, "A file of CSV with the column number");
  arguments.option("--json", options.json, "The same as lines of JSON");
}

struct Row {
  std::uint64_t number = 0;
};

void look(const char* behind) {
  if (weft::upper_halves_in_use().value_or(false))
    throw std::runtime_error(std::string("the upper halves of the vector registers are in use behind ") + behind);
}

/// Records of some hundred bytes, so that extents are long enough for vector code.
using Entry = std::pair<std::string, std::string>;

void define(weft::Flow& flow, const Options& options) {
  const auto entries = flow.read_text(options.input).map([](std::string_view line) {
    look("read_text");
    return Entry(std::string(line.substr(0, 4)), std::string(line));
  });
  const auto longer = [](const std::string& a, const std::string& b) {
    look("records that are combined");
    return a.size() < b.size() ? b : a;
  };
  entries.reduce_by_key(longer, 3)
      .map([](const Entry& entry) {
        look("reduce_by_key");
        return entry.first;
      })
      .write_text(options.output + "/reduced");
  entries.group_by_key(3)
      .map([](const auto& key, auto&& values) {
        std::uint64_t bytes = 0;
        for (const auto& value : values) {
          look("group_by_key");
          bytes += value.size();
        }
        return std::pair(key, bytes);
      })
      .write_text(options.output + "/grouped");
  entries
      .sort_by([](const Entry& entry) {
        look("records that are sorted");
        return entry.second;
      })
      .map([](const Entry& entry) {
        look("sort_by");
        return entry.second.size();
      })
      .write_text(options.output + "/sorted");
  const auto rows = flow.read_csv<Row>({options.rows}).map([](const Row& row) {
    look("read_csv");
    return std::pair("w" + std::to_string(row.number), row.number);
  });
  flow.read_json<Row>({options.json})
      .map([](const Row& row) {
        look("read_json");
        return row.number;
      })
      .write_text(options.output + "/numbers");
  for (const auto how : {weft::JoinStrategy::hash, weft::JoinStrategy::broadcast}) {
    entries.join(rows, weft::JoinHow{how, 3})
        .map([](const auto& entry) {
          look("join");
          return std::pair(entry.first, entry.second.right);
        })
        .write_text(options.output + (how == weft::JoinStrategy::hash ? "/hashed" : "/broadcast"));
  }
}

}  // namespace

WEFT_JOB(define, "Looks at the vector registers behind every source and shuffle")
