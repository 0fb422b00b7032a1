// Lists for every word the files it occurs in: "word<TAB>file file …", files in order.
//
//   invertedindex --input docs/ --output index
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

void define(weft::Flow& flow, const weft::InputOutput& job) {
  flow.read_text(job.input)
      .flat_map(weft::split_words)
      .map([](std::string_view word) { return std::pair(word, weft::input_path()); })
      .distinct()
      .group_by_key()
      .map([](auto&& entry) {
        auto& [word, paths] = entry;
        std::vector<std::string> files;
        for (std::string_view path : paths) files.emplace_back(path);
        std::sort(files.begin(), files.end());
        std::string line(word);
        char separator = '\t';
        for (const std::string& file : files) {
          line += separator;
          line += file;
          separator = ' ';
        }
        return line;
      })
      .write_text(job.output);
}

}  // namespace

WEFT_JOB(define, "Lists the files in which each word occurs")
