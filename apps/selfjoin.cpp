// Candidates for larger item sets: two rows of k items that have all but their last item in common give one of k + 1. The step of
// frequent item set mining (Apriori) that shuffles most.
//
//   selfjoin --input pairs/ --output triples
//
// Rows are items in ascending order with tabs between; so are those of the output, each once.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

void define(weft::Flow& flow, const weft::InputOutput& job) {
  flow.read_text(job.input)
      .map([](std::string_view line) {
        const auto tab = line.rfind('\t');
        if (tab == std::string_view::npos) return std::pair(std::string_view(), line);
        return std::pair(line.substr(0, tab + 1), line.substr(tab + 1));  // what they may share, with its tab; the last item
      })
      .group_by_key()
      .flat_map<std::string>([](auto&& entry, auto&& emit) {
        auto& [shared, values] = entry;
        std::vector<std::string> last;
        for (std::string_view item : values) last.emplace_back(item);
        std::sort(last.begin(), last.end());
        last.erase(std::unique(last.begin(), last.end()), last.end());
        const std::string prefix(shared);
        for (auto first = last.begin(); first != last.end(); ++first)
          for (auto second = std::next(first); second != last.end(); ++second) emit(prefix + *first + '\t' + *second);
      })
      .write_text(job.output);
}

}  // namespace

WEFT_JOB(define, "Joins item sets that differ in their last item")
