#include "engine/history/log_follower.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/json_reader.hpp"

namespace weft::history {

namespace {

constexpr std::size_t kPiece = 1u << 20;
constexpr std::size_t kLongestLine = 256u << 20;

}  // namespace

Result<void> LogFollower::read() {
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail(errno_error(fmt::format("cannot read the event log {}", path_), errno));
  std::vector<char> piece(kPiece);
  while (true) {
    const ssize_t size = ::pread(file.get(), piece.data(), piece.size(), static_cast<off_t>(offset_));
    if (size < 0) return fail(errno_error(fmt::format("cannot read the event log {}", path_), errno));
    if (size == 0) return {};
    offset_ += static_cast<std::uint64_t>(size);
    rest_.append(piece.data(), static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string_view line(rest_.data() + begin, end - begin);
      ++lines_;
      if (line.empty()) continue;
      JsonReader json(line, path_, lines_);
      WEFT_ASSIGN(const auto event, master::parse_event_line(json));
      history_.apply(event);
    }
    rest_.erase(0, begin);
    if (rest_.size() > kLongestLine)
      return fail(Code::corrupt, fmt::format("{}: line {} is no line of an event log", path_, lines_ + 1));
  }
}

void LogFollower::go_on_with(std::string path) {
  path_ = std::move(path);
  offset_ = lines_ = 0;
  rest_.clear();
}

Result<History> read_logs(const std::string& path) {
  std::vector<std::string> files;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    for (std::filesystem::directory_iterator entry(path, error), end; entry != end; entry.increment(error))
      if (entry->is_regular_file()) files.push_back(entry->path());
    std::sort(files.begin(), files.end());
    if (files.empty()) return fail(Code::not_found, fmt::format("{} has no event logs", path));
  } else {
    files.push_back(path);
  }
  LogFollower follower("", History());
  for (const std::string& file : files) {
    follower.go_on_with(file);
    WEFT_TRY(follower.read());
  }
  return follower.history();
}

Result<LogFollower> read_job(const std::string& path, std::uint64_t job) {
  LogFollower follower(path, History(job));
  WEFT_TRY(follower.read());
  if (follower.history().job(job) == nullptr) return fail(Code::not_found, fmt::format("{} says nothing of a job {}", path, job));
  return follower;
}

}  // namespace weft::history
