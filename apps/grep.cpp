// Keeps the lines that match a regular expression, in input order within each part file.
//
//   grep --pattern 'error|fatal' --input logs/ --output matches
#include <memory>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include <weft/weft.h>

namespace {

struct Options {
  std::vector<std::string> input;
  std::string output;
  std::string pattern;
  bool fixed = false;
  bool invert = false;
};

void declare(CLI::App& app, Options& options) {
  app.add_option("--input", options.input, "Text file, directory or glob pattern (repeatable)")->required();
  app.add_option("--output", options.output, "Directory for the matching lines")->required();
  app.add_option("--pattern", options.pattern, "Extended regular expression")->required();
  app.add_flag("--fixed", options.fixed, "The pattern is a plain string");
  app.add_flag("--invert", options.invert, "Keep the lines that do not match");
}

void define(weft::Flow& flow, const Options& options) {
  // Compiled here once, so that a bad pattern ends the job before it starts.
  const auto expression = std::make_shared<const std::regex>(options.fixed ? std::string() : options.pattern,
                                                             std::regex::extended | std::regex::optimize);
  const auto matches = [expression, options](std::string_view line) {
    if (options.fixed) return line.find(options.pattern) != std::string_view::npos;
    return std::regex_search(line.begin(), line.end(), *expression);
  };
  flow.read_text(options.input)
      .filter([matches, invert = options.invert](std::string_view line) { return matches(line) != invert; })
      .write_text(options.output);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Keeps the lines that match a pattern", declare, define); }
