// Which failures of a peer may pass: one answer for clients of the cluster, of S3 services and of HDFS.
#pragma once

#include "base/result.hpp"

namespace weft::storage {

/// Whether the other side is away or busy: another try, there or elsewhere, may succeed.
inline bool is_transient(const Error& error) {
  return error.code() == Code::unavailable || error.code() == Code::deadline_exceeded || error.code() == Code::cancelled;
}

}  // namespace weft::storage
