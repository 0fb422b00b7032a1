#include "benchmarks/shuffle/shaped_network.hpp"

#include <sstream>
#include <utility>

#include <signal.h>
#include <unistd.h>

#include "benchmarks/measure.hpp"
#include "tests/support/process.hpp"

namespace weft::bench {
namespace {

using Command = std::vector<std::string>;
constexpr std::chrono::seconds kDeadline{20};  // of each command

test::ProcessResult run(const Command& command) { return test::run(command, {.environment = {}, .deadline = kDeadline}); }

/// `words` are split at spaces.
void must(const std::string& words) {
  Command command;
  std::istringstream in(words);
  for (std::string word; in >> word;) command.push_back(word);
  const auto result = run(command);
  if (result.exit_code != 0) need<void>(fail(Code::unavailable, words + ": " + result.err));
}

}  // namespace

std::string ShapedNetwork::missing() {
  if (::geteuid() != 0) return "it needs root for network namespaces";
  if (run({"ip", "-V"}).exit_code != 0) return "there is no ip here (Debian: iproute2)";
  if (run({"tc", "-V"}).exit_code != 0) return "there is no tc here (Debian: iproute2)";
  return {};
}

ShapedNetwork::ShapedNetwork(std::string prefix, int nodes, int megabits) : prefix_(std::move(prefix)) {
  const std::string bridge = prefix_ + "-bridge";
  const std::string limit = " root tbf rate " + std::to_string(megabits) + "mbit burst 256kb latency 50ms";
  must("ip netns add " + bridge);
  must("ip -n " + bridge + " link set lo up");
  must("ip -n " + bridge + " link add switch type bridge");
  must("ip -n " + bridge + " address add " + bridge_address() + "/24 dev switch");
  must("ip -n " + bridge + " link set switch up");
  for (int node = 0; node < nodes; ++node) {
    const std::string name = prefix_ + "-node" + std::to_string(node), port = "port" + std::to_string(node);
    must("ip netns add " + name);
    must("ip -n " + name + " link set lo up");
    must("ip -n " + bridge + " link add " + port + " type veth peer name eth0 netns " + name);
    must("ip -n " + bridge + " link set " + port + " master switch up");
    must("ip -n " + name + " address add " + node_address(node) + "/24 dev eth0");
    must("ip -n " + name + " link set eth0 up");
    if (megabits == 0) continue;
    must("tc -n " + name + " qdisc add dev eth0" + limit);
    must("tc -n " + bridge + " qdisc add dev " + port + limit);
  }
}

void ShapedNetwork::remove(const std::string& prefix) {
  std::istringstream spaces(run({"ip", "netns", "list"}).out);
  for (std::string line; std::getline(spaces, line);) {
    const std::string name = line.substr(0, line.find(' '));
    if (!name.starts_with(prefix + "-")) continue;
    std::istringstream processes(run({"ip", "netns", "pids", name}).out);
    for (int pid = 0; processes >> pid;) ::kill(pid, SIGKILL);
    run({"ip", "netns", "delete", name});
  }
}

}  // namespace weft::bench
