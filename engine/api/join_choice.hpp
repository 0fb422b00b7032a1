// Which way a join goes whose strategy is automatic: by the sizes of its inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/client/session.hpp"

namespace weft::detail {

/// One way to stream a side: about how many bytes of input the sides are made of. Nothing: that is not known.
struct StreamedSizes {
  std::string_view whole_side;  // "left" or "right"
  std::optional<std::uint64_t> whole;
  std::optional<std::uint64_t> streamed;
};

struct JoinChoice {
  std::optional<std::size_t> way;  // position of the one that is gone; nothing: both sides go into partitions
  std::string why;                 // for people: "the whole right side is in memory (2.5 MiB of input)"
};

/// A side is read whole if a table of it surely fits in the memory of each executor, and if bringing it to all of them moves less
/// than bringing both sides into partitions.
/// `held`: bytes of input of the sides that the same tasks read whole for other joins.
JoinChoice choose_join(const std::vector<StreamedSizes>& ways, const client::Executors& executors, std::uint64_t held = 0);

}  // namespace weft::detail
