#include "runtime/operators/shared_table.hpp"

#include <chrono>

#include "base/assert.hpp"
#include "runtime/operators/fault.hpp"

namespace weft::runtime {
namespace {

constexpr auto kLook = std::chrono::milliseconds(20);  // at most, between two looks at the stop flag

}  // namespace

std::optional<SharedTable::Piece> SharedTable::claim(const OperatorContext& context) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (state() != State::building) return std::nullopt;
    if (claimed_ < pieces_) {
      ++active_;
      return piece(claimed_++);
    }
    if (context.stop != nullptr && context.stop->load(std::memory_order_relaxed)) throw TaskCancelled{};
    changed_.wait_for(lock, kLook);
  }
}

SharedTable::Piece SharedTable::piece(std::uint32_t number) const {
  const auto bound = [&](std::uint32_t at) { return static_cast<std::uint32_t>(std::uint64_t{maps_} * at / pieces_); };
  return {bound(number), number + 1 == pieces_ ? UINT32_MAX : bound(number + 1)};
}

void SharedTable::give_up(State why) {
  const std::lock_guard lock(mutex_);
  if (state() == State::building) state_.store(why, std::memory_order_release);
  changed_.notify_all();
}

void SharedTable::end_piece(State why) {
  const std::lock_guard lock(mutex_);
  WEFT_ASSERT(active_ > 0);
  --active_;
  if (state() == State::building && why != State::building) state_.store(why, std::memory_order_release);
  if (active_ == 0 && claimed_ == pieces_ && state() == State::building) state_.store(State::complete, std::memory_order_release);
  if (active_ == 0 && (state() == State::refused || state() == State::spoiled)) release();
  changed_.notify_all();
}

std::shared_ptr<SharedTable> SharedTables::get(const Key& key, const SharedInput& input, Make make) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<SharedTable>& table = tables_[key];
  if (!table || table->state() == SharedTable::State::spoiled) table = make(pool_, pages_, input);
  return table;
}

void SharedTables::begin(StageId stage, std::uint32_t first_attempt) {
  const std::lock_guard lock(mutex_);
  std::erase_if(tables_, [&](const auto& entry) {
    const bool current = entry.first.stage == stage && entry.first.first_attempt == first_attempt;
    return !current && entry.second.use_count() == 1;
  });
}

TableShare::TableShare(OperatorContext& context, std::uint64_t table_bytes)
    : memory_(*context.memory), bytes_(context.tables == nullptr ? 0 : table_bytes / context.tables->slots()) {
  if (!memory_.try_take(bytes_)) bytes_ = 0;  // operators behind it hold so much that they spill anyway
}

}  // namespace weft::runtime
