// Counts words: whitespace-separated tokens in, "word<TAB>count" out.
//
//   wordcount --input book.txt --input more/ --output counts
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

struct Options {
  std::vector<std::string> input;
  std::string output;
};

void declare(CLI::App& app, Options& options) {
  app.add_option("--input", options.input, "Text file, directory or glob pattern (repeatable)")->required();
  app.add_option("--output", options.output, "Directory for the counts")->required();
}

void define(weft::Flow& flow, const Options& options) {
  flow.read_text(options.input)
      .flat_map(weft::split_words)
      .map([](std::string_view word) { return std::pair(word, std::uint64_t{1}); })
      .reduce_by_key(std::plus<>())
      .write_text(options.output);
}

}  // namespace

int main(int argc, char** argv) { return weft::main<Options>(argc, argv, "Counts the words of text files", declare, define); }
