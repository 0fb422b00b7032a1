// A page of memory shared by a worker and one executor. The executor notes in it, per slot, which attempt runs there and - when it
// is dying, or asked to - where in its input that attempt is. The worker reads it when the executor is gone, however it went.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"

namespace weft::runtime::protocol {

class PositionPage {
 public:
  struct Position {
    std::string path;  // empty: not known
    std::uint64_t offset = 0;
    bool died_here = false;  // the fatal signal was raised by this slot's thread
  };

  /// Worker side: a fresh page and the descriptor to pass on.
  static Result<PositionPage> create(std::uint32_t slots, Fd& descriptor);
  /// Executor side.
  static Result<PositionPage> attach(const Fd& descriptor);

  PositionPage() = default;
  PositionPage(PositionPage&& other) noexcept;
  PositionPage& operator=(PositionPage&& other) noexcept;
  ~PositionPage();

  std::uint32_t slots() const { return slots_; }
  void begin(std::uint32_t slot, const AttemptId& attempt);
  void end(std::uint32_t slot);
  /// Async-signal-safe. `path` may be null.
  void note(std::uint32_t slot, const char* path, std::uint64_t offset, bool died_here) noexcept;

  /// Where the attempt was; nothing when no slot runs it.
  std::optional<Position> find(const AttemptId& attempt) const;
  /// Whether some slot's thread raised the fatal signal.
  bool knows_culprit() const;

 private:
  struct Slot;
  PositionPage(Slot* memory, std::uint32_t slots) : memory_(memory), slots_(slots) {}
  void unmap();

  Slot* memory_ = nullptr;
  std::uint32_t slots_ = 0;
};

}  // namespace weft::runtime::protocol
