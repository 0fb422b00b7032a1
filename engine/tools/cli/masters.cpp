// weft masters
#include "engine/client/admin.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/display/master_text.hpp"
#include "engine/tools/display/standard_output.hpp"

namespace weft::tools {

namespace {

struct MastersOptions {
  MasterOption master;
  bool json = false;
};

Result<void> masters(const MastersOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto list, admin->masters());
  return print(options.json ? masters_json(list) : masters_table(list));
}

}  // namespace

void add_masters(CLI::App& app, Action& action) {
  Command<MastersOptions>(app, action, "masters", "The cluster's masters: which one leads, and which can take over", masters)
      .master()
      .json();
}

}  // namespace weft::tools
