#include "base/file.hpp"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/named_file.hpp"
#include "base/text.hpp"

namespace weft {

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t limit) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail(errno_error("cannot open " + path.string(), errno));
  std::string content;
  Buffer block(64u << 10);
  while (true) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_error("cannot read " + path.string(), errno));
    if (got == 0) return content;
    content += as_chars(block.view().first(static_cast<std::size_t>(got)));
    if (content.size() > limit) {
      return fail(Code::resource_exhausted, fmt::format("{} is larger than {}", path.string(), human_bytes(limit)));
    }
  }
}

Result<void> write_all(int fd, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(errno_error("cannot write", errno));
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> write_file(const std::filesystem::path& path, std::string_view content) {
  return write_named_file(path.string(), content, IfExists::replace);
}

Result<TempDir> TempDir::create(const std::string& prefix, const std::filesystem::path& parent) {
  const char* environment = std::getenv("TMPDIR");
  const std::filesystem::path fallback = environment != nullptr && *environment != '\0' ? environment : "/tmp";
  std::string name = ((parent.empty() ? fallback : parent) / (prefix + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) return fail(errno_error("cannot create a directory " + name, errno));
  return TempDir(name);
}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

void TempDir::remove() {
  if (path_.empty()) return;
  std::error_code ignored;  // what is left in a temporary directory harms nobody
  std::filesystem::remove_all(path_, ignored);
  path_.clear();
}

}  // namespace weft
