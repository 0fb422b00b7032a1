// weft fs balance, report, quota, safemode; weft node drain.
#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include <fmt/format.h>

#include "base/counted.hpp"
#include "base/text.hpp"
#include "engine/tools/cli/fs_commands.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/storage_json.hpp"
#include "engine/tools/display/text_table.hpp"

namespace weft::tools {
namespace {

using storage::NodeStorage;

/// After this time without a single copy a drain is given up.
constexpr std::chrono::minutes kLongestStandstill{10};

}  // namespace

Result<void> fs_balance(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  // A master that was started again has forgotten the order: it is given until there is nothing to do for it.
  for (bool copied = true; copied;) {
    WEFT_TRY(files->balance(options.threshold));
    copied = false;
    while (true) {
      WEFT_ASSIGN(const auto report, files->report());
      copied = copied || report.storage.safe_mode || (report.storage.balancing && report.storage.copies > 0);
      if (!report.storage.balancing && !report.storage.safe_mode) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
  return {};
}

Result<void> fs_report(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const storage::files::FileReport all, files->report());
  const storage::StorageReport& report = all.storage;
  if (options.json) return print(file_report_json(all));
  fmt::print("{} in {}, {} ({} with a replica), {} being written{}{}\n", counted(report.files, "file"),
             counted(report.directories, "directory", "directories"), counted(report.chunks, "chunk"), report.reported_chunks,
             report.open_files, report.safe_mode ? "; SAFE MODE: nothing is copied or erased" : "",
             report.balancing ? "; balancing" : "");
  fmt::print(
      "chunks: {} missing, {} under-replicated, {} over-replicated, {} damaged replicas; {} copies under way; {} removed files or "
      "directories wait\n",
      report.missing_chunks, report.under_replicated, report.over_replicated, report.corrupt_replicas, report.copies,
      report.trashed);
  TextTable table({"NODE", "NAME", "HOST", "RACK", "CHUNKS", "USED", "FREE", "STATE"});
  for (const NodeStorage& node : report.nodes) {
    std::string state = node.reported ? "ready" : "reporting";
    if (node.draining)
      state = node.to_move == 0 ? "drained" : fmt::format("draining: {} chunks and partitions to copy", node.to_move);
    table.row(node.id.value(), node.node.name, node.node.host, node.node.rack, node.chunks, human_bytes(node.space.used),
              human_bytes(node.space.free), state);
  }
  print(table.text());
  if (all.users.empty()) return {};
  TextTable users({"USER", "STORED", "QUOTA", "ENTRIES", "QUOTA"});
  for (const auto& user : all.users)
    users.row(user.user, human_bytes(user.bytes), user.quota.bytes == 0 ? "-" : human_bytes(user.quota.bytes), user.entries,
              user.quota.entries == 0 ? "-" : std::to_string(user.quota.entries));
  return print("\n" + users.text());
}

Result<void> fs_quota(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  return files->set_quota(options.paths.at(0), options.quota);
}

Result<void> fs_leave_safe_mode(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  return files->leave_safe_mode();
}

Result<void> node_drain(const FsOptions& options, bool on) {
  WEFT_ASSIGN(const auto files, connect(options));
  const std::string& name = options.paths.at(0);
  WEFT_TRY(files->drain(name, on));
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  auto progressed = std::chrono::steady_clock::now();
  while (on && options.wait) {
    WEFT_ASSIGN(const storage::files::FileReport all, files->report());
    const auto& nodes = all.storage.nodes;
    const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const auto& one) { return one.node.name == name; });
    if (node == nodes.end())
      return fail(Code::unavailable, fmt::format("{} left before it was drained; `weft fs fsck` shows what lacks replicas", name));
    if (node->draining && node->reported && node->to_move == 0) return {};
    const auto now = std::chrono::steady_clock::now();
    if (node->to_move < left) left = node->to_move, progressed = now;
    const bool alone = std::none_of(nodes.begin(), nodes.end(), [](const auto& one) { return one.reported && !one.draining; });
    if ((alone && !all.storage.safe_mode) || now - progressed > kLongestStandstill)
      return fail(
          Code::unavailable,
          fmt::format("{} still has {} chunks and partitions, and {}; add a worker, or use this one again: weft node drain "
                      "--stop {}",
                      name, node->to_move, alone ? "no other worker takes any" : "none could be copied for 10 minutes", name));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return {};
}

}  // namespace weft::tools
