// Everything durable of a namespace as text: equal texts mean equal namespaces.
#include <functional>
#include <string>

#include <fmt/format.h>

#include "storage/namespace/namespace_impl.hpp"
#include "storage/namespace/path.hpp"

namespace weft::storage {

std::string describe(const Namespace& ns) {
  const Namespace::Impl& impl = *ns.impl_;
  const auto& chunks = impl.chunks;
  std::string text;
  const auto tell = [&](const Entry& top, const std::string& name) {
    const std::function<void(const Entry&, const std::string&)> each = [&](const Entry& entry, const std::string& path) {
      text += fmt::format("{} #{} {} {} {:o} r{} c{} t{}", path, entry.id.value(), entry.directory() ? "dir" : "file",
                          entry.account->name, impl.tree.mode_of(entry), entry.replication, entry.chunk_bytes, entry.modified_ms);
      for (const ChunkId id : entry.chunks) {
        const ChunkInfo& info = chunks.at(id).info;
        text += fmt::format(" {}:{}:{:x}", id.value(), info.length, info.digest);
      }
      text += '\n';
      if (entry.directory())
        for (const auto& [child_name, child] : *entry.children) each(*child, joined(path, child_name));
    };
    each(top, name);
  };
  tell(impl.tree.root(), "/");
  for (const auto& [id, item] : impl.trashed) tell(*item.entry, "(removed)");
  for (const auto& [lease, file] : impl.leases.open()) {
    text += fmt::format("writing {} {} {} r{} c{} o{} pending {}", lease.value(), file.path, file.account->name,
                        file.options.replication, file.options.chunk_bytes, file.options.overwrite, file.pending.value());
    for (const ChunkId id : file.chunks)
      text += fmt::format(" {}:{}:{:x}", id.value(), chunks.at(id).info.length, chunks.at(id).info.digest);
    text += '\n';
  }
  for (const auto& [name, account] : impl.tree.accounts())
    if (account->worth_telling())
      text += fmt::format("user {} {} of {} bytes, {} of {} entries\n", name, account->bytes, account->quota.bytes,
                          account->entries, account->quota.entries);
  for (const std::string& name : impl.nodes.draining()) text += fmt::format("draining {}\n", name);
  const Ids::Record& ids = impl.ids.record();
  return text + fmt::format("next entry {} lease {} node {}, {} directories {} files\n", ids.next_entry, ids.next_lease,
                            ids.next_node, impl.tree.directories(), impl.tree.files());
}

}  // namespace weft::storage
