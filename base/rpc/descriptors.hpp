// The process's open descriptors: how many there may be, and how many of them connections of newcomers may take.
#pragma once

#include <cstddef>

namespace weft::rpc {

/// For main() of a daemon: as many open descriptors as the system's hard limit allows it (a million at most). Children inherit it.
void raise_descriptor_limit();

/// How many open descriptors the process may have now.
std::size_t descriptor_limit();

/// A connection whose descriptor is this number or more is one too many: what is left below the limit (a quarter, 1024 at most) is
/// for the files, map outputs and processes of what runs already. The kernel gives the lowest free number, so a number tells how
/// many are open.
int first_reserved_descriptor();

}  // namespace weft::rpc
