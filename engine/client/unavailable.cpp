// What a build without the cluster parts says. Weak, and last in the library: the real ones replace it.
#include "engine/client/session.hpp"

namespace weft::client {

__attribute__((weak)) Result<std::unique_ptr<Session>> open_private_cluster(const RunOptions&) {
  return fail(Code::invalid_argument, "this build has no private clusters; run without --workers");
}
__attribute__((weak)) std::optional<int> internal_role(int, char**, const std::function<std::unique_ptr<runtime::JobProgram>()>&) {
  return std::nullopt;
}

}  // namespace weft::client
