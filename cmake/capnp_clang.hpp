// Clang 16 follows C++20's later rules for rewritten comparisons (P2468), by which Cap'n Proto 0.9 lacks an operator it uses. This
// is included ahead of everything else in what includes generated headers.
#pragma once

#include <kj/string.h>

namespace kj {
inline bool operator==(const char* a, const StringPtr& b) { return StringPtr(a).operator==(b); }
}  // namespace kj
