// Bytes on their way that no attempt moves itself, and the account of all traffic.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "engine/simulator/world.hpp"

namespace weft::simulator {

/// Bytes on their way that no attempt moves itself.
struct Transfer {
  std::optional<std::size_t> job;  // whose traffic it is, and with which it ends
  std::uint32_t from = 0, to = 0;  // machines, with which it breaks
  Move move;
  std::function<void(bool whole)> done;  // later
  bool behind = false;                   // from a page cache: nobody waits for it
};

class Transfers {
 public:
  explicit Transfers(World& world) : world_(world) {}

  /// With flows. `weight`: of its flow.
  FlowNetwork::Flow start(Transfer what, double weight = 1);
  /// Likewise, after the round trip of a request to another rack.
  void ask(Transfer what);
  void answered(std::uint64_t number);
  void use_disk(std::uint32_t machine, double bytes, bool write, std::function<void(bool whole)> done);
  /// Starts to write through the machine's page cache; returns the bytes for which that has no room.
  double write_behind(std::uint32_t machine, double bytes);

  /// The flow has ended: false when it is no transfer's. tell_ended() then says so to those whose transfers they are.
  bool ended(FlowNetwork::Flow flow);
  void tell_ended();
  /// Those of a machine, or of a job, end where they are, and are told so at once.
  void machine_gone(std::uint32_t machine);
  void job_over(std::size_t job);

  /// That part of the move has been made for the job.
  void count(std::size_t job, const Move& move, double part);
  Moved moved_so_far();

 private:
  void forget_behind(const Transfer& transfer, FlowNetwork::Flow flow);
  template <class Gone>
  void break_those(Gone gone);

  World& world_;
  std::map<FlowNetwork::Flow, Transfer> transfers_;
  std::map<std::uint64_t, Transfer> asked_;  // that have not begun, by number
  std::uint64_t asked_so_far_ = 0;
  std::vector<Transfer> ended_;
  TrafficByKind instant_traffic_;  // without flows
};

}  // namespace weft::simulator
