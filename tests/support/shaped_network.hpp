// Network namespaces joined by a bridge: a cluster's network on one machine. Frames have 1,500 bytes; links can be limited, lose
// packets, and be unplugged. Needs root, ip and tc; losing packets needs iptables. What cannot be done throws std::runtime_error.
#pragma once

#include <string>
#include <vector>

namespace weft::test {

class ShapedNetwork {
 public:
  /// Why there can be no such network here; empty when there can.
  static std::string missing();

  /// Makes `nodes` namespaces, and one for the bridge, all named after `prefix`. `megabits`: what each node may send, and receive,
  /// in a second; 0: no limit.
  ShapedNetwork(std::string prefix, int nodes, int megabits);
  ~ShapedNetwork() { remove(prefix_); }
  ShapedNetwork(const ShapedNetwork&) = delete;
  ShapedNetwork& operator=(const ShapedNetwork&) = delete;

  /// Removes what was made under the prefix, and ends what still runs there. Nothing when there is nothing.
  static void remove(const std::string& prefix);

  /// Another limit for one node, in both directions; 0: none.
  void limit(int node, int megabits) const;
  /// One of `1 / probability` packets that come to the node is lost, at random. Why it cannot be done; empty when it is.
  std::string lose(int node, double probability) const;
  /// Nothing comes to the node or from it until it is plugged in again.
  void unplug(int node) const;
  void plug(int node) const;

  /// How commands begin that are to run there.
  std::vector<std::string> at_bridge() const { return inside("bridge"); }
  std::vector<std::string> at_node(int node) const { return inside("node" + std::to_string(node)); }
  static std::string bridge_address() { return "10.77.0.1"; }
  static std::string node_address(int node) { return "10.77.0." + std::to_string(10 + node); }

 private:
  std::vector<std::string> inside(const std::string& name) const { return {"ip", "netns", "exec", prefix_ + "-" + name}; }
  void add(int node) const;

  std::string prefix_;
};

}  // namespace weft::test
