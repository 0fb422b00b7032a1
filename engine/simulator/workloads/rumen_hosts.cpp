#include "engine/simulator/workloads/rumen_hosts.hpp"

#include <algorithm>

#include "engine/simulator/workloads/json_documents.hpp"

namespace weft::simulator::workloads {

namespace {

std::string unescaped(std::string_view name) {
  std::string result(name);
  result.erase(std::remove(result.begin(), result.end(), '\\'), result.end());
  return result;
}

}  // namespace

std::string RumenHosts::add(std::string_view rack, std::string_view host) {
  std::string name = unescaped(host);
  if (complete_) return name;
  const auto [at, added] = positions_.emplace(name, hosts_.size());
  if (added) hosts_.push_back({name, unescaped(rack)});
  return name;
}

void RumenHosts::add_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == path.size()) return;
  const std::string_view parent = path.substr(0, slash);
  add(parent.substr(parent.rfind('/') + 1), path.substr(slash + 1));
}

/// Whether the node is a leaf. `leaves` are those right below it: once its name is known, they are its hosts.
Result<bool> RumenHosts::load_node(JsonReader& json, std::string& name, std::vector<std::string>& leaves) {
  bool any = false;
  WEFT_TRY(json.object([&](std::string_view key) -> Result<void> {
    if (key == "name") {
      WEFT_ASSIGN(name, json.text());
      return {};
    }
    if (key != "children" || json.peek() == JsonReader::Kind::null) return json.skip();
    return json.array([&]() -> Result<void> {
      any = true;
      std::string child;
      std::vector<std::string> grandchildren;
      WEFT_ASSIGN(const bool leaf, load_node(json, child, grandchildren));
      if (leaf) leaves.push_back(child);
      for (const auto& host : grandchildren) add(child, host);
      return {};
    });
  }));
  return !any;
}

Result<void> RumenHosts::load(const std::string& path) {
  WEFT_ASSIGN(JsonDocuments documents, JsonDocuments::open(path));
  WEFT_ASSIGN(auto first, documents.next());
  if (!first) return fail(Code::corrupt, path + ":1: the file is empty");
  JsonReader& json = *first;
  std::string root;
  std::vector<std::string> leaves;
  WEFT_TRY(load_node(json, root, leaves));
  for (const auto& host : leaves) add("", host);
  complete_ = true;
  if (hosts_.empty()) return fail(json.error("the topology names no hosts"));
  return {};
}

}  // namespace weft::simulator::workloads
