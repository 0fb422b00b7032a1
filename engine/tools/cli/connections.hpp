// Connections of commands to the master that they ask.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "engine/client/admin.hpp"
#include "engine/tools/cli/options.hpp"
#include "storage/tables/table_client.hpp"

namespace weft::tools {

// Each waits as the option says, and reports that on standard error.

/// On standard error, in red where that is a terminal: the master takes anybody's orders.
void tell_insecure();
/// `user`: AdminOptions::user.
Result<std::unique_ptr<client::Admin>> admin_at(const MasterOption& master, std::optional<std::string> user = {});
Result<std::shared_ptr<storage::tables::TableClient>> tables_at(const MasterOption& master);
/// Reports on standard error what a call waits for.
void tell_waiting(const std::string& what);

}  // namespace weft::tools
