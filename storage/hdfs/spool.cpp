#include "storage/hdfs/spool.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "base/unlinked_file.hpp"

namespace weft::storage::hdfs {
namespace {

constexpr std::uint64_t kForgotten = 64u << 20;  // at once
using http::HttpBody;

}  // namespace

class Spool::Body final : public HttpBody {
 public:
  explicit Body(std::shared_ptr<Spool> spool) : spool_(std::move(spool)) {}
  Result<Taken> take(char* into, std::size_t room) override { return spool_->take(into, room); }
  void ended() override {
    const std::lock_guard lock(spool_->mutex_);
    spool_->ended_ = true;
    spool_->changed_.notify_all();
  }

 private:
  const std::shared_ptr<Spool> spool_;
};

Result<std::shared_ptr<Spool>> Spool::create(const std::string& directory, SpoolLimits limits) {
  WEFT_ASSIGN(Fd file, unlinked_file(directory));
  return std::shared_ptr<Spool>(new Spool(std::move(file), limits));
}

Result<void> Spool::append(ByteView bytes) {
  std::uint64_t at = size();  // only this thread changes it
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return fail(errno_error("cannot keep what is sent to HDFS in a temporary file (TMPDIR names its directory)", errno));
    at += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  const std::lock_guard lock(mutex_);
  written_ = at;
  return {};
}

void Spool::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

std::uint64_t Spool::size() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

Result<std::shared_ptr<HttpBody>> Spool::body(const std::shared_ptr<Spool>& spool) {
  const std::lock_guard lock(spool->mutex_);
  if (spool->forgotten_ != 0)
    return fail(Code::resource_exhausted, "the connection broke after more bytes than are kept to be sent again");
  spool->sent_ = 0;
  spool->ended_ = false;
  return std::shared_ptr<HttpBody>(std::make_shared<Body>(spool));
}

bool Spool::wait_for_room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || written_ - sent_ <= limits_.ahead; });
  return !ended_;
}

Result<HttpBody::Taken> Spool::take(char* into, std::size_t room) {
  std::unique_lock lock(mutex_);
  const std::uint64_t at = sent_, left = written_ - sent_;
  if (left == 0) return HttpBody::Taken{0, closed_};
  lock.unlock();
  ssize_t count = 0;
  do {
    count = ::pread(file_.get(), into, static_cast<std::size_t>(std::min<std::uint64_t>(room, left)), static_cast<off_t>(at));
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return fail(errno_error("cannot read back what is to be sent to HDFS", count < 0 ? errno : EIO));
  forget(at);
  lock.lock();
  sent_ = at + static_cast<std::uint64_t>(count);
  changed_.notify_all();
  return HttpBody::Taken{static_cast<std::size_t>(count), false};
}

/// Gives space back when there is too much to keep.
void Spool::forget(std::uint64_t sent) {
  const std::lock_guard lock(mutex_);
  if (written_ <= limits_.kept || sent - forgotten_ < kForgotten) return;
  const std::uint64_t until = sent / kForgotten * kForgotten;
  // Where the file system cannot do it, the file grows: it could then be sent again, but is not.
  static_cast<void>(::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(forgotten_),
                                static_cast<off_t>(until - forgotten_)));
  forgotten_ = until;
}

}  // namespace weft::storage::hdfs
