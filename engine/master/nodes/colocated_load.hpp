// What others take of the machines that workers run on, and what is left of it for these workers.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::master {

/// Others are all processes of a machine that belong to none of its workers. Their use is smoothed over a few seconds; slots go
/// when others take more than half of what stands for one, and come back when they take less than a quarter, and nothing has
/// changed for a few seconds. So a load that a worker's own tasks keep down is not answered by ever fewer of them. One thread.
class ColocatedLoad {
 public:
  struct Machine {
    double processors = 0, memory = 0;  // all that it has
  };
  /// What is left for a worker, and why that is less than what it joined with.
  struct Left {
    double slots = 0, memory = 0;
    std::string why;
  };

  /// Workers that name the same host are on one machine.
  void joined(NodeId node, const std::string& host, const schedulers::Resources& nominal, const Machine& machine);
  void left(NodeId node);
  /// What the worker's processes and everybody on its machine use, as its heartbeat says.
  void measured(NodeId node, const schedulers::Resources& used, const schedulers::Resources& machine, schedulers::Time now);
  /// Nothing while no other process is in the way, or for a worker whose machine is not known.
  std::optional<Left> of(NodeId node) const;

 private:
  struct Worker {
    std::string host;
    schedulers::Resources nominal, used;
    double slots = 0, memory = 0;  // left now
    std::string why;
    schedulers::Time changed{0};
  };
  struct Host {
    Machine machine;
    double slots = 0, memory = 0;              // of its workers together, nominally
    std::optional<schedulers::Time> measured;  // last
    double others_cpu = 0, others_memory = 0;  // smoothed
    double used_cpu = 0, used_memory = 0;      // by its workers, as they said last
    std::size_t workers = 0;
  };
  static void decide(const Host& host, Worker& worker, schedulers::Time now);

  std::map<NodeId, Worker> workers_;
  std::map<std::string, Host> hosts_;
};

}  // namespace weft::master
