// The JSON of files and tables of the cluster, as `weft fs` and `weft table` print it. All functions are pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "storage/files/file_system.hpp"
#include "storage/tables/protocol.hpp"

namespace weft::tools {

std::string files_json(const std::vector<storage::FileStatus>& files);
std::string file_report_json(const storage::files::FileReport& all);
/// A file with its chunks and the workers that have them, by name.
std::string file_chunks_json(const storage::FileChunks& file, const std::vector<storage::NodeSite>& nodes);
/// "healthy", "under-replicated", "corrupt": a replica is damaged, "damaged": all are, "missing".
const char* chunk_state(const storage::ChunkPlace& place);
/// The names of these workers, in their order.
std::vector<std::string> names_of(const std::vector<NodeId>& ids, const std::vector<storage::NodeSite>& nodes);
std::string tables_json(const std::vector<storage::tables::TableStatus>& tables);
/// With its partitions.
std::string table_json(const storage::tables::TableStatus& table);
/// Those that users made, not those of scans and jobs.
std::size_t named_snapshots(const storage::tables::TableStatus& table);

}  // namespace weft::tools
