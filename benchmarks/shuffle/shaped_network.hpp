// Network namespaces joined by a bridge, each with a link of limited rate: a cluster's network on one machine. Needs root, ip and
// tc.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

class ShapedNetwork {
 public:
  /// Why there can be no such network here; empty when there can.
  static std::string missing();

  /// Makes `nodes` namespaces, and one for the bridge, all named after `prefix`; ends the benchmark when that fails.
  /// `megabits`: what each node may send, and receive, in a second; 0: no limit.
  ShapedNetwork(std::string prefix, int nodes, int megabits);
  ~ShapedNetwork() { remove(prefix_); }
  ShapedNetwork(const ShapedNetwork&) = delete;
  ShapedNetwork& operator=(const ShapedNetwork&) = delete;

  /// Removes what was made under the prefix, and ends what still runs there. Nothing when there is nothing.
  static void remove(const std::string& prefix);

  /// How commands begin that are to run there.
  std::vector<std::string> at_bridge() const { return inside("bridge"); }
  std::vector<std::string> at_node(int node) const { return inside("node" + std::to_string(node)); }
  static std::string bridge_address() { return "10.77.0.1"; }
  static std::string node_address(int node) { return "10.77.0." + std::to_string(10 + node); }

 private:
  std::vector<std::string> inside(const std::string& name) const { return {"ip", "netns", "exec", prefix_ + "-" + name}; }
  std::string prefix_;
};

}  // namespace weft::bench
