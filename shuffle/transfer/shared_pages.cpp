#include "shuffle/transfer/shared_pages.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.hpp"

namespace weft::shuffle {
namespace {

constexpr std::uint64_t kFirstMapping = 1u << 20;

std::string path_of(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

}  // namespace

Result<SharedPages> SharedPages::make() {
  Fd made(::memfd_create("weft-blocks", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.valid()) return fail(errno_error("creating memory for blocks", errno));
  SharedPages pages;
  pages.fd_ = std::move(made);
  return pages;
}

SharedPages::~SharedPages() { unmap(); }

Result<void> SharedPages::grow(std::uint64_t size) {
  if (size <= size_) return {};
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return fail(errno_error("enlarging memory for blocks", errno));
  if (size > mapped_) {
    const std::uint64_t wanted = std::max({size, 2 * mapped_, kFirstMapping});  // address space past the end costs nothing
    void* const mapped = data_ == nullptr ? ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0)
                                          : ::mremap(data_, mapped_, wanted, MREMAP_MAYMOVE);
    if (mapped == MAP_FAILED) return fail(errno_error("mapping memory for blocks", errno));
    data_ = static_cast<std::byte*>(mapped);
    mapped_ = wanted;
  }
  size_ = size;
  return {};
}

MutableBytes SharedPages::span(std::uint64_t from, std::uint64_t length) const {
  WEFT_ASSERT(from <= size_ && length <= size_ - from);
  return {data_ + from, length};
}

Fd SharedPages::reader() {
  if (!shared_) {
    // The kernel counts how often a file was opened, without the descriptor that came with its creation.
    Fd counted(::open(path_of(fd_).c_str(), O_RDWR | O_CLOEXEC));
    // Bytes cannot change or go while they are read, whatever other processes of this user do.
    if (!counted.valid() || ::fcntl(counted.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE) != 0) return Fd();
    fd_ = std::move(counted);
    shared_ = true;
  }
  return Fd(::open(path_of(fd_).c_str(), O_RDONLY | O_CLOEXEC));
}

/// A write lease is given when no other open file refers to the inode; a mapping and a descriptor under way hold theirs.
bool SharedPages::alone() const {
  if (::fcntl(fd_.get(), F_SETLEASE, F_WRLCK) != 0) return false;
  return ::fcntl(fd_.get(), F_SETLEASE, F_UNLCK) == 0;
}

Result<Fd> SharedPages::seal() && {
  unmap();
  if (::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return fail(errno_error("sealing memory for blocks", errno));
  size_ = 0;
  return std::move(fd_);
}

void SharedPages::swap(SharedPages& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  std::swap(shared_, other.shared_);
}

void SharedPages::unmap() noexcept {
  if (data_ != nullptr) ::munmap(data_, mapped_);
  data_ = nullptr;
  mapped_ = 0;
}

Result<SharedPages> SharedPool::take(std::uint64_t bytes, std::uint64_t most, std::uint64_t owner) {
  for (auto at = pages_.begin(); at != pages_.end(); ++at) {
    const SharedPages& kept = at->pages;
    if (at->owner != owner || kept.size() < bytes - bytes / 4 || kept.size() > most || !kept.alone()) continue;
    SharedPages pages = std::move(at->pages);
    kept_ -= pages.size();
    pages_.erase(at);
    WEFT_TRY(pages.grow(bytes));
    return pages;
  }
  WEFT_ASSIGN(SharedPages pages, SharedPages::make());
  WEFT_TRY(pages.grow(bytes));
  return pages;
}

void SharedPool::keep(SharedPages pages, std::uint64_t owner) {
  kept_ += pages.size();
  pages_.push_back({std::move(pages), owner});
  while (kept_ > capacity_) {
    kept_ -= pages_.front().pages.size();
    pages_.pop_front();
  }
}

void SharedPool::clear() {
  pages_.clear();
  kept_ = 0;
}

}  // namespace weft::shuffle
