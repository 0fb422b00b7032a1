// The memory and processors of this machine, its name, and the user of this process.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace weft {

/// Returns the bytes of memory of the machine, or the tightest limit of this process's control groups when that is less (but at
/// least 32 MiB). A limit that cannot be read is ignored.
std::uint64_t machine_memory();
/// Returns the processors that this process may use: those it is bound to, or the tightest limit of its control groups when that is
/// less. More than 0.
double machine_processors();
/// Returns the host name, or "localhost" when there is none.
std::string machine_name();
/// Returns the login name of this process's user id, or the number when the user has no name.
std::string user_name();
/// The same of any user id of this machine.
std::string user_name(uid_t user);

}  // namespace weft
