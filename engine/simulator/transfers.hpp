// Moves that belong to no attempt, and the account of all traffic.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "engine/simulator/world.hpp"

namespace weft::simulator {

/// A move that belongs to no attempt.
struct Transfer {
  std::optional<std::size_t> job;  // its traffic counts for the job, and it breaks when the job ends
  std::uint32_t from = 0, to = 0;  // it breaks when one of these machines dies
  Move move;
  std::function<void(bool whole)> done;  // called later
  bool behind = false;                   // from a page cache: nothing waits for it
};

class Transfers {
 public:
  explicit Transfers(World& world) : world_(world) {}

  /// Needs flows. `weight`: of its flow.
  FlowNetwork::Flow start(Transfer what, double weight = 1);
  /// Starts the transfer after the round trip of a request, if its bytes come from another rack.
  void ask(Transfer what);
  /// The request of that number has its reply.
  void answered(std::uint64_t number);
  void use_disk(std::uint32_t machine, double bytes, bool write, std::function<void(bool whole)> done);
  /// Starts to write through the machine's page cache; returns the bytes for which that has no room.
  double write_behind(std::uint32_t machine, double bytes);

  /// The flow has ended. False: it belongs to no transfer. finish_ended() then calls the transfers' `done`.
  bool ended(FlowNetwork::Flow flow);
  void finish_ended();
  /// Breaks all transfers of a machine or of a job, and calls their `done` at once.
  void machine_gone(std::uint32_t machine);
  void job_over(std::size_t job);

  /// Counts this part of the move for the job.
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
