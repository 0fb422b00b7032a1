#include "storage/output_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "storage/compression/compressor.hpp"
#include "storage/staged_name.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kBufferBytes = 256u << 10;
// The output is synced before it appears. Writing back starts in pieces of this size while the task still runs, so that the driver
// has little to wait for (256 MiB at once: 0.13 s on a fast local disk).
constexpr std::uint64_t kWriteBackBytes = 8u << 20;

/// In the cluster or a store elsewhere.
class RemoteOutputFile final : public OutputFile {
 public:
  using Open = std::function<Result<std::unique_ptr<RemoteOutput>>()>;
  /// `staged`: it is staged with a RemotePublisher.
  RemoteOutputFile(Open open, std::string name, bool staged) : open_(std::move(open)), name_(std::move(name)), staged_(staged) {}
  Result<void> append(ByteView bytes) override {
    if (bytes.empty()) return {};
    if (!output_) {
      WEFT_ASSIGN(output_, open_());
    }
    bytes_ += bytes.size();
    return output_->append(bytes);
  }
  Result<void> close() override { return output_ ? output_->close() : Result<void>(); }

 private:
  std::string written_name() const override { return staged_ ? staged_name(output_->receipt(), name_) : name_; }

  const Open open_;
  const std::string name_;
  const bool staged_;
  std::unique_ptr<RemoteOutput> output_;
};

class LocalOutputFile final : public OutputFile {
 public:
  LocalOutputFile(std::string path, std::string name) : path_(std::move(path)), name_(std::move(name)) {}
  ~LocalOutputFile() override {
    if (fd_.valid()) ::unlink(path_.c_str());
  }

  Result<void> append(ByteView bytes) override {
    if (bytes.empty()) return {};
    if (!fd_.valid()) WEFT_TRY(open());
    bytes_ += bytes.size();
    if (used_ + bytes.size() > kBufferBytes) {
      WEFT_TRY(flush());
      if (bytes.size() >= kBufferBytes) return write(bytes);
    }
    std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
    return {};
  }

  Result<void> close() override {
    if (!fd_.valid()) return {};
    WEFT_TRY(flush());
    const int fd = fd_.release();
    if (::close(fd) == 0) return {};
    const int code = errno;
    ::unlink(path_.c_str());
    return fail(errno_error("cannot write " + path_, code));
  }

 private:
  Result<void> open() {
    fd_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd_.valid()) return fail(errno_error("cannot create output " + path_, errno));
    buffer_ = Buffer(kBufferBytes);
    return {};
  }
  Result<void> flush() {
    const std::size_t size = std::exchange(used_, 0);
    return write({buffer_.data(), size});
  }
  Result<void> write(ByteView bytes) {
    if (auto written = write_all(fd_.get(), bytes); !written)
      return fail(std::move(written).error().wrap("writing output " + path_));
    written_ += bytes.size();
    if (written_ - started_ >= kWriteBackBytes) start_write_back();
    return {};
  }
  /// Only a hint: file systems that cannot do it don't, and failures show in the sync.
  void start_write_back() {
    const auto from = static_cast<off_t>(std::exchange(started_, written_));
    ::sync_file_range(fd_.get(), from, static_cast<off_t>(written_) - from, SYNC_FILE_RANGE_WRITE);
  }

  std::string written_name() const override { return name_; }

  Fd fd_;
  const std::string path_, name_;
  Buffer buffer_;
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t started_ = 0;  // up to here writing back has begun
};

class CompressedOutputFile final : public OutputFile {
 public:
  CompressedOutputFile(std::unique_ptr<OutputFile> inner, std::unique_ptr<Compressor> compressor)
      : inner_(std::move(inner)), compressor_(std::move(compressor)) {}
  Result<void> append(ByteView bytes) override {
    while (!bytes.empty()) {
      const std::size_t count = std::min(bytes.size(), compressor_->block_bytes() - text_.size());
      text_.append(as_chars(bytes.first(count)));
      bytes = bytes.subspan(count);
      if (text_.size() == compressor_->block_bytes()) WEFT_TRY(flush());
    }
    return {};
  }
  Result<void> close() override {
    if (!text_.empty() || bytes_ == 0) WEFT_TRY(flush());
    return inner_->close();
  }

 private:
  std::string written_name() const override { return inner_->name(); }
  Result<void> flush() {
    block_.clear();
    WEFT_TRY(compressor_->compress(as_bytes(text_), block_));
    text_.clear();
    bytes_ += block_.size();
    return inner_->append(as_bytes(block_));
  }

  const std::unique_ptr<OutputFile> inner_;
  const std::unique_ptr<Compressor> compressor_;
  std::string text_, block_;
};

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& work_directory, std::string name, RemoteFiles* remote,
                                                       Compression compression, const std::string& part) {
  const std::string suffix(suffix_of(compression));
  name += suffix;
  const std::string path = work_directory + "/" + name;
  std::unique_ptr<OutputFile> file;
  if (!is_remote(work_directory)) {
    file = std::make_unique<LocalOutputFile>(path, std::move(name));
  } else if (remote == nullptr) {
    return fail(Code::invalid_argument, "output " + path + " is no local file");
  } else if (RemotePublisher* const publisher = remote->publisher(work_directory)) {
    const auto stage = [publisher, final_path = work_directory + "/" + part + suffix] { return publisher->stage(final_path); };
    file = std::make_unique<RemoteOutputFile>(stage, std::move(name), true);
  } else {
    file = std::make_unique<RemoteOutputFile>([remote, path] { return remote->create(path); }, std::move(name), false);
  }
  if (auto compressor = make_compressor(compression))
    file = std::make_unique<CompressedOutputFile>(std::move(file), std::move(compressor));
  return file;
}

}  // namespace weft::storage
