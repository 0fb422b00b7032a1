// Whole files and temporary directories, for settings, logs and small files. Data paths have readers of their own. All functions
// block, and all errors name the path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft {

/// Returns the file's content; resource_exhausted when it is larger than `limit` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t limit = 64u << 20);
/// Writes all of `bytes` at the descriptor's position. After an error, some of them may be written.
Result<void> write_all(int fd, ByteView bytes);
/// Creates or replaces the file, durably and as a whole, by the rules of base/named_file.hpp. After an error
/// the old file is there.
Result<void> write_file(const std::filesystem::path& path, std::string_view content);

/// Owns a new directory (mode 0700) and removes it with everything in it on destruction. It can be moved but not copied.
class TempDir {
 public:
  /// Makes `<parent>/<prefix>XXXXXX`. An empty parent means $TMPDIR, or /tmp.
  static Result<TempDir> create(const std::string& prefix = "weft-", const std::filesystem::path& parent = {});
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir() { remove(); }

  const std::filesystem::path& path() const { return path_; }
  /// Gives up ownership: the directory stays.
  std::filesystem::path release() { return std::exchange(path_, {}); }

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
  void remove();

  std::filesystem::path path_;
};

}  // namespace weft
