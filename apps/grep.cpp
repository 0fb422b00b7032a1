// Keeps the lines that match a regular expression, in input order within each part file.
//
//   grep --pattern 'error|fatal' --input logs/ --output matches
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <regex.h>
#include <weft/weft.h>

namespace {

struct Options : weft::InputOutput {
  std::string pattern;
  bool fixed = false;
  bool invert = false;
};

void declare(weft::Arguments& arguments, Options& options) {
  weft::declare(arguments, options);
  arguments.option("--pattern", options.pattern, "Extended regular expression").required();
  arguments.flag("--fixed", options.fixed, "The pattern is a plain string");
  arguments.flag("--invert", options.invert, "Keep the lines that do not match");
}

/// A compiled POSIX extended expression. Its matcher does not recurse, so lines may have any length.
class Expression {
 public:
  explicit Expression(const std::string& pattern) {
    const int error = ::regcomp(&compiled_, pattern.c_str(), REG_EXTENDED);
    if (error == 0) return;
    char reason[200] = {};
    ::regerror(error, &compiled_, reason, sizeof reason);
    throw std::invalid_argument("--pattern '" + pattern + "': " + reason);
  }
  ~Expression() { ::regfree(&compiled_); }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  bool matches(std::string_view line) const {
    thread_local std::string text;  // regexec wants a final NUL, even with REG_STARTEND under a sanitizer
    text.assign(line);
    regmatch_t range{0, static_cast<regoff_t>(text.size())};
    return ::regexec(&compiled_, text.c_str(), 1, &range, REG_STARTEND) == 0;
  }

 private:
  regex_t compiled_{};
};

void define(weft::Flow& flow, const Options& options) {
  auto lines = flow.read_text(options.input);
  if (options.fixed) {
    lines
        .filter(
            [options](std::string_view line) { return (line.find(options.pattern) != std::string_view::npos) != options.invert; })
        .write_text(options.output);
    return;
  }
  // Compiled here once, so that a bad pattern ends the job before it starts.
  const auto expression = std::make_shared<const Expression>(options.pattern);
  lines.filter([expression, invert = options.invert](std::string_view line) { return expression->matches(line) != invert; })
      .write_text(options.output);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Keeps the lines that match a pattern", declare, define); }
