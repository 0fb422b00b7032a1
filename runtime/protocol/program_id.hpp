// The identity of a job's program where programs are kept: by masters, by those that stand by, and by workers.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace weft::runtime::protocol {

/// A program is kept for the user whose jobs run it. The hash of its content alone is no identity: it resists no adversary, and
/// whoever knows a program can make another one with the same hash.
struct ProgramId {
  Hash128 hash{};
  std::string user{};  // the owner of its jobs; empty: of jobs without one
  friend auto operator<=>(const ProgramId&, const ProgramId&) = default;
};

/// The most bytes that the name of a user takes in the name of a file.
inline constexpr std::size_t kMostUserInFileName = 200;

/// Returns the name of the program's file: the hash, and of a program with a user "-" and the user, where every byte but ASCII
/// letters, digits, "_" and "-" is "%XX". Different programs have different names, which have neither dots nor slashes. Of a user
/// that is not is_nameable() the name may be longer than file systems take: then each call with it fails there.
std::string file_name(const ProgramId& program);
/// What file_name() gives; nothing for anything else.
std::optional<ProgramId> parse_program(std::string_view file_name);
/// Returns whether programs of that user can be kept: the user's name takes at most kMostUserInFileName bytes.
bool is_nameable(std::string_view user);

}  // namespace weft::runtime::protocol
