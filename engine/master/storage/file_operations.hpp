// The operations of clients on the files of a cluster, carried out on its namespace: one function per operation of
// storage/files/protocol.hpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "engine/master/storage/audited.hpp"
#include "engine/master/storage/caller.hpp"
#include "storage/files/protocol.hpp"
#include "storage/namespace/namespace.hpp"

namespace weft::master {

/// The other part of draining a worker: its partitions of tables.
struct DrainedTables {
  std::function<void(const std::string& worker, bool on)> drain;
  std::function<std::size_t(const std::string& worker)> replicas_on;
};

/// permission_denied: the caller may not do that. On the thread of the namespace.
Result<void> may(const Caller& caller, const storage::files::FileRequest& request, const storage::Namespace& tree);

/// What the audit log has of it; asked before it is applied. On the thread of the namespace.
Audited audited(const storage::files::FileRequest& request, const storage::Namespace& tree);

/// Whoever the request says that he is, what it makes belongs to this user.
void set_owner(storage::files::FileRequest& request, const std::string& user);

/// What operations work on.
struct FilesAndTables {
  storage::Namespace& tree;
  const DrainedTables& tables;
  const storage::WriteSecret& secret;  // of which keys to write chunks are made
};

/// Applied, or refused with a reason; a refusal changes nothing. Changes must be durable before any answer shows them. Only `check`
/// looks at the caller here, who does not see the files below a directory that he may not read. On the thread of the namespace.
Result<storage::files::FileReply> apply(const Caller& caller, const storage::files::FileRequest& request, const FilesAndTables& of);

}  // namespace weft::master
