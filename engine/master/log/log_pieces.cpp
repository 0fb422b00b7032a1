#include "engine/master/log/log_pieces.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft::master {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 6;
constexpr std::string_view kCompressed = ".zst";

struct Named {
  std::string log;
  std::uint32_t number = 0;
  bool compressed = false;
};

/// The parts of a file's name, if that is the name of a rotated piece.
std::optional<Named> parse_name(std::string_view name) {
  Named named;
  named.compressed = name.ends_with(kCompressed);
  if (named.compressed) name.remove_suffix(kCompressed.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  const std::string_view digits = name.substr(dot + 1);
  if (digits.size() < kDigits || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const auto number = parse_number<std::uint32_t>(digits);
  if (!number || *number == 0) return std::nullopt;
  named.log = name.substr(0, dot);
  named.number = *number;
  return named;
}

/// Other files beside logs: indexes, and files that a process left unfinished when it died.
bool is_other(std::string_view name) { return name.ends_with(".index") || name.ends_with(".new") || name.starts_with("."); }

/// The rotated pieces in a directory, by log and number, and the names of all other files.
struct Listing {
  std::map<std::string, std::map<std::uint32_t, LogPiece>> rotated;
  std::set<std::string> files;
};

Result<Listing> list(const fs::path& directory) {
  Listing listing;
  std::error_code error;
  for (fs::directory_iterator entry(directory.empty() ? "." : directory, error), end; entry != end; entry.increment(error)) {
    if (error) break;
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    const std::string name = entry->path().filename();
    const auto named = parse_name(name);
    if (!named) {
      listing.files.insert(name);
      continue;
    }
    LogPiece& piece = listing.rotated[named->log][named->number];
    if (piece.compressed) continue;
    piece = {directory / name, rotated_name(named->log, named->number), named->number, false, named->compressed};
  }
  if (error) return fail(Code::unavailable, fmt::format("cannot list {}: {}", directory.string(), error.message()));
  return listing;
}

void add_pieces(const Listing& listing, const fs::path& directory, const std::string& log, bool live,
                std::vector<LogPiece>& pieces) {
  std::uint32_t next = 1;
  if (const auto found = listing.rotated.find(log); found != listing.rotated.end())
    for (const auto& [number, piece] : found->second) {
      pieces.push_back(piece);
      next = number + 1;
    }
  if (live) pieces.push_back({directory / log, rotated_name(log, next), next, true, false});
}

}  // namespace

std::string rotated_name(const std::string& log, std::uint32_t number) { return fmt::format("{}.{:06}", log, number); }

Result<std::vector<LogPiece>> pieces_of(const std::string& log) {
  std::error_code ignored;
  fs::path path(log);
  if (fs::is_symlink(path, ignored)) path = fs::weakly_canonical(path, ignored);  // beside the log itself
  WEFT_ASSIGN(const Listing listing, list(path.parent_path()));
  std::vector<LogPiece> pieces;
  add_pieces(listing, path.parent_path(), path.filename(), fs::exists(path, ignored), pieces);
  if (pieces.empty()) return fail(Code::not_found, fmt::format("there is no event log {}", log));
  return pieces;
}

Result<std::vector<LogPiece>> pieces_in(const std::string& directory) {
  WEFT_ASSIGN(const Listing listing, list(directory));
  std::map<std::string, bool> logs;  // whether they are written
  for (const auto& [log, pieces] : listing.rotated) logs[log] = false;
  for (const std::string& file : listing.files)
    if (!is_other(file)) logs[file] = true;
  std::vector<LogPiece> pieces;
  for (const auto& [log, live] : logs) add_pieces(listing, directory, log, live, pieces);
  if (pieces.empty()) return fail(Code::not_found, fmt::format("{} has no event logs", directory));
  return pieces;
}

Result<std::vector<LogPiece>> all_pieces(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? pieces_in(path) : pieces_of(path);
}

}  // namespace weft::master
