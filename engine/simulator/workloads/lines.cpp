#include "engine/simulator/workloads/lines.hpp"

#include <cerrno>
#include <cmath>

#include <fmt/core.h>
#include <zlib.h>

#include "base/text.hpp"

namespace weft::simulator::workloads {

namespace {

constexpr std::size_t kChunk = 256u << 10;

}  // namespace

struct Lines::Stream {
  gzFile file = nullptr;  // reads plain files as they are
  bool ended = false;

  explicit Stream(gzFile opened) : file(opened) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { gzclose_r(file); }
};

Lines::Lines(std::string path, std::size_t longest, std::unique_ptr<Stream> stream)
    : path_(std::move(path)), longest_(longest), stream_(std::move(stream)) {}
Lines::Lines(Lines&&) noexcept = default;
Lines& Lines::operator=(Lines&&) noexcept = default;
Lines::~Lines() = default;

Result<Lines> Lines::open(const std::string& path, std::size_t longest) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return fail(errno_error("cannot read " + path, errno));
  gzbuffer(file, kChunk);
  return Lines(path, longest, std::make_unique<Stream>(file));
}

/// Appends a chunk to the buffer; false at the end of the file.
Result<bool> Lines::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + kChunk);
  errno = 0;
  const int read = gzread(stream_->file, buffer_.data() + had, kChunk);
  const int system_error = errno;
  buffer_.resize(had + static_cast<std::size_t>(std::max(read, 0)));
  int code = Z_OK;
  const char* message = gzerror(stream_->file, &code);
  if (code == Z_ERRNO) return fail(errno_error("cannot read " + path_, system_error));
  if (code == Z_BUF_ERROR) return fail(error("the compressed file ends too early: fetch it again"));
  if (code != Z_OK && code != Z_STREAM_END) {
    return fail(error(fmt::format("the compressed file is damaged ({}): fetch it again", message)));
  }
  return read > 0;
}

Result<bool> Lines::next() {
  std::size_t end = buffer_.find('\n', begin_);
  while (end == std::string::npos && !stream_->ended) {
    if (buffer_.size() - begin_ > longest_) return fail(error(fmt::format("a line longer than {}", human_bytes(longest_))));
    const std::size_t searched = buffer_.size() - begin_;
    WEFT_ASSIGN(const bool more, fill());
    stream_->ended = !more;
    end = buffer_.find('\n', searched);
  }
  if (end == std::string::npos) {
    if (begin_ == buffer_.size()) return false;
    end = buffer_.size();
  }
  line_ = std::string_view(buffer_).substr(begin_, end - begin_);
  begin_ = std::min(end + 1, buffer_.size());
  if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
  ++number_;
  if (line_.size() > longest_) return fail(error(fmt::format("a line longer than {}", human_bytes(longest_))));
  if (line_.find('\0') != std::string_view::npos) return fail(error("not a text file: it holds zero bytes"));
  return true;
}

Error Lines::error(std::string_view reason) const {
  return Error(Code::corrupt, fmt::format("{}:{}: {}", path_, std::max<std::uint64_t>(number_, 1), reason));
}

Result<std::uint64_t> whole(const Lines& lines, std::string_view field, std::string_view what, std::uint64_t largest,
                            std::uint64_t smallest) {
  const auto value = parse_number<std::uint64_t>(field);
  if (value && *value >= smallest && *value <= largest) return *value;
  return fail(lines.error(
      fmt::format("{} must be a whole number from {} to {}, not '{}'", what, smallest, largest, escaped(field.substr(0, 40)))));
}

Result<double> real(const Lines& lines, std::string_view field, std::string_view what, double largest) {
  const auto value = parse_number<double>(field);
  if (value && *value >= 0 && *value <= largest) return *value;
  return fail(lines.error(fmt::format("{} must be a number from 0 to {}, not '{}'", what, largest, escaped(field.substr(0, 40)))));
}

Result<Time> seconds(const Lines& lines, std::string_view field, std::string_view what) {
  WEFT_ASSIGN(const double value, real(lines, field, what, kMaxSeconds));
  return to_time(value);
}

Time to_time(double seconds) { return Time(std::llround(seconds * 1e9)); }

Result<void> add_job(Workload& workload, JobSpec job, const Lines& lines) {
  if (workload.jobs.size() == kMaxJobs) return fail(lines.error(fmt::format("more than {} jobs", kMaxJobs)));
  workload.jobs.push_back(std::move(job));
  return {};
}

}  // namespace weft::simulator::workloads
