// Whose tables are, and what a user may do with them.
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/tables/catalogue.hpp"

namespace weft::storage::tables {
namespace {

constexpr unsigned kOwnersDigit = 6;  // bits to its right

bool has(const AccessRecord& access, const Actor& actor, TableRight right) {
  if (actor.administrator) return true;
  const bool his = !access.owner.empty() && access.owner == actor.user;
  const std::uint32_t digit = his ? access.mode >> kOwnersDigit : access.mode;
  return (digit & static_cast<std::uint32_t>(right)) != 0;
}

}  // namespace

const AccessRecord& TableCatalogue::access_of(const Table& table) const {
  static const AccessRecord open;
  const auto found = access_.find(table.record.id);
  return found == access_.end() ? open : found->second;
}

Result<void> TableCatalogue::may(const Actor& actor, const std::string& name, TableRight right) const {
  const auto table = find(name);
  if (!table) return {};
  const AccessRecord& access = access_of(**table);
  if (has(access, actor, right)) return {};
  return fail(refusal(actor.user, right == TableRight::read ? "read" : "write", name, access.owner, access.mode));
}

Result<void> TableCatalogue::may_own(const Actor& actor, const std::string& name, std::string_view what) const {
  const auto table = find(name);
  if (!table || actor.administrator) return {};
  const AccessRecord& access = access_of(**table);
  if (!access.owner.empty() && access.owner == actor.user) return {};
  return fail(refusal(actor.user, what, name, access.owner, access.mode));
}

Result<TableStatus> TableCatalogue::describe(const std::string& name, const Actor& actor) const {
  WEFT_ASSIGN(const Table* const table, find(name));
  TableStatus all = status(*table, true);
  const TableKeys& keys = access_of(*table).keys;
  const auto reads = may(actor, name, TableRight::read), writes = may(actor, name, TableRight::write);
  if (reads)
    all.keys.read = keys.read;
  else
    all.read_refusal = reads.error().message();
  if (writes)
    all.keys.write = keys.write;
  else
    all.write_refusal = writes.error().message();
  return all;
}

Result<void> TableCatalogue::set_access(const std::string& name, TableKeys keys,
                                        const std::function<Result<void>(AccessRecord&)>& change) {
  WEFT_ASSIGN(Table* const table, find(name));
  AccessRecord access = access_of(*table);
  WEFT_TRY(change(access));
  access.keys = keys;
  access_[table->record.id] = std::move(access);
  dirty_access_.insert(table->record.id);
  changed(*table);
  return {};
}

Result<void> TableCatalogue::set_mode(const std::string& name, std::uint32_t mode, TableKeys keys) {
  constexpr std::uint32_t kMost = 0777;
  return set_access(name, keys, [&](AccessRecord& access) -> Result<void> {
    if (mode > kMost) return fail(Code::invalid_argument, fmt::format("{:o} is no mode of a table: 0 to {:o}", mode, kMost));
    access.mode = mode;
    return {};
  });
}

Result<void> TableCatalogue::set_owner(const std::string& name, const std::string& user, TableKeys keys) {
  return set_access(name, keys, [&](AccessRecord& access) -> Result<void> {
    if (user.empty()) return fail(Code::invalid_argument, fmt::format("table '{}': name the user who is to own it", escaped(name)));
    access.owner = user;
    return {};
  });
}

bool TableCatalogue::is_named(const std::string& name, SnapshotId id) const {
  const auto table = find(name);
  if (!table) return false;
  for (const SnapshotRecord& snapshot : (*table)->record.snapshots)
    if (snapshot.id == id) return !snapshot.name.empty();
  const auto making = (*table)->making.find(id);
  return making != (*table)->making.end() && !making->second.name.empty();
}

}  // namespace weft::storage::tables
