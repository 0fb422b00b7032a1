// The operations of clients on the files of a cluster, carried out on its namespace: one function per operation of
// storage/files/protocol.hpp.
#pragma once

#include <functional>
#include <string>

#include "storage/files/protocol.hpp"
#include "storage/namespace/namespace.hpp"

namespace weft::master {

/// The other part of draining a worker: its partitions of tables.
struct DrainedTables {
  std::function<void(const std::string& worker, bool on)> drain;
  std::function<std::size_t(const std::string& worker)> replicas_on;
};

/// Whoever the request says that he is, what it makes belongs to this user.
void set_owner(storage::files::FileRequest& request, const std::string& user);

/// Applied, or refused with a reason; a refusal changes nothing. Changes must be durable before any answer shows them. On the
/// thread of the namespace.
Result<storage::files::FileReply> apply(const storage::files::FileRequest& request, storage::Namespace& tree,
                                        const DrainedTables& tables);

}  // namespace weft::master
