#include "tests/support/shaped_network.hpp"

#include <sstream>
#include <stdexcept>
#include <utility>

#include <signal.h>
#include <unistd.h>

#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using Command = std::vector<std::string>;
constexpr std::chrono::seconds kDeadline{20};  // of each command

/// `words` are split at spaces.
ProcessResult run_words(const std::string& words) {
  Command command;
  std::istringstream in(words);
  for (std::string word; in >> word;) command.push_back(word);
  return run(command, {.deadline = kDeadline});
}

void must(const std::string& words) {
  const auto result = run_words(words);
  if (result.exit_code != 0) throw std::runtime_error(words + ": " + result.err);
}

std::string port(int node) { return "port" + std::to_string(node); }

}  // namespace

std::string ShapedNetwork::missing() {
  if (::geteuid() != 0) return "it needs root for network namespaces";
  if (run_words("ip -V").exit_code != 0) return "there is no ip here (Debian: iproute2)";
  if (run_words("tc -V").exit_code != 0) return "there is no tc here (Debian: iproute2)";
  return {};
}

ShapedNetwork::ShapedNetwork(std::string prefix, int nodes, int megabits) : prefix_(std::move(prefix)) {
  ::setenv("WEFT_SECURITY", "insecure", 0);  // nobody else reaches this network
  const std::string bridge = prefix_ + "-bridge";
  must("ip netns add " + bridge);
  must("ip -n " + bridge + " link set lo up");
  must("ip -n " + bridge + " link add switch type bridge");
  must("ip -n " + bridge + " address add " + bridge_address() + "/24 dev switch");
  must("ip -n " + bridge + " link set switch up");
  for (int node = 0; node < nodes; ++node) {
    add(node);
    if (megabits != 0) limit(node, megabits);
  }
}

void ShapedNetwork::add(int node) const {
  const std::string name = prefix_ + "-node" + std::to_string(node), bridge = prefix_ + "-bridge";
  must("ip netns add " + name);
  must("ip -n " + name + " link set lo up");
  must("ip -n " + bridge + " link add " + port(node) + " type veth peer name eth0 netns " + name);
  must("ip -n " + bridge + " link set " + port(node) + " mtu 1500 master switch up");
  must("ip -n " + name + " address add " + node_address(node) + "/24 dev eth0");
  must("ip -n " + name + " link set eth0 mtu 1500 up");
}

void ShapedNetwork::limit(int node, int megabits) const {
  const std::string name = prefix_ + "-node" + std::to_string(node), bridge = prefix_ + "-bridge";
  const std::string rate = " root tbf rate " + std::to_string(megabits) + "mbit burst 256kb latency 50ms";
  for (const std::string& link : {name + " qdisc %s dev eth0", bridge + " qdisc %s dev " + port(node)}) {
    std::string command = "tc -n " + link;
    command.replace(command.find("%s"), 2, megabits == 0 ? "delete" : "replace");
    must(command + (megabits == 0 ? " root" : rate));
  }
}

std::string ShapedNetwork::lose(int node, double probability) const {
  const std::string name = prefix_ + "-node" + std::to_string(node);
  const auto done = run_words("ip netns exec " + name + " iptables -A INPUT -i eth0 -m statistic --mode random --probability " +
                              std::to_string(probability) + " -j DROP");
  return done.exit_code == 0 ? "" : "iptables cannot lose packets here (Debian: iptables): " + done.err;
}

void ShapedNetwork::unplug(int node) const { must("ip -n " + prefix_ + "-bridge link set " + port(node) + " down"); }
void ShapedNetwork::plug(int node) const { must("ip -n " + prefix_ + "-bridge link set " + port(node) + " up"); }

void ShapedNetwork::remove(const std::string& prefix) {
  std::istringstream spaces(run_words("ip netns list").out);
  for (std::string line; std::getline(spaces, line);) {
    const std::string name = line.substr(0, line.find(' '));
    if (!name.starts_with(prefix + "-")) continue;
    std::istringstream processes(run_words("ip netns pids " + name).out);
    for (int pid = 0; processes >> pid;) ::kill(pid, SIGKILL);
    run_words("ip netns delete " + name);
  }
}

}  // namespace weft::test
