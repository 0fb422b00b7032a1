// Counts few words in many partitions, the rarest first: what a shuffle costs in which nearly everything is empty.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/weft.h>

namespace {

void define(weft::Flow& flow, const weft::InputOutput& job) {
  flow.read_text(job.input)
      .flat_map(weft::split_words)
      .map([](std::string_view word) { return std::pair(std::string(word), std::uint64_t{1}); })
      .reduce_by_key(std::plus<>())
      .sort_by([](const auto& entry) { return entry.second; })
      .write_text(job.output);
}

}  // namespace

WEFT_JOB(define, "Counts words, the rarest first")
