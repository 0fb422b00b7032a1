#include "storage/namespace/node_table.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace weft::storage {

Node* NodeTable::find(NodeId id) {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : &found->second;
}

Node* NodeTable::find(std::string_view name) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& item) { return item.second.info.name == name; });
  return found == nodes_.end() ? nullptr : &found->second;
}

Result<Node*> NodeTable::known(NodeId id) {
  if (Node* found = find(id)) return found;
  return fail(Code::not_found, fmt::format("node {} keeps no chunks here; it has to join again", id.value()));
}

Node& NodeTable::add(NodeId id, StorageNode info, Space space, Time now) {
  Node& made = nodes_[id];
  made.id = id;
  made.info = std::move(info);
  made.space = space;
  made.heard = now;
  made.draining = draining_.contains(made.info.name);
  return made;
}

std::vector<NodeId> NodeTable::silent_since(Time then) const {
  std::vector<NodeId> silent;
  for (const auto& [id, there] : nodes_)
    if (there.heard < then) silent.push_back(id);
  return silent;
}

bool NodeTable::drain(std::string_view name, bool on) {
  if (on == draining_.contains(name)) return false;
  if (on)
    draining_.emplace(name);
  else
    draining_.erase(std::string(name));
  dirty_drains_.emplace(name);
  if (Node* there = find(name)) there->draining = on;
  return true;
}

}  // namespace weft::storage
