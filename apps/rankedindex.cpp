// Lists for every word the files it occurs in, those first in which it occurs most often: "word<TAB>count file<TAB>count file …".
//
//   rankedindex --input docs/ --output index
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

void define(weft::Flow& flow, const weft::InputOutput& job) {
  flow.read_text(job.input)
      .flat_map(weft::split_words)
      .map([](std::string_view word) { return std::pair(std::pair(word, weft::input_path()), std::uint64_t{1}); })
      .reduce_by_key(std::plus<>())
      .map([](const auto& entry) {
        const auto& [word, file] = entry.first;
        return std::pair(std::string(word), std::pair(entry.second, std::string(file)));
      })
      .group_by_key()
      .map([](auto&& entry) {
        auto& [word, occurrences] = entry;
        std::vector<std::pair<std::uint64_t, std::string>> files;
        for (const auto& [count, file] : occurrences) files.emplace_back(count, file);
        std::sort(files.begin(), files.end(),
                  [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
        std::string line(word);
        for (const auto& [count, file] : files) line += '\t' + std::to_string(count) + ' ' + file;
        return line;
      })
      .write_text(job.output);
}

}  // namespace

WEFT_JOB(define, "Lists the files of each word by how often it occurs")
