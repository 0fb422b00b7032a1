// Which task of a stage a node takes, where only the place of its input counts.
#pragma once

#include <optional>

#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

/// The first pending task that is at least this near to the node. Tasks that were placed on the node come first; at the level of
/// `any` those placed on other nodes come last. `waits`: under a locality wait, tasks without a preference count as node-local.
std::optional<std::uint32_t> choose_near(const StageInfo& stage, const NodeInfo& node, Locality level, bool waits);

/// One of the next few pending tasks after `refused` that `may` allows and whose input lies on other hosts. Nothing: there is none,
/// or the stage reads no files, so that all its tasks are alike.
std::optional<std::uint32_t> choose_instead(const StageInfo& stage, std::uint32_t refused, const TaskCheck& may);

}  // namespace weft::schedulers
