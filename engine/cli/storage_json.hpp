// The JSON of files and tables of the cluster, as `weft fs` and `weft table` print it. All functions are pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "storage/files/file_system.hpp"
#include "storage/tables/protocol.hpp"

namespace weft::cli {

std::string files_json(const std::vector<storage::FileStatus>& files);
std::string file_report_json(const storage::files::FileReport& all);
std::string tables_json(const std::vector<storage::tables::TableStatus>& tables);
/// With its partitions.
std::string table_json(const storage::tables::TableStatus& table);
/// Those that somebody made, not those of scans and jobs.
std::size_t named_snapshots(const storage::tables::TableStatus& table);

}  // namespace weft::cli
