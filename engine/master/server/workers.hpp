// The server's side of its workers: which there are, what they report and what they are sent.
#pragma once

#include "engine/master/server/worker_admission.hpp"
#include "engine/master/server/worker_capacities.hpp"
#include "engine/master/server/worker_commands.hpp"
#include "engine/master/server/worker_context.hpp"
#include "engine/master/server/worker_losses.hpp"
#include "engine/master/server/worker_reports.hpp"

namespace weft::master {

/// Reactor thread only. Stays where it was made.
struct Workers {
  WorkerContext context;
  WorkerCapacities capacities{context};
  WorkerLosses losses{context, capacities};
  WorkerAdmission admission{context, capacities, losses};
  WorkerReports reports{context, capacities, losses};
  WorkerCommands commands{context};

  explicit Workers(WorkerContext parts) : context(std::move(parts)) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
};

}  // namespace weft::master
