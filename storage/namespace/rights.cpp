#include "storage/namespace/rights.hpp"

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/namespace/namespace_impl.hpp"
#include "storage/namespace/path.hpp"

namespace weft::storage {

bool Rights::has(const Entry& entry, Right right) const {
  if (actor_.administrator) return true;
  const unsigned mode = tree_.mode_of(entry);
  const unsigned digit = entry.account->name == actor_.user ? mode >> 6 : mode;
  return (digit & static_cast<unsigned>(right)) != 0;
}

tl::unexpected<Error> Rights::refuse(const Entry& entry, std::string_view path, std::string_view what) const {
  return fail(Code::permission_denied,
              fmt::format("{} may not {} {}: {} belongs to {} and has mode {:o} (weft fs chmod)", escaped(actor_.user), what,
                          escaped(path), escaped(path_of(entry)), escaped(entry.account->name), tree_.mode_of(entry)));
}

Result<void> Rights::need(const Entry& entry, Right right, std::string_view path, std::string_view what) const {
  if (has(entry, right)) return {};
  return refuse(entry, path, what);
}

Result<Entry*> Rights::reach(std::string_view written) const {
  WEFT_ASSIGN(const std::string path, parse_path(written));
  Entry* at = &tree_.root();
  for (const std::string_view name : names_of(path)) {
    if (!at->directory()) return nullptr;
    WEFT_TRY(need(*at, Right::search, path, "reach"));
    const auto child = at->children->find(name);
    if (child == at->children->end()) return nullptr;
    at = child->second.get();
  }
  return at;
}

Result<Entry*> Rights::reach(std::string_view written, Right right, std::string_view what) const {
  WEFT_ASSIGN(Entry * entry, reach(written));
  if (entry != nullptr) WEFT_TRY(need(*entry, right, path_of(*entry), what));
  return entry;
}

Result<void> Rights::add(std::string_view written) const {
  WEFT_ASSIGN(const std::string path, parse_path(written));
  WEFT_ASSIGN(const Entry* there, reach(path));
  if (there != nullptr) return {};
  const Entry* at = &tree_.root();
  for (const std::string_view name : names_of(path)) {
    if (!at->directory()) return {};
    const auto child = at->children->find(name);
    if (child == at->children->end()) break;
    at = child->second.get();
  }
  return need(*at, Right::write, path, "make");
}

/// In a directory with the sticky bit, such as the root, only the owner of a name or of the directory takes it away.
Result<void> Rights::take_name(const Entry& entry, std::string_view what) const {
  if (entry.parent == nullptr || actor_.administrator) return {};
  const std::string path = path_of(entry);
  WEFT_TRY(need(*entry.parent, Right::write, path, what));
  WEFT_TRY(need(*entry.parent, Right::search, path, what));
  const bool sticky = (tree_.mode_of(*entry.parent) & kStickyMode) != 0;
  if (!sticky || entry.account->name == actor_.user || entry.parent->account->name == actor_.user) return {};
  return refuse(entry, path, what);
}

Result<void> Rights::take_away(const Entry& entry, bool all, std::string_view what) const {
  WEFT_TRY(take_name(entry, what));
  if (!all || !entry.directory()) return {};
  for (const auto& [name, child] : *entry.children) WEFT_TRY(take_away(*child, true, what));
  return {};
}

Result<void> Rights::own(const Entry& entry, std::string_view what) const {
  if (actor_.administrator || entry.account->name == actor_.user) return {};
  return refuse(entry, path_of(entry), what);
}

Result<void> Rights::write_all(const Entry& entry, std::string_view what) const {
  if (!entry.directory()) return need(entry, Right::write, path_of(entry), what);
  for (const auto& [name, child] : *entry.children) WEFT_TRY(write_all(*child, what));
  return {};
}

Result<void> Namespace::may_reach(const Actor& actor, std::string_view path) const {
  return Rights(impl_->tree, actor).reach(path).map([](const Entry*) {});
}

Result<void> Namespace::may_read(const Actor& actor, std::string_view path) const {
  return Rights(impl_->tree, actor).reach(path, Right::read, "read").map([](const Entry*) {});
}

Result<void> Namespace::may_make(const Actor& actor, std::string_view path) const { return Rights(impl_->tree, actor).add(path); }

Result<void> Namespace::may_replace(const Actor& actor, std::string_view path) const {
  const Rights rights(impl_->tree, actor);
  WEFT_TRY(rights.reach(path, Right::write, "replace"));
  return rights.add(path);
}

Result<void> Namespace::may_remove(const Actor& actor, std::string_view path) const {
  const Rights rights(impl_->tree, actor);
  WEFT_ASSIGN(const Entry* entry, rights.reach(path));
  return entry == nullptr ? Result<void>() : rights.take_away(*entry, true, "remove");
}

Result<void> Namespace::may_rename(const Actor& actor, std::string_view from, std::string_view to) const {
  const Rights rights(impl_->tree, actor);
  WEFT_ASSIGN(const Entry* entry, rights.reach(from));
  if (entry != nullptr) WEFT_TRY(rights.take_away(*entry, false, "rename"));
  WEFT_ASSIGN(const Entry* there, rights.reach(to));
  if (there == nullptr) return rights.add(to);
  return there == entry ? Result<void>() : rights.take_away(*there, true, "replace");
}

Result<void> Namespace::may_write(const Actor& actor, std::string_view path) const {
  const Rights rights(impl_->tree, actor);
  WEFT_ASSIGN(const Entry* entry, rights.reach(path));
  return entry == nullptr ? Result<void>() : rights.write_all(*entry, "change");
}

Result<void> Namespace::may_own(const Actor& actor, std::string_view path, bool recursive) const {
  const Rights rights(impl_->tree, actor);
  WEFT_ASSIGN(Entry * entry, rights.reach(path));
  if (entry == nullptr) return {};
  Result<void> may;
  const auto look = [&](const Entry& one) {
    if (may) may = rights.own(one, "change the mode of");
  };
  if (recursive)
    each_below(*entry, look);
  else
    look(*entry);
  return may;
}

/// A lease that is over is nobody's: the operation says so.
Result<void> Namespace::may_use(const Actor& actor, LeaseId lease) const {
  const auto found = impl_->leases.find(lease);
  if (!found || actor.administrator || (*found)->account->name == actor.user) return {};
  return fail(Code::permission_denied, fmt::format("{} may not write {}: {} writes it", escaped(actor.user),
                                                   escaped((*found)->path), escaped((*found)->account->name)));
}

Result<void> Namespace::may_complete(const Actor& actor, LeaseId lease) const {
  WEFT_TRY(may_use(actor, lease));
  const auto found = impl_->leases.find(lease);
  return found ? may_replace(actor, (*found)->path) : Result<void>();
}

bool Namespace::reads(const Actor& actor, std::string_view path) const { return may_read(actor, path).has_value(); }

Result<void> Namespace::set_mode(std::string_view path, std::uint32_t mode, bool recursive) {
  WEFT_ASSIGN(Entry * top, impl_->tree.existing(path));
  if (mode > kMostMode) return fail(Code::invalid_argument, fmt::format("{:o} is no mode: 0 to {:o}", mode, kMostMode));
  const auto set = [&](Entry& entry) { impl_->tree.set_mode(entry, mode); };
  if (recursive)
    each_below(*top, set);
  else
    set(*top);
  return {};
}

Result<void> Namespace::set_owner(std::string_view path, std::string_view user, bool recursive) {
  WEFT_ASSIGN(Entry * top, impl_->tree.existing(path));
  if (user.empty()) return fail(Code::invalid_argument, fmt::format("{}: name the user who is to own it", escaped(path)));
  if (top == &impl_->tree.root())
    return fail(Code::invalid_argument, "the root directory belongs to the cluster; name what is in it");
  std::size_t entries = 0;
  if (recursive) each_below(*top, [&](const Entry&) { ++entries; });
  WEFT_ASSIGN(Account * account, impl_->tree.owner(user, path, std::max<std::size_t>(entries, 1)));
  const auto set = [&](Entry& entry) { impl_->tree.set_owner(entry, *account); };
  if (recursive)
    each_below(*top, set);
  else
    set(*top);
  return {};
}

}  // namespace weft::storage
