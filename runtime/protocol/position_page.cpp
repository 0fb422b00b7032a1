#include "runtime/protocol/position_page.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::runtime::protocol {

struct PositionPage::Slot {
  std::atomic<std::uint32_t> running;
  std::atomic<std::uint32_t> died_here;
  std::uint64_t job;
  std::uint32_t stage, index, attempt, reserved;
  std::atomic<std::uint64_t> offset;
  char path[472];
};

namespace {
constexpr std::uint32_t kMaxSlots = 4096;
}

Result<PositionPage> PositionPage::create(std::uint32_t slots, Fd& descriptor) {
  // A worker and its executor may be of different releases: what was released stays where it is.
  static_assert(sizeof(Slot) == 512 && offsetof(Slot, died_here) == 4 && offsetof(Slot, job) == 8 && offsetof(Slot, stage) == 16 &&
                offsetof(Slot, attempt) == 24 && offsetof(Slot, offset) == 32 && offsetof(Slot, path) == 40);
  if (slots == 0 || slots > kMaxSlots) return fail(Code::invalid_argument, "a worker has between 1 and 4096 slots");
  Fd fd(memfd_create("weft-positions", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;  // the other process must not take it away
  if (!fd.valid() || ftruncate(fd.get(), static_cast<off_t>(slots * sizeof(Slot))) != 0 || fcntl(fd.get(), F_ADD_SEALS, kSize) != 0)
    return fail(errno_error("cannot create the position page", errno));
  WEFT_ASSIGN(PositionPage page, attach(fd));
  descriptor = std::move(fd);
  return page;
}

Result<PositionPage> PositionPage::attach(const Fd& descriptor) {
  struct stat info {};
  if (fstat(descriptor.get(), &info) != 0) return fail(errno_error("cannot inspect the position page", errno));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0 || size % sizeof(Slot) != 0 || size / sizeof(Slot) > kMaxSlots)
    return fail(Code::corrupt, "the position page has an impossible size");
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (memory == MAP_FAILED) return fail(errno_error("cannot map the position page", errno));
  return PositionPage(static_cast<Slot*>(memory), static_cast<std::uint32_t>(size / sizeof(Slot)));
}

PositionPage::PositionPage(PositionPage&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), slots_(std::exchange(other.slots_, 0)) {}

PositionPage& PositionPage::operator=(PositionPage&& other) noexcept {
  unmap();
  memory_ = std::exchange(other.memory_, nullptr);
  slots_ = std::exchange(other.slots_, 0);
  return *this;
}

PositionPage::~PositionPage() { unmap(); }

void PositionPage::unmap() {
  if (memory_ != nullptr) munmap(memory_, slots_ * sizeof(Slot));
}

void PositionPage::begin(std::uint32_t slot, const AttemptId& attempt) {
  if (slot >= slots_) return;
  Slot& at = memory_[slot];
  at.job = attempt.task.job.value();
  at.stage = attempt.task.stage.value();
  at.index = attempt.task.index;
  at.attempt = attempt.attempt;
  at.path[0] = '\0';
  at.offset.store(0, std::memory_order_relaxed);
  at.running.store(1, std::memory_order_release);
}

void PositionPage::end(std::uint32_t slot) {
  if (slot < slots_) memory_[slot].running.store(0, std::memory_order_release);
}

void PositionPage::note(std::uint32_t slot, const char* path, std::uint64_t offset, bool died_here) noexcept {
  if (slot >= slots_) return;
  Slot& at = memory_[slot];
  std::size_t length = 0;
  for (; path != nullptr && path[length] != '\0' && length + 1 < sizeof at.path; ++length) at.path[length] = path[length];
  at.path[length] = '\0';
  at.offset.store(offset, std::memory_order_relaxed);
  if (died_here) at.died_here.store(1, std::memory_order_release);
}

std::optional<PositionPage::Position> PositionPage::find(const AttemptId& attempt) const {
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    const Slot& at = memory_[slot];
    if (at.running.load(std::memory_order_acquire) == 0) continue;
    if (at.job != attempt.task.job.value() || at.stage != attempt.task.stage.value() || at.index != attempt.task.index ||
        at.attempt != attempt.attempt)
      continue;
    return Position{std::string(at.path, strnlen(at.path, sizeof at.path)), at.offset.load(std::memory_order_relaxed),
                    at.died_here.load(std::memory_order_acquire) != 0};
  }
  return std::nullopt;
}

bool PositionPage::knows_culprit() const {
  for (std::uint32_t slot = 0; slot < slots_; ++slot)
    if (memory_[slot].died_here.load(std::memory_order_acquire) != 0) return true;
  return false;
}

}  // namespace weft::runtime::protocol
