// What `weft pool list`, the page and metrics show of pools and queues.
#pragma once

#include <vector>

#include "engine/master/protocol/protocol.hpp"

namespace weft::master {

/// The groups as the scheduler tells them, each with the tasks of its jobs. Behind them the pools that jobs name and the scheduler
/// has no group for, as the cluster sees them. Each job is in one of them.
std::vector<client::GroupInfo> group_list(const std::vector<schedulers::GroupStatus>& groups, const schedulers::ClusterView& view);

}  // namespace weft::master
