#include "engine/tools/display/storage_json.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/tools/display/json_members.hpp"

namespace weft::tools {

using storage::FileStatus;
using storage::tables::TableStatus;

namespace {

void add_members(JsonWriter& json, const TableStatus& table) {
  members(json, "name", table.name, "partitions", table.partition_count, "replication", table.replication, "bytes", table.bytes,
          "snapshots", named_snapshots(table), "short_partitions", table.short_partitions, "down_partitions", table.down_partitions,
          "owner", table.owner, "mode", fmt::format("{:04o}", table.mode));
}

}  // namespace

std::string files_json(const std::vector<FileStatus>& files) {
  return json_line(objects(files, [](JsonWriter& json, const FileStatus& status) {
    members(json, "path", status.path, "type", status.directory ? "directory" : "file");
    if (status.directory)
      members(json, "entries", status.entries);
    else
      members(json, "bytes", status.bytes, "replication", status.replication, "chunks", status.chunks, "chunk_bytes",
              status.chunk_bytes);
    members(json, "user", status.user, "mode", fmt::format("{:04o}", status.mode), "modified_ms", status.modified_ms);
  }));
}

std::string file_report_json(const storage::files::FileReport& all) {
  const storage::StorageReport& report = all.storage;
  const auto worker = [](JsonWriter& json, const storage::NodeStorage& node) {
    members(json, "id", node.id.value(), "name", node.node.name, "host", node.node.host, "rack", node.node.rack, "address",
            node.node.address, "used", node.space.used, "free", node.space.free, "chunks", node.chunks, "draining", node.draining,
            "to_move", node.to_move, "reported", node.reported);
  };
  const auto user = [](JsonWriter& json, const auto& one) {
    members(json, "user", one.user, "bytes", one.bytes, "entries", one.entries, "most_bytes", one.quota.bytes, "most_entries",
            one.quota.entries);
  };
  return json_line(object("safe_mode", report.safe_mode, "files", report.files, "directories", report.directories, "chunks",
                          report.chunks, "reported_chunks", report.reported_chunks, "missing_chunks", report.missing_chunks,
                          "under_replicated", report.under_replicated, "over_replicated", report.over_replicated,
                          "corrupt_replicas", report.corrupt_replicas, "copies", report.copies, "open_files", report.open_files,
                          "removed", report.trashed, "balancing", report.balancing, "workers", objects(report.nodes, worker),
                          "users", objects(all.users, user)));
}

std::size_t named_snapshots(const TableStatus& table) {
  return static_cast<std::size_t>(
      std::count_if(table.snapshots.begin(), table.snapshots.end(), [](const auto& one) { return !one.name.empty(); }));
}

const char* chunk_state(const storage::ChunkPlace& place) {
  if (place.nodes.empty()) return place.corrupt.empty() ? "missing" : "damaged";
  if (!place.corrupt.empty()) return "corrupt";
  return place.nodes.size() < place.wanted ? "under-replicated" : "healthy";
}

std::vector<std::string> names_of(const std::vector<NodeId>& ids, const std::vector<storage::NodeSite>& nodes) {
  std::vector<std::string> names;
  for (const NodeId id : ids) {
    const auto found = std::find_if(nodes.begin(), nodes.end(), [id](const storage::NodeSite& site) { return site.id == id; });
    names.push_back(found == nodes.end() ? std::to_string(id.value()) : found->node.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string file_chunks_json(const storage::FileChunks& file, const std::vector<storage::NodeSite>& nodes) {
  const auto chunk = [&nodes](JsonWriter& json, const storage::ChunkPlace& place) {
    members(json, "id", digits_of(place.info.id), "offset", place.offset, "bytes", place.info.length, "state", chunk_state(place),
            "wanted", place.wanted, "replicas", place.nodes.size(), "workers", names_of(place.nodes, nodes), "corrupt_on",
            names_of(place.corrupt, nodes));
  };
  return json_line(object("path", file.file.path, "bytes", file.file.bytes, "replication", file.file.replication, "chunks",
                          objects(file.chunks, chunk)));
}

std::string tables_json(const std::vector<TableStatus>& tables) { return json_line(objects(tables, add_members)); }

std::string table_json(const TableStatus& table) {
  const auto replica = [](JsonWriter& json, const auto& member) {
    members(json, "worker", member.name, "host", member.host, "rack", member.rack, "in_sync", member.in_sync, "there",
            !member.address.empty());
  };
  JsonWriter json;
  json.begin_object();
  add_members(json, table);
  members(json, "partition_list", objects(table.partitions, [&](JsonWriter& each, const auto& partition) {
            members(each, "epoch", partition.epoch, "primary", partition.primary, "bytes", partition.bytes, "fault",
                    partition.fault, "replicas", objects(partition.members, replica));
          }));
  return json.end_object().text() + "\n";
}

}  // namespace weft::tools
