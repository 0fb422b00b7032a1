// The stores that are not the cluster's: the one place that names all of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/access/remote.hpp"

namespace weft::storage::files {

/// One of each. They connect when they are first used. Any thread.
class ForeignStores {
 public:
  /// `scratch`: the directory for temporary files; empty: $TMPDIR, or /tmp.
  explicit ForeignStores(const std::string& scratch = {});
  /// Null when the path is a local one or of the cluster (is_foreign).
  ForeignFiles* of(std::string_view path) const;

 private:
  std::vector<std::pair<std::string_view, std::shared_ptr<ForeignFiles>>> by_scheme_;
};

}  // namespace weft::storage::files
