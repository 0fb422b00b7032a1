// Whole files and temporary directories. Data paths have readers of their own; this is for settings, logs and small files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft {

/// The file's content; resource_exhausted when it is larger than `limit`. Errors name the path.
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t limit = 64u << 20);
/// Writes all of `bytes` at the descriptor's position.
Result<void> write_all(int fd, ByteView bytes);
/// Creates or replaces the file atomically (temporary name beside it, sync, rename).
Result<void> write_file(const std::filesystem::path& path, std::string_view content);

/// A fresh directory (mode 0700), removed with everything in it on destruction. Move-only.
class TempDir {
 public:
  /// `<parent>/<prefix>XXXXXX`; the default parent is $TMPDIR or /tmp.
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
