// What this machine gives its processes, what it is called, and who runs them.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// Bytes of memory of the machine, or the tightest limit of the control groups above this process when that is less (not less than
/// 32 MiB). What cannot be read limits nothing.
std::uint64_t machine_memory();
/// Its host name; "localhost" when it has none.
std::string machine_name();
/// Who runs this process: the login name of its user id, or the number when there is none.
std::string user_name();

}  // namespace weft
