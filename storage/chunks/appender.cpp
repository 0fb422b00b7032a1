#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/uio.h>
#include <unistd.h>

#include "storage/chunks/store_impl.hpp"

namespace weft::storage {
namespace {

// Writing back starts in pieces of this size while the chunk still grows, so that the seal has little to wait for.
constexpr std::uint64_t kWriteBackBytes = 8u << 20;
// Written in one call where possible: the largest page that the processor maps.
constexpr std::uint64_t kGatherBytes = 2u << 20;
constexpr std::size_t kMostGathered = 16;

class Appender final : public ChunkAppender {
 public:
  Appender(std::shared_ptr<ChunkStore::Impl> store, std::uint32_t slot, ChunkId id, Fd fd, std::uint64_t expected_length)
      : store_(std::move(store)), slot_(slot), id_(id), fd_(std::move(fd)), reserved_(expected_length) {}
  ~Appender() override { abandon(); }

  Result<void> append(ByteView bytes, std::shared_ptr<const void> owner) override {
    WEFT_TRY(writable());
    auto added = add(bytes, std::move(owner));
    // The checksums may have what the file has not: sealed now, it would pass for whole.
    if (!added) failure_ = added.error();
    return added;
  }

  std::uint64_t length() const override { return checksums_.length(); }

  Result<ChunkInfo> seal(const std::optional<ChunkInfo>& expected) override {
    if (auto usable = writable(); !usable) {
      abandon();
      return fail(std::move(usable).error());
    }
    const auto checksums = checksums_.finish();
    const ChunkInfo info{id_, length(), digest_of(checksums)};
    auto sealed = seal_as(info, checksums, expected);
    if (!sealed) {
      abandon();
      return fail(std::move(sealed).error());
    }
    fd_.reset();
    use_reservation(reserved_);
    store_->sealed(slot_, info);
    return info;
  }

 private:
  Result<void> writable() const {
    if (failure_) return fail(*failure_);
    if (!fd_.valid()) return fail(Code::invalid_argument, to_string(id_) + " is no longer being written");
    return {};
  }

  struct Gathered {
    ByteView bytes;
    std::shared_ptr<const void> owner;
  };

  Result<void> add(ByteView bytes, std::shared_ptr<const void> owner) {
    if (bytes.size() > kLargestChunkBytes - length())
      return fail(Code::resource_exhausted, to_string(id_) + " would be longer than chunks may be");
    WEFT_TRY(store_->check_room(slot_, bytes.size()));
    checksums_.add(bytes);  // before the kernel's copy: they are in the cache then
    use_reservation(bytes.size());
    const bool kept = owner != nullptr;
    gathered_.push_back({bytes, std::move(owner)});
    gathered_bytes_ += bytes.size();
    if (!kept || gathered_bytes_ >= kGatherBytes || gathered_.size() == kMostGathered) WEFT_TRY(write_gathered());
    if (written_ - started_ >= kWriteBackBytes) start_write_back();
    return {};
  }

  Result<void> seal_as(const ChunkInfo& info, const std::vector<std::uint32_t>& checksums,
                       const std::optional<ChunkInfo>& expected) {
    if (expected && *expected != info)
      return fail(Code::corrupt, fmt::format("{} is not what its writer sent: {} bytes with digest {:08x}, not {} with {:08x}",
                                             to_string(id_), info.length, info.digest, expected->length, expected->digest));
    Directory& directory = store_->directory(slot_);
    const Buffer trailer = encode_trailer(info, directory.cluster(), checksums);
    gathered_.push_back({trailer.view(), nullptr});
    gathered_bytes_ += trailer.size();
    WEFT_TRY(write_gathered());
    if (::fsync(fd_.get()) != 0) return fail(failed("cannot sync", errno));
    if (const auto refused = directory.publish(info)) return fail(store_->write_failed(slot_, refused->what, refused->error));
    return {};
  }

  Result<void> write_gathered() {
    std::array<iovec, kMostGathered + 1> pieces;
    std::size_t count = 0;
    for (const Gathered& next : gathered_) pieces[count++] = {const_cast<std::byte*>(next.bytes.data()), next.bytes.size()};
    std::size_t first = 0;
    while (gathered_bytes_ != 0) {
      const ssize_t put = ::writev(fd_.get(), &pieces[first], static_cast<int>(count - first));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return fail(failed("cannot write", errno));
      written_ += static_cast<std::uint64_t>(put);
      gathered_bytes_ -= static_cast<std::uint64_t>(put);
      auto left = static_cast<std::size_t>(put);
      while (first < count && left >= pieces[first].iov_len) left -= pieces[first++].iov_len;
      if (first < count) pieces[first] = {static_cast<std::byte*>(pieces[first].iov_base) + left, pieces[first].iov_len - left};
    }
    gathered_.clear();
    return {};
  }

  /// Only a hint: file systems that cannot do it don't, and failures show in the sync.
  void start_write_back() {
    const auto from = static_cast<off_t>(std::exchange(started_, written_));
    ::sync_file_range(fd_.get(), from, static_cast<off_t>(written_) - from, SYNC_FILE_RANGE_WRITE);
  }

  Error failed(const char* what, int error) {
    return store_->write_failed(slot_, fmt::format("{} {}", what, store_->directory(slot_).unsealed_path(id_).string()), error);
  }

  void use_reservation(std::uint64_t bytes) {
    const std::uint64_t used = std::min(reserved_, bytes);
    reserved_ -= used;
    if (used != 0) store_->written(slot_, used);
  }

  void abandon() {
    if (!fd_.valid()) return;
    ::unlink(store_->directory(slot_).unsealed_path(id_).c_str());
    fd_.reset();
    use_reservation(reserved_);
    store_->given_up(id_);
  }

  const std::shared_ptr<ChunkStore::Impl> store_;
  const std::uint32_t slot_;
  const ChunkId id_;
  Fd fd_;                         // invalid once sealed or abandoned
  std::optional<Error> failure_;  // of the append after which the chunk can only be abandoned
  PageChecksums checksums_;
  std::vector<Gathered> gathered_;  // appended, not yet written
  std::uint64_t gathered_bytes_ = 0;
  std::uint64_t reserved_;     // of the room announced, not yet written
  std::uint64_t written_ = 0;  // to the file
  std::uint64_t started_ = 0;  // up to here writing back has begun
};

}  // namespace

std::unique_ptr<ChunkAppender> make_appender(std::shared_ptr<ChunkStore::Impl> store, std::uint32_t slot, ChunkId id, Fd fd,
                                             std::uint64_t expected_length) {
  return std::make_unique<Appender>(std::move(store), slot, id, std::move(fd), expected_length);
}

}  // namespace weft::storage
