#include "engine/tools/cli/connections.hpp"

#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "base/print_error.hpp"

namespace weft::tools {

void tell_waiting(const std::string& what) { print_error("weft: {} (--patience)\n", what); }

void tell_insecure() {
  const bool colours = ::isatty(STDERR_FILENO) == 1;
  print_error("{}weft: this cluster is insecure: whoever reaches it can run programs (--insecure){}\n", colours ? "\033[1;31m" : "",
              colours ? "\033[0m" : "");
}

Result<std::unique_ptr<client::Admin>> admin_at(const MasterOption& master, std::optional<std::string> user) {
  return client::Admin::connect(master.address, {master.patience, master.at_first, tell_waiting, std::move(user)});
}

Result<std::shared_ptr<storage::tables::TableClient>> tables_at(const MasterOption& master) {
  storage::tables::TableClientOptions options;
  options.patience = master.patience;
  options.at_first = master.at_first;
  options.waiting = tell_waiting;
  return storage::tables::TableClient::connect(master.address, std::move(options));
}

}  // namespace weft::tools
