// What a user may do with an entry of the tree. Private to storage/namespace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "storage/namespace/tree.hpp"
#include "storage/namespace/types.hpp"

namespace weft::storage {

enum class Right : std::uint8_t { read = 4, write = 2, search = 1 };

/// The rules of POSIX, without groups: the first digit of a mode is the owner's, the last everybody else's. Errors are
/// permission_denied, and name the user, the path, its owner and its mode. What does not exist is refused to nobody: the operation
/// says so.
class Rights {
 public:
  Rights(const Tree& tree, const Actor& actor) : tree_(tree), actor_(actor) {}

  /// All directories above may be searched. The entry, or null when it does not exist.
  Result<Entry*> reach(std::string_view path) const;
  /// The same, and the entry has the right for the user. `what` he wants, for the error: "read".
  Result<Entry*> reach(std::string_view path, Right right, std::string_view what) const;
  /// A name may be added at the path: its directory, or the lowest one that exists, may be written.
  Result<void> add(std::string_view path) const;
  /// The entry may lose its name, and with `all` so may all below it.
  Result<void> take_away(const Entry& entry, bool all, std::string_view what) const;
  /// It is his.
  Result<void> own(const Entry& entry, std::string_view what) const;
  /// All files in and below the entry may be written.
  Result<void> write_all(const Entry& entry, std::string_view what) const;
  bool has(const Entry& entry, Right right) const;

 private:
  Result<void> need(const Entry& entry, Right right, std::string_view path, std::string_view what) const;
  Result<void> take_name(const Entry& entry, std::string_view what) const;
  tl::unexpected<Error> refuse(const Entry& entry, std::string_view path, std::string_view what) const;

  const Tree& tree_;
  const Actor actor_;
};

}  // namespace weft::storage
