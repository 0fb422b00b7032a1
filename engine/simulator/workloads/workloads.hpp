// Reads traces into workloads, with one source file per format (docs/formats/workloads.md). All files are streamed and all sizes
// are bounded; errors name file, line and reason.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_file.hpp"
#include "base/result.hpp"
#include "engine/simulator/workload.hpp"

namespace weft::simulator::workloads {

/// What a loader must know about the run, because the trace does not say it.
struct Context {
  /// The machine for traces with demands that are parts of a machine.
  schedulers::Resources machine{1, 1, 1, 1, 1, 1, 0, 0};
  std::uint64_t seed = 1;  // of generated jobs and of random samples, unless a setting says otherwise
};

/// "key=value" settings of one format, already taken apart.
using Settings = std::vector<std::string>;

/// "swim:FILE", "swim:FILE,block=128MiB", "generate:jobs=10,…". invalid_argument for an unknown kind or setting, else the error of
/// the loader. The result has at least one job, and keeps the order of the file.
Result<Workload> load(std::string_view text, const Context& context);

/// One line per kind: its name, what it reads, and its settings, for --help and the manual.
std::string describe_kinds();

// The formats. Jobs come in the order of the file.
Result<Workload> load_swim(const std::string& path, const Settings& settings, const Context& context);
Result<Workload> load_carbyne(const std::string& path, const Settings& settings, const Context& context);
Result<Workload> load_decima(const std::string& path, const Settings& settings, const Context& context);
Result<Workload> load_coflow(const std::string& path, const Settings& settings, const Context& context);
Result<Workload> load_rumen(const std::string& path, const Settings& settings, const Context& context);
Result<Workload> load_alibaba(const std::string& path, const Settings& settings, const Context& context);
Result<Workload> load_event_log(const std::string& path, const Settings& settings, const Context& context);
Result<Workload> load_jobs(const std::string& path, const Settings& settings, const Context& context);

/// Writes a file that load_jobs reads as the same workload, except its name. io when it cannot be written.
Result<void> write_jobs(const Workload& workload, const std::string& path, IfExists exists);

/// `limit` keeps the first jobs of the file; 0: all. `scale` multiplies bytes and numbers of tasks (at least one task remains),
/// `arrival_scale` the arrival times. Afterwards the jobs are sorted by arrival; those of one moment keep the order of the file,
/// unless Workload::hash_order is set.
struct Resize {
  double scale = 1;
  double arrival_scale = 1;
  std::size_t limit = 0;
};
Result<void> resize(Workload& workload, const Resize& resize);

}  // namespace weft::simulator::workloads
