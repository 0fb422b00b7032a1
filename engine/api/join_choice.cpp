#include "join_choice.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::detail {
namespace {

// A table of short rows takes up to eight times their size. It may take half of what tasks hold (runtime::SharedTables).
constexpr std::uint64_t kTableFactor = 16;
// Of sides of about the same size, partitions are joined sooner: their tables fit the caches.
constexpr std::uint64_t kLeastRatio = 2;
// So little that it is soon everywhere, whatever the other side is.
constexpr std::uint64_t kLittle = 4u << 20;

/// Why the side is not to be read whole; empty: it is.
std::string objection(const StreamedSizes& way, const client::Executors& executors, std::uint64_t held) {
  if (!way.whole) return fmt::format("the size of the {} side is not known", way.whole_side);
  const std::string size = fmt::format("the {} side, {} of input", way.whole_side, human_bytes(*way.whole));
  const std::uint64_t most = executors.task_memory / kTableFactor;
  if (*way.whole > most - std::min(held, most))
    return fmt::format("{}, is more than is left of a sixteenth of the memory of tasks, {}", size, human_bytes(most));
  if (*way.whole <= kLittle) return {};
  if (!way.streamed) return fmt::format("{}, is no small part of an unknown size", size);
  if (*way.streamed / kLeastRatio / executors.count < *way.whole)
    return fmt::format("{}, is too large beside {} to be read by {} executors", size, human_bytes(*way.streamed), executors.count);
  return {};
}

}  // namespace

JoinChoice choose_join(const std::vector<StreamedSizes>& ways, const client::Executors& executors, std::uint64_t held) {
  JoinChoice choice;
  std::string objections;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const std::string why_not = objection(ways[i], executors, held);
    if (!why_not.empty()) {
      objections += (objections.empty() ? "" : "; ") + why_not;
    } else if (!choice.way || *ways[i].whole < *ways[*choice.way].whole) {
      choice.way = i;
    }
  }
  choice.why = choice.way ? fmt::format("all of the {} side in memory, {} of input", ways[*choice.way].whole_side,
                                        human_bytes(*ways[*choice.way].whole))
                          : "by partitions: " + objections;
  return choice;
}

}  // namespace weft::detail
