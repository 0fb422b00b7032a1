#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "storage/output.hpp"
#include "storage/staged_name.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kBufferBytes = 256u << 10;
// The output is synced before it appears. Writing back starts in pieces of this size while the task still runs, so that the driver
// has little to wait for (256 MiB at once: 0.13 s on a fast local disk).
constexpr std::uint64_t kWriteBackBytes = 8u << 20;

}  // namespace

class OutputFile::Impl {
 public:
  explicit Impl(std::string name) : name_(std::move(name)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  virtual ~Impl() = default;
  virtual Result<void> append(ByteView bytes) = 0;
  virtual Result<void> close() = 0;
  virtual std::string name() const { return name_; }
  std::uint64_t bytes() const { return bytes_; }

 protected:
  std::uint64_t bytes_ = 0;

 private:
  std::string name_;
};

class OutputFile::Remote final : public OutputFile::Impl {
 public:
  Remote(RemoteFiles& remote, std::string path, std::string name)
      : Impl(std::move(name)), remote_(remote), path_(std::move(path)) {}
  Result<void> append(ByteView bytes) override {
    if (bytes.empty()) return {};
    if (!output_) {
      WEFT_ASSIGN(output_, remote_.create(path_));
    }
    bytes_ += bytes.size();
    return output_->append(bytes);
  }
  Result<void> close() override { return output_ ? output_->close() : Result<void>(); }

 private:
  RemoteFiles& remote_;
  const std::string path_;
  std::unique_ptr<RemoteOutput> output_;
};

class OutputFile::Staged final : public OutputFile::Impl {
 public:
  Staged(RemotePublisher& publisher, std::string path, std::string name)
      : Impl(std::move(name)), publisher_(publisher), path_(std::move(path)) {}
  Result<void> append(ByteView bytes) override {
    if (bytes.empty()) return {};
    if (!output_) {
      WEFT_ASSIGN(output_, publisher_.stage(path_));
    }
    bytes_ += bytes.size();
    return output_->append(bytes);
  }
  Result<void> close() override { return output_ ? output_->close() : Result<void>(); }
  std::string name() const override { return staged_name(output_ ? output_->receipt() : std::string(), Impl::name()); }

 private:
  RemotePublisher& publisher_;
  const std::string path_;
  std::unique_ptr<RemoteOutput> output_;
};

class OutputFile::Local final : public OutputFile::Impl {
 public:
  Local(std::string path, std::string name) : Impl(std::move(name)), path_(std::move(path)) {}
  ~Local() override {
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

  Fd fd_;
  std::string path_;
  Buffer buffer_;
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t started_ = 0;  // up to here writing back has begun
};

class OutputFile::Compressed final : public OutputFile::Impl {
 public:
  Compressed(std::unique_ptr<Impl> inner, std::unique_ptr<Compressor> compressor)
      : Impl(inner->name()), inner_(std::move(inner)), compressor_(std::move(compressor)) {}
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
  std::string name() const override { return inner_->name(); }

 private:
  Result<void> flush() {
    block_.clear();
    WEFT_TRY(compressor_->compress(as_bytes(text_), block_));
    text_.clear();
    bytes_ += block_.size();
    return inner_->append(as_bytes(block_));
  }

  const std::unique_ptr<Impl> inner_;
  const std::unique_ptr<Compressor> compressor_;
  std::string text_, block_;
};

OutputFile::OutputFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OutputFile::~OutputFile() = default;

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& work_directory, std::string name, RemoteFiles* remote,
                                                       Compression compression, const std::string& part) {
  const std::string suffix(suffix_of(compression));
  name += suffix;
  std::string path = work_directory + "/" + name;
  std::unique_ptr<Impl> impl;
  if (!is_remote(work_directory))
    impl = std::make_unique<Local>(std::move(path), std::move(name));
  else if (RemotePublisher* const publisher = remote != nullptr ? remote->publisher(work_directory) : nullptr)
    impl = std::make_unique<Staged>(*publisher, work_directory + "/" + part + suffix, std::move(name));
  else if (remote != nullptr)
    impl = std::make_unique<Remote>(*remote, std::move(path), std::move(name));
  else
    return fail(Code::invalid_argument, "output " + path + " is no local file");
  if (auto compressor = make_compressor(compression)) impl = std::make_unique<Compressed>(std::move(impl), std::move(compressor));
  return std::unique_ptr<OutputFile>(new OutputFile(std::move(impl)));
}

Result<void> OutputFile::append(ByteView bytes) { return impl_->append(bytes); }
Result<void> OutputFile::close() { return impl_->close(); }
std::string OutputFile::name() const { return impl_->bytes() == 0 ? std::string() : impl_->name(); }
std::uint64_t OutputFile::bytes() const { return impl_->bytes(); }

}  // namespace weft::storage
