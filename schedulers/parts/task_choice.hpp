// Which task of a stage a node takes, where nothing but the place of its input counts.
#pragma once

#include <optional>

#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

/// The first pending task that is at least this near to the node. Tasks that were placed there before come first, and at the level
/// of `any` what was placed on others comes last. `waits`: who waits for locality takes at the level of `node` what has no
/// preference, too.
std::optional<std::uint32_t> choose_near(const StageInfo& stage, const NodeInfo& node, Locality level, bool waits);

/// One of the next few pending tasks after `refused` that `may` allows and whose input lies elsewhere: those that read no files are
/// all alike.
std::optional<std::uint32_t> choose_instead(const StageInfo& stage, std::uint32_t refused, const TaskCheck& may);

}  // namespace weft::schedulers
