// What becomes of records that cannot be read.
#pragma once

#include <string_view>

namespace weft::detail {

/// Counts one in the running task. `reason` says why, and may contain some of the record.
void bad_row(std::string_view reason);

}  // namespace weft::detail
