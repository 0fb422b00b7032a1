// Connects the shuffle services of the machines with the simulated links, disks and outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/simulator/shuffle_service.hpp"
#include "engine/simulator/transfers.hpp"

namespace weft::simulator {

class Services final : ShuffleService::World {
 public:
  /// Outlives what holds rooms: transfers and attempts.
  Services(simulator::World& world, Transfers& transfers);

  /// Null unless the shuffle mode is memory.
  ShuffleService* get() { return service_ ? &*service_ : nullptr; }
  void add_to(RunResult& result) const;

 private:
  std::optional<std::uint32_t> machine_of(NodeId node) const override;
  bool far(std::uint32_t a, std::uint32_t b) const override;
  std::optional<std::vector<std::uint64_t>> blocks(std::uint32_t machine, const shuffle::FetchRequest& request) const override;
  void fetch(JobId job, std::uint32_t from, std::uint32_t to, double bytes, bool asked, Done done) override;
  void use_disk(std::uint32_t machine, double bytes, bool write, Done done) override;

  simulator::World& world_;
  Transfers& transfers_;
  std::optional<ShuffleService> service_;
};

}  // namespace weft::simulator
