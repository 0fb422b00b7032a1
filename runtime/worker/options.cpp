#include "runtime/worker/options.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/core.h>
#include <unistd.h>

#include "base/attributes.hpp"
#include "base/machine.hpp"
#include "base/rpc/rpc.hpp"
#include "base/text.hpp"
#include "runtime/worker/sandbox.hpp"

namespace weft::runtime {
namespace {

/// A task asks for 32 MiB at a time, waits three minutes for them, and is not the only one.
constexpr std::uint64_t kLeastLinkRate = 4u << 20;

/// A worker that asks for more than there is would be killed in the middle of a job, by a kernel that gives no reason.
Result<void> check_memory(const WorkerOptions& options) {
  const std::uint64_t memory = machine_memory();
  if (options.memory_bytes <= memory && options.store_bytes <= memory - options.memory_bytes) return {};
  return fail(
      Code::invalid_argument,
      fmt::format("{} for tasks and {} for map outputs are more than the {} of this machine or container; lower --memory or "
                  "--store-memory, or give it more",
                  human_bytes(options.memory_bytes), human_bytes(options.store_bytes), human_bytes(memory)));
}

}  // namespace

void declare(Config& config, WorkerOptions& options) {
  config.text("worker.master", options.master,
              "Address of the master, or of each, separated by commas: the one that leads is found");
  config.text("worker.name", options.name,
              "Name in listings (empty: one that its chunk directories keep; without any, host and process id)");
  config.text("worker.host", options.host, "This machine, as inputs name it (empty: its host name)");
  config.text("worker.rack", options.rack, "Rack of this machine, for locality");
  config.integer("worker.slots", options.slots, "Tasks at a time (0: one per processor that it may use)", 0, 4096);
  config.size("worker.memory", options.memory_bytes, "Memory of an executor's tasks together (0: a quarter of the machine's)");
  config.size("worker.store", options.store_bytes, "Map outputs kept in memory; more goes to disk (0: a quarter of the machine's)");
  config.size("worker.link_rate", options.link_rate,
              "Bytes a second of map outputs that are fetched from each other worker (0: as fast as they come)");
  config.text("worker.directory", options.directory, "Work directory for spills, logs and binaries (empty: a temporary one)");
  config.text("worker.listen", options.listen, "Address where other workers fetch map outputs (port 0: any)");
  config.flag("worker.share", options.share, "Let workers of this machine map each other's map outputs instead of fetching them");
  config.flag("worker.compress", options.compress, "Compress map outputs for workers of other machines where that saves enough");
  config.text("worker.advertise", options.advertise, "Host name of that address for others (empty: as in listen)");
  config.duration(
      "worker.stop_grace", options.stop_grace,
      "How long a task may take to stop when it is preempted or late; then its executor is killed, and the job's other tasks "
      "there begin again");
  config.duration(
      "worker.drain", options.drain,
      "How long the worker, after a stop request (SIGTERM, SIGINT), may take to finish its tasks and to hand over its map "
      "outputs and chunks to others (0: it ends at once)");
  config.text(
      "worker.drain_chunks", options.drain_chunks,
      "Of its chunks and partitions of tables, which others must have before: sole, those that nobody else has, because the "
      "others come back with its directories; or all");
  config.duration(
      "worker.master_patience", options.master_patience,
      "How long its tasks go on, and what they made is held, while a master that keeps its jobs is away (0: not at all)");
  config.text("worker.run_as", options.run_as,
              "As whom jobs' programs run, when the worker is root's: self, submitter (the job's user where this machine has him, "
              "nobody otherwise), or a user's name");
  config.flag("worker.sandbox", options.sandbox,
              "Show jobs' programs the machine's files read-only, and none of other jobs; needs worker.run_as");
  config.list("worker.writable", options.writable, "Directories to which programs in a sandbox can write outputs");
  config.text("worker.cgroup", options.cgroup,
              "Where each job gets a control group for its memory, its processes and a fair share of the processors: auto (in the "
              "worker's own group), the name of a group, or none");
  config.integer("worker.job_processes", options.job_processes,
                 "Processes and threads that a job may have here, besides those of its tasks (0: as many as the system allows)", 0,
                 1'000'000);
  config.text("worker.capacity", options.capacity,
              "What it has beside its slots, for tasks that demand it: memory=4GiB,disk_read=200MB (memory: worker.memory)");
  config.text("worker.capacity_from", options.capacity_from,
              "File that says how much of that it may be given at present, slots=1,memory=2GiB; looked at with each heartbeat");
  config.text("worker.forecast", options.forecast,
              "File of what it is expected to be given, by the hours of a day: lines of 09:00 50% or 18:30 slots=2");
  config.flag("worker.yield", options.yield, "Leave to others on this machine the processors and the memory that they take");
  config.list("worker.local_data", options.local_data,
              "Directories, as inputs name them, whose files lie on this machine: their tasks come here when they can");
  config.text("worker.devices", options.devices,
              "Devices for kernels that its tasks may hold: none, auto (GPUs, or else other accelerators), cpu, or labels as weft "
              "worker --list-devices prints them, 0.0,0.1");
  config.list("worker.attributes", options.attributes, "What schedulers may want to know of this machine: gpu=1");
}

Result<void> complete(WorkerOptions& options) {
  if (options.host.empty()) options.host = machine_name();
  options.named = !options.name.empty();
  if (!options.named) options.name = fmt::format("{}-{}", options.host, getpid());
  if (options.slots == 0) options.slots = static_cast<std::uint32_t>(std::ceil(std::max(machine_processors(), 1.0) - 1e-9));
  if (options.slots > 4096) return fail(Code::invalid_argument, "a worker has at most 4096 slots");
  if (options.link_rate != 0 && options.link_rate < kLeastLinkRate)
    return fail(
        Code::invalid_argument,
        fmt::format("worker.link_rate: {} a second is too little for tasks that wait for their input; at least {}, or 0 for "
                    "no limit",
                    human_bytes(options.link_rate), human_bytes(kLeastLinkRate)));
  if (options.memory_bytes == 0) options.memory_bytes = machine_memory() / 4;
  if (options.store_bytes == 0) options.store_bytes = machine_memory() / 4;
  if (!options.private_cluster) WEFT_TRY(check_memory(options));
  if (options.run_as.empty())
    return fail(Code::invalid_argument, "worker.run_as is empty; it can be self, submitter, or a user's name");
  if (options.run_as != kRunAsSelf && ::geteuid() != 0)
    return fail(Code::invalid_argument,
                fmt::format("worker.run_as is {}: only a worker of root can run programs as other users", escaped(options.run_as)));
  if (options.sandbox && options.run_as == kRunAsSelf)
    return fail(
        Code::invalid_argument,
        "worker.sandbox keeps nobody in who has root's rights; say as whom programs run, too (worker.run_as, --run-as submitter)");
  if (options.writable.size() > kMostWritable)
    return fail(Code::invalid_argument, fmt::format("worker.writable has more than {} directories", kMostWritable));
  for (std::string& path : options.writable) {
    std::error_code error;
    if (!path.starts_with('/') || !std::filesystem::is_directory(path, error))
      return fail(Code::invalid_argument, fmt::format("worker.writable: '{}' is no absolute path of a directory", escaped(path)));
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  }
  if (options.private_cluster) options.cgroup = kNoCgroup;  // one job, of the user who started it
  if (options.cgroup != "auto" && options.cgroup != kNoCgroup && !options.cgroup.starts_with('/'))
    return fail(
        Code::invalid_argument,
        fmt::format("worker.cgroup is '{}'; it can be auto, none, or the name of a group such as /weft", escaped(options.cgroup)));
  if (options.drain_chunks != kDrainChunksSole && options.drain_chunks != kDrainChunksAll)
    return fail(Code::invalid_argument,
                fmt::format("worker.drain_chunks is '{}'; it can be sole or all", escaped(options.drain_chunks)));
  WEFT_TRY(rpc::Endpoint::parse_list(options.master));
  WEFT_TRY(rpc::Endpoint::parse(options.listen));
  WEFT_TRY(parse_attributes(options.attributes));
  for (std::string& directory : options.local_data) {
    if (!directory.starts_with('/'))
      return fail(Code::invalid_argument, fmt::format("local data '{}' is no absolute path", escaped(directory)));
    while (directory.ends_with('/')) directory.pop_back();
  }
  if (options.advertise.empty()) {
    const std::string host = options.listen.substr(0, options.listen.rfind(':'));
    options.advertise = host == "0.0.0.0" || host == "[::]" ? machine_name() : host;
  }
  if (std::count(options.advertise.begin(), options.advertise.end(), ':') > 1 && !options.advertise.starts_with('['))
    options.advertise = "[" + options.advertise + "]";  // an IPv6 address, to which a port is added
  if (auto address = rpc::Endpoint::parse(options.advertise + ":1"); !address)
    return fail(Code::invalid_argument, fmt::format("worker.advertise: '{}' is no host; name one, or an address, without a port",
                                                    escaped(options.advertise)));
  return {};
}

}  // namespace weft::runtime
