// Queries of clients and people.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/text.hpp"
#include "storage/namespace/namespace_impl.hpp"
#include "storage/namespace/path.hpp"

namespace weft::storage {
namespace {

/// Files below the entry in order of their names, from behind `after` on; false when the visitor had enough.
bool walk(const Entry& entry, const std::string& path, std::span<const std::string_view> after,
          const std::function<bool(const Entry&, const std::string&)>& visit) {
  if (!entry.directory()) return visit(entry, path);
  auto at = after.empty() ? entry.children->begin() : entry.children->lower_bound(after.front());
  for (; at != entry.children->end(); ++at) {
    const bool here = !after.empty() && at->first == after.front();
    if (here && !at->second->directory()) continue;  // the last one visited
    if (!walk(*at->second, joined(path, at->first), here ? after.subspan(1) : std::span<const std::string_view>(), visit))
      return false;
  }
  return true;
}

}  // namespace

/// With the chunks that overlap [from, to).
FileChunks Namespace::Impl::chunks_of(const Entry& entry, std::string path, std::uint64_t from, std::uint64_t to) const {
  FileChunks file{tree.status_of(entry, std::move(path)), {}};
  std::uint64_t begin = 0;
  for (const ChunkId id : entry.chunks) {
    const Chunk& chunk = chunks.at(id);
    if (begin + chunk.info.length > from && begin < to)
      file.chunks.push_back({chunk.info, begin, entry.replication, chunk.nodes, damaged.nodes_of(id)});
    begin += chunk.info.length;
  }
  return file;
}

Result<FileStatus> Namespace::stat(std::string_view path) const {
  WEFT_ASSIGN(const Entry* entry, impl_->tree.existing(path));
  return impl_->tree.status_of(*entry, path_of(*entry));
}

Result<std::vector<FileStatus>> Namespace::list(std::string_view path, std::string_view after, std::size_t limit) const {
  WEFT_ASSIGN(const Entry* entry, impl_->tree.existing(path));
  std::string whole = path_of(*entry);
  std::vector<FileStatus> all;
  if (!entry->directory()) {
    all.push_back(impl_->tree.status_of(*entry, std::move(whole)));
    return all;
  }
  all.reserve(std::min(limit, entry->children->size()));
  for (auto at = entry->children->upper_bound(after); at != entry->children->end() && all.size() < limit; ++at)
    all.push_back(impl_->tree.status_of(*at->second, joined(whole, at->first)));
  return all;
}

Result<FileChunks> Namespace::locate(std::string_view path, std::uint64_t offset, std::uint64_t length) const {
  WEFT_ASSIGN(const Entry* entry, impl_->tree.existing(path));
  if (entry->directory()) return fail(Code::invalid_argument, fmt::format("{} is a directory", escaped(path)));
  return impl_->chunks_of(*entry, path_of(*entry), offset, length > UINT64_MAX - offset ? UINT64_MAX : offset + length);
}

Result<Usage> Namespace::usage(std::string_view path) const {
  WEFT_ASSIGN(Entry * top, impl_->tree.existing(path));
  Usage usage;
  each_below(*top, [&](const Entry& entry) {
    ++(entry.directory() ? usage.directories : usage.files);
    usage.chunks += entry.chunks.size();
    usage.bytes += entry.length;
    usage.stored_bytes += entry.stored();
  });
  return usage;
}

Result<void> Namespace::check(std::string_view path, std::string_view after,
                              const std::function<bool(const FileChunks&)>& visit) const {
  WEFT_ASSIGN(const Entry* top, impl_->tree.existing(path));
  const std::string whole = path_of(*top);
  std::vector<std::string_view> names = names_of(after);
  const std::vector<std::string_view> above = names_of(whole);
  if (names.size() < above.size() || !std::equal(above.begin(), above.end(), names.begin())) {
    if (!after.empty()) return fail(Code::invalid_argument, fmt::format("{} is not below {}", escaped(after), escaped(whole)));
    names.clear();
  } else {
    names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(above.size()));
    if (!after.empty() && !top->directory()) return {};
  }
  walk(*top, whole, names,
       [&](const Entry& entry, const std::string& name) { return visit(impl_->chunks_of(entry, name, 0, UINT64_MAX)); });
  return {};
}

std::vector<UserStatus> Namespace::users() const { return impl_->tree.users(); }

StorageReport Namespace::report() const {
  const Impl& impl = *impl_;
  StorageReport report;
  report.safe_mode = impl.safe_mode.on();
  report.directories = impl.tree.directories();
  report.files = impl.tree.files();
  report.chunks = impl.sealed_chunks;
  for (const auto& [lease, file] : impl.leases.open()) report.open_files += file.directory() ? 0 : 1;
  report.reported_chunks = impl.located_chunks;
  report.missing_chunks = impl.queue.missing();
  report.under_replicated = impl.queue.lacking().size() + impl.queue.blocked().size();
  report.over_replicated = impl.queue.surplus().size();
  report.corrupt_replicas = impl.damaged.replicas();
  report.copies = impl.copies.all().size();
  report.trashed = impl.trashed.size();
  report.balancing = impl.balancing.has_value();
  for (const auto& [id, there] : impl.nodes)
    report.nodes.push_back({id, there.info, there.space, there.chunks.size(), there.draining,
                            there.draining ? impl.to_move(there) : 0, there.reported});
  return report;
}

}  // namespace weft::storage
