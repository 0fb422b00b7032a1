// Reads rows of CSV or JSON and writes them as either: what rows_test.py compares with Python's own modules.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <weft/weft.h>

struct Place {
  std::int32_t x = 0;
  std::optional<double> y;
};
struct Row {
  std::uint64_t id = 0;
  std::string text;
  std::optional<double> number;
  std::int16_t small = 0;
  bool flag = false;
  std::optional<std::string> note;
};
struct JsonRow {
  std::uint64_t id = 0;
  std::string text;
  std::optional<double> number;
  std::int16_t small = 0;
  bool flag = false;
  std::optional<std::string> note;
  std::vector<Place> places;
};

struct Options : weft::InputOutput {
  bool json = false, write_csv = false, multiline = false, count = false;
};

void declare(weft::Arguments& arguments, Options& options) {
  weft::declare(arguments, options);
  arguments.flag("--json", options.json, "The input is JSON");
  arguments.flag("--write-csv", options.write_csv, "So is the output of CSV");
  arguments.flag("--multiline", options.multiline, "CSV with quoted line ends");
  arguments.flag("--count", options.count, "Count the lines first, and say how many there are");
}

void define(weft::Flow& flow, const Options& options) {
  if (options.count) {
    const auto lines = flow.read_text(options.input).count();
    flow.on_driver([lines] { std::printf("counted %llu\n", static_cast<unsigned long long>(lines)); });
  }
  if (options.json) {
    flow.read_json<JsonRow>(options.input).write_json(options.output);
  } else if (options.write_csv) {
    flow.read_csv<Row>(options.input, {.multiline = options.multiline}).write_csv(options.output);
  } else {
    flow.read_csv<Row>(options.input, {.multiline = options.multiline}).write_json(options.output);
  }
}

WEFT_JOB(define, "Reads rows and writes them")
