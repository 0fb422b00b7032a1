// weft fs ls, stat, mkdir, mv, rm, du, setrep, fsck, balance, report, quota; weft node drain.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <limits>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "engine/cli/fs_commands.hpp"
#include "engine/cli/table.hpp"
#include "storage/namespace/path.hpp"

namespace weft::cli {

namespace {

using storage::FileEntry;
using storage::FilePlace;
using storage::FileStatus;
using storage::NodeStorage;

/// After so long without a single copy a drain is given up.
constexpr std::chrono::minutes kDrainPatience{10};
constexpr std::size_t kMostRangesTold = 100;

/// Times as people read them. Entries of a directory are often of one minute.
class Calendar {
 public:
  const std::string& text(std::int64_t ms) {
    const std::int64_t minute = ms / 60'000;
    if (minute == minute_) return text_;
    minute_ = minute;
    const auto seconds = static_cast<std::time_t>(ms / 1000);
    std::tm parts{};
    localtime_r(&seconds, &parts);
    char text[32] = {};
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
    return text_ = text;
  }

 private:
  std::int64_t minute_ = INT64_MIN;
  std::string text_;
};

void add_status(JsonWriter& json, const FileStatus& status) {
  json.begin_object().member("path", status.path).member("type", status.directory ? "directory" : "file");
  if (status.directory) {
    json.member("entries", status.entries);
  } else {
    json.member("bytes", status.bytes).member("replication", status.replication).member("chunks", status.chunks);
    json.member("chunk_bytes", status.chunk_bytes);
  }
  json.member("user", status.user).member("modified_ms", status.modified_ms).end_object();
}

std::string name_in(const std::vector<NodeStorage>& nodes, NodeId id) {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [id](const NodeStorage& node) { return node.id == id; });
  return found == nodes.end() ? std::to_string(id.value()) : found->node.name;
}

const char* state_of(const FilePlace& place) {
  if (place.chunk.nodes.empty()) return place.chunk.corrupt.empty() ? "missing" : "damaged";
  if (!place.chunk.corrupt.empty()) return "corrupt";
  return place.chunk.nodes.size() < place.chunk.wanted ? "under-replicated" : "healthy";
}

/// What of a chunk that no worker has whole cannot be put together from the damaged replicas either.
std::vector<storage::ByteRange> lost(storage::FileSystem& files, const std::string& path, const FilePlace& place) {
  const storage::ByteRange all{place.offset, place.chunk.info.length};
  if (!place.chunk.nodes.empty()) return {};
  if (place.chunk.corrupt.empty()) return {all};
  const auto reader = files.open(path);
  if (!reader) return {all};
  return (*reader)->missing(all);
}

}  // namespace

Result<void> fs_list(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  std::vector<FileStatus> all;
  for (const std::string& path : paths) {
    WEFT_ASSIGN(auto some, files->list(path));
    if (all.empty())
      all = std::move(some);
    else
      std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  if (options.json) {
    JsonWriter json;
    json.begin_array();
    for (const FileStatus& status : all) add_status(json, status);
    print(json.end_array().text() + "\n");
    return {};
  }
  Table table({"TYPE", "REPLICAS", "USER", "SIZE", "MODIFIED", "PATH"});
  Calendar calendar;
  for (const FileStatus& status : all)
    table.cell(status.directory ? "dir" : "file")
        .cell(status.directory ? "-" : std::to_string(status.replication))
        .cell(status.user)
        .cell(status.directory ? std::to_string(status.entries) + " entries" : human_bytes(status.bytes))
        .cell(calendar.text(status.modified_ms))
        .cell(status.path);
  print(table.text());
  return {};
}

Result<void> fs_stat(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  JsonWriter json;
  Calendar calendar;
  json.begin_array();
  for (const std::string& path : paths) {
    WEFT_ASSIGN(const FileStatus status, files->stat(path));
    add_status(json, status);
    if (options.json) continue;
    if (status.directory)
      fmt::print("{}: directory of {}, {} entries, made {}\n", escaped(status.path), status.user, status.entries,
                 calendar.text(status.modified_ms));
    else
      fmt::print("{}: file of {}, {} bytes in {} chunks of up to {}, {} replicas, written {}\n", escaped(status.path), status.user,
                 status.bytes, status.chunks, human_bytes(status.chunk_bytes), status.replication,
                 calendar.text(status.modified_ms));
  }
  if (options.json) print(json.end_array().text() + "\n");
  return {};
}

Result<void> fs_make_directory(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  for (const std::string& path : options.paths) WEFT_TRY(files->make_directory(without_slash(path), options.parents));
  return {};
}

Result<void> fs_move(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto sources, expanded(*files, {options.paths.begin(), options.paths.end() - 1}));
  WEFT_ASSIGN(const std::string target, storage::parse_path(without_slash(options.paths.back())));
  const auto there = files->stat(target);
  const bool into = there && there->directory && !options.replace;
  if (sources.size() > 1 && !into)
    return fail(Code::invalid_argument, fmt::format("{} is no directory, and there are several files", escaped(target)));
  for (const std::string& source : sources)
    WEFT_TRY(files->rename(source, into ? storage::joined(target, storage::name_of(source)) : target, options.replace));
  return {};
}

Result<void> fs_remove(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  for (const std::string& path : paths) WEFT_TRY(files->remove(path, options.recursive));
  return {};
}

Result<void> fs_usage(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  JsonWriter json;
  json.begin_array();
  Table table({"SIZE", "STORED", "FILES", "DIRECTORIES", "CHUNKS", "PATH"});
  for (const std::string& path : paths) {
    WEFT_ASSIGN(const storage::Usage usage, files->usage(path));
    json.begin_object().member("path", path).member("bytes", usage.bytes).member("stored_bytes", usage.stored_bytes);
    json.member("files", usage.files).member("directories", usage.directories).member("chunks", usage.chunks).end_object();
    table.add({human_bytes(usage.bytes), human_bytes(usage.stored_bytes), std::to_string(usage.files),
               std::to_string(usage.directories), std::to_string(usage.chunks), path});
  }
  print(options.json ? json.end_array().text() + "\n" : table.text());
  return {};
}

Result<void> fs_set_replication(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  for (const std::string& path : paths) WEFT_TRY(files->set_replication(path, options.replication));
  return {};
}

Result<void> fs_check(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  std::map<std::string, std::uint64_t> chunks;
  std::uint64_t file_count = 0, damaged_files = 0, bytes = 0;
  JsonWriter json;
  json.begin_object().key("files").begin_array();
  const auto tell = [&](const FileEntry& file, const std::vector<NodeStorage>& nodes) {
    ++file_count;
    bytes += file.status.bytes;
    bool healthy = true, whole = true;
    std::vector<std::vector<storage::ByteRange>> missing;
    for (const FilePlace& place : file.places) {
      ++chunks[state_of(place)];
      healthy = healthy && std::string_view(state_of(place)) == "healthy";
      missing.push_back(lost(*files, file.status.path, place));
      whole = whole && missing.back().empty();
    }
    if (!whole) ++damaged_files;
    if (healthy && !options.blocks && !options.locations) return;
    json.begin_object()
        .member("path", file.status.path)
        .member("bytes", file.status.bytes)
        .member("healthy", healthy)
        .member("readable", whole);
    json.key("chunks").begin_array();
    if (!options.json)
      fmt::print("{}: {} bytes, {} chunks{}\n", escaped(file.status.path), file.status.bytes, file.places.size(),
                 healthy ? "" : ", NOT HEALTHY");
    for (std::size_t i = 0; i < file.places.size(); ++i) {
      const FilePlace& place = file.places[i];
      std::vector<std::string> where, corrupt;
      for (const NodeId id : place.chunk.nodes) where.push_back(name_in(nodes, id));
      for (const NodeId id : place.chunk.corrupt) corrupt.push_back(name_in(nodes, id));
      std::sort(where.begin(), where.end());
      std::sort(corrupt.begin(), corrupt.end());
      json.begin_object()
          .member("id", place.chunk.info.id.value())
          .member("offset", place.offset)
          .member("bytes", place.chunk.info.length);
      json.member("state", state_of(place)).member("wanted", place.chunk.wanted).member("replicas", where.size());
      json.key("workers").begin_array();
      for (const std::string& name : where) json.value(name);
      json.end_array().key("corrupt_on").begin_array();
      for (const std::string& name : corrupt) json.value(name);
      json.end_array().key("lost").begin_array();
      for (const storage::ByteRange& range : missing[i])
        json.begin_object().member("offset", range.offset).member("bytes", range.length).end_object();
      json.end_array().end_object();
      const bool shown = options.blocks || options.locations || std::string_view(state_of(place)) != "healthy";
      if (options.json || !shown) continue;
      fmt::print("  {} at {}: {} bytes, {} of {} replicas, {}{}{}{}\n", to_string(place.chunk.info.id), place.offset,
                 place.chunk.info.length, where.size(), place.chunk.wanted, state_of(place),
                 options.locations ? ": " + escaped(join(where, ", ")) : "",
                 corrupt.empty() ? "" : "; damaged on " + escaped(join(corrupt, ", ")),
                 missing[i].empty() ? "" : "; lost: " + storage::ranges_text(missing[i], kMostRangesTold));
    }
    json.end_array().end_object();
  };
  WEFT_ASSIGN(const auto paths, expanded(*files, options.paths));
  for (const std::string& path : paths) WEFT_TRY(files->check(path, tell));
  json.end_array().member("file_count", file_count).member("bytes", bytes).member("unreadable_files", damaged_files);
  json.key("chunk_states").begin_object();
  std::string states;
  for (const auto& [state, count] : chunks) {
    json.member(state, count);
    states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, state);
  }
  json.end_object().end_object();
  if (options.json)
    print(json.text() + "\n");
  else
    fmt::print("{} files, {}; chunks: {}\n", file_count, human_bytes(bytes), states.empty() ? "none" : states);
  if (damaged_files > 0)
    return fail(Code::unavailable, fmt::format("{} of {} files cannot be read whole", damaged_files, file_count));
  return {};
}

Result<void> fs_balance(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_TRY(files->balance(options.threshold));
  while (true) {
    WEFT_ASSIGN(const auto report, files->report());
    if (!report.storage.balancing) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

Result<void> fs_report(const FsOptions& options) {
  WEFT_ASSIGN(const auto files, connect(options));
  WEFT_ASSIGN(const storage::FileReport all, files->report());
  const storage::StorageReport& report = all.storage;
  if (options.json) {
    JsonWriter json;
    json.begin_object()
        .member("safe_mode", report.safe_mode)
        .member("files", report.files)
        .member("directories", report.directories);
    json.member("chunks", report.chunks)
        .member("reported_chunks", report.reported_chunks)
        .member("missing_chunks", report.missing_chunks);
    json.member("under_replicated", report.under_replicated).member("over_replicated", report.over_replicated);
    json.member("corrupt_replicas", report.corrupt_replicas)
        .member("copies", report.copies)
        .member("open_files", report.open_files);
    json.member("removed", report.trashed).member("balancing", report.balancing).key("workers").begin_array();
    for (const NodeStorage& node : report.nodes) {
      json.begin_object().member("id", node.id.value()).member("name", node.node.name).member("host", node.node.host);
      json.member("rack", node.node.rack)
          .member("address", node.node.address)
          .member("used", node.space.used)
          .member("free", node.space.free);
      json.member("chunks", node.chunks).member("draining", node.draining).member("to_move", node.to_move);
      json.member("reported", node.reported).end_object();
    }
    json.end_array().key("users").begin_array();
    for (const auto& user : all.users) {
      json.begin_object().member("user", user.user).member("bytes", user.bytes).member("entries", user.entries);
      json.member("most_bytes", user.quota.bytes).member("most_entries", user.quota.entries).end_object();
    }
    print(json.end_array().end_object().text() + "\n");
    return {};
  }
  fmt::print("{} files in {} directories, {} chunks ({} with a replica), {} being written{}{}\n", report.files, report.directories,
             report.chunks, report.reported_chunks, report.open_files,
             report.safe_mode ? "; SAFE MODE: nothing is copied or erased" : "", report.balancing ? "; balancing" : "");
  fmt::print(
      "chunks: {} missing, {} under-replicated, {} over-replicated, {} damaged replicas; {} copies under way; {} removed files or "
      "directories wait\n",
      report.missing_chunks, report.under_replicated, report.over_replicated, report.corrupt_replicas, report.copies,
      report.trashed);
  Table table({"NODE", "NAME", "HOST", "RACK", "CHUNKS", "USED", "FREE", "STATE"});
  for (const NodeStorage& node : report.nodes) {
    std::string state = node.reported ? "ready" : "reporting";
    if (node.draining)
      state = node.to_move == 0 ? "drained" : fmt::format("draining: {} chunks and partitions to copy", node.to_move);
    table.add({std::to_string(node.id.value()), node.node.name, node.node.host, node.node.rack, std::to_string(node.chunks),
               human_bytes(node.space.used), human_bytes(node.space.free), state});
  }
  print(table.text());
  if (all.users.empty()) return {};
  Table users({"USER", "STORED", "QUOTA", "ENTRIES", "QUOTA"});
  for (const auto& user : all.users)
    users.add({user.user, human_bytes(user.bytes), user.quota.bytes == 0 ? "-" : human_bytes(user.quota.bytes),
               std::to_string(user.entries), user.quota.entries == 0 ? "-" : std::to_string(user.quota.entries)});
  print("\n" + users.text());
  return {};
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
    WEFT_ASSIGN(const storage::FileReport all, files->report());
    const auto& nodes = all.storage.nodes;
    const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const auto& one) { return one.node.name == name; });
    if (node == nodes.end())
      return fail(Code::unavailable, fmt::format("{} left before it was drained; `weft fs fsck` tells what lacks replicas", name));
    if (node->draining && node->reported && node->to_move == 0) return {};
    const auto now = std::chrono::steady_clock::now();
    if (node->to_move < left) left = node->to_move, progressed = now;
    const bool alone = std::none_of(nodes.begin(), nodes.end(), [](const auto& one) { return one.reported && !one.draining; });
    if ((alone && !all.storage.safe_mode) || now - progressed > kDrainPatience)
      return fail(
          Code::unavailable,
          fmt::format("{} still has {} chunks and partitions, and {}; add a worker, or use this one again: weft node drain "
                      "--stop {}",
                      name, node->to_move, alone ? "no other worker takes any" : "none could be copied for 10 minutes", name));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return {};
}

}  // namespace weft::cli
