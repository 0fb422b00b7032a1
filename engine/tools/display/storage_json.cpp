#include "engine/tools/display/storage_json.hpp"

#include <algorithm>

#include "engine/tools/display/json_members.hpp"

namespace weft::tools {

using storage::FileStatus;
using storage::tables::TableStatus;

namespace {

void add_status(JsonWriter& json, const FileStatus& status) {
  json.begin_object().member("path", status.path).member("type", status.directory ? "directory" : "file");
  if (status.directory)
    members(json, "entries", status.entries);
  else
    members(json, "bytes", status.bytes, "replication", status.replication, "chunks", status.chunks, "chunk_bytes",
            status.chunk_bytes);
  members(json, "user", status.user, "modified_ms", status.modified_ms);
  json.end_object();
}

void add_members(JsonWriter& json, const TableStatus& table) {
  json.member("name", table.name).member("partitions", table.partition_count).member("replication", table.replication);
  json.member("bytes", table.bytes).member("snapshots", named_snapshots(table));
  json.member("short_partitions", table.short_partitions).member("down_partitions", table.down_partitions);
}

}  // namespace

std::string files_json(const std::vector<FileStatus>& files) {
  JsonWriter json;
  json.begin_array();
  for (const FileStatus& status : files) add_status(json, status);
  return json.end_array().text() + "\n";
}

std::string file_report_json(const storage::files::FileReport& all) {
  const storage::StorageReport& report = all.storage;
  JsonWriter json;
  json.begin_object();
  members(json, "safe_mode", report.safe_mode, "files", report.files, "directories", report.directories, "chunks", report.chunks,
          "reported_chunks", report.reported_chunks, "missing_chunks", report.missing_chunks, "under_replicated",
          report.under_replicated, "over_replicated", report.over_replicated, "corrupt_replicas", report.corrupt_replicas, "copies",
          report.copies, "open_files", report.open_files, "removed", report.trashed, "balancing", report.balancing);
  json.key("workers").begin_array();
  for (const storage::NodeStorage& node : report.nodes) {
    json.begin_object();
    members(json, "id", node.id.value(), "name", node.node.name, "host", node.node.host, "rack", node.node.rack, "address",
            node.node.address, "used", node.space.used, "free", node.space.free, "chunks", node.chunks, "draining", node.draining,
            "to_move", node.to_move, "reported", node.reported);
    json.end_object();
  }
  json.end_array().key("users").begin_array();
  for (const auto& user : all.users) {
    json.begin_object();
    members(json, "user", user.user, "bytes", user.bytes, "entries", user.entries, "most_bytes", user.quota.bytes, "most_entries",
            user.quota.entries);
    json.end_object();
  }
  return json.end_array().end_object().text() + "\n";
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
  JsonWriter json;
  json.begin_object();
  members(json, "path", file.file.path, "bytes", file.file.bytes, "replication", file.file.replication);
  json.key("chunks").begin_array();
  for (const storage::ChunkPlace& place : file.chunks) {
    json.begin_object();
    members(json, "id", place.info.id.value(), "offset", place.offset, "bytes", place.info.length, "state", chunk_state(place),
            "wanted", place.wanted, "replicas", place.nodes.size());
    array(json, "workers", names_of(place.nodes, nodes));
    array(json, "corrupt_on", names_of(place.corrupt, nodes));
    json.end_object();
  }
  return json.end_array().end_object().text() + "\n";
}

std::string tables_json(const std::vector<TableStatus>& tables) {
  JsonWriter json;
  json.begin_array();
  for (const TableStatus& table : tables) {
    json.begin_object();
    add_members(json, table);
    json.end_object();
  }
  return json.end_array().text() + "\n";
}

std::string table_json(const TableStatus& table) {
  JsonWriter json;
  json.begin_object();
  add_members(json, table);
  json.key("partition_list").begin_array();
  for (const auto& partition : table.partitions) {
    json.begin_object().member("epoch", partition.epoch).member("primary", partition.primary).member("bytes", partition.bytes);
    json.member("fault", partition.fault).key("replicas").begin_array();
    for (const auto& member : partition.members)
      json.begin_object()
          .member("worker", member.name)
          .member("host", member.host)
          .member("rack", member.rack)
          .member("in_sync", member.in_sync)
          .member("there", !member.address.empty())
          .end_object();
    json.end_array().end_object();
  }
  return json.end_array().end_object().text() + "\n";
}

}  // namespace weft::tools
