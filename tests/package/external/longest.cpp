// The longest word of some text; the first in alphabetical order among equally long ones.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <weft/weft.h>

struct Options {
  std::vector<std::string> input;
};

void declare(weft::Arguments& arguments, Options& options) { arguments.option("--input", options.input, "Text").required(); }

void define(weft::Flow& flow, const Options& options) {
  const std::string longest = flow.read_text(options.input)
                                  .flat_map(weft::split_words)
                                  .map([](std::string_view word) { return std::string(word); })
                                  .reduce(std::string(), [](const std::string& a, const std::string& b) {
                                    if (a.size() != b.size()) return a.size() > b.size() ? a : b;
                                    return a < b ? a : b;
                                  });
  flow.on_driver([&] { std::printf("longest word: %s\n", longest.c_str()); });
}

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Finds the longest word", declare, define); }
