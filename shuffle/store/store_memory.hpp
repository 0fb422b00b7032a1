// The account of a store's memory: what is stored and what is set aside, how much the next segment gets, and which one makes way.
// Private to the store, and to the stores of simulated nodes, which decide by the same account.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shuffle/store/eviction_order.hpp"
#include "shuffle/store/reservations.hpp"

namespace weft::shuffle {

/// It moves nothing. One thread at a time.
class StoreMemory {
 public:
  /// `writers`: segments that are written at a time.
  StoreMemory(std::uint64_t budget, std::uint32_t writers);

  /// What is set aside; the caller gives it back.
  struct Grant {
    std::uint64_t bytes = 0;
    bool others_go = false;  // given before there was room, since segments of other jobs make way
  };
  /// See Store::reserve() and RoomGiver::reserve_exactly().
  Grant reserve(JobId job, ShuffleId shuffle);
  Grant reserve_exactly(JobId job, std::uint64_t bytes);
  void give_back(JobId job, std::uint64_t bytes, bool others_go) { reservations_.remove(job, bytes, others_go); }

  /// A segment is there, in memory or on disk.
  void came(const SegmentKey& key, std::uint64_t bytes, bool memory);
  /// It was released.
  void went(const SegmentKey& key, std::uint64_t bytes, bool memory);
  /// It is on disk from now on.
  void moved(const SegmentKey& key, std::uint64_t bytes);

  std::uint64_t budget() const { return budget_; }
  std::uint64_t bytes() const { return bytes_; }  // of segments in memory
  std::uint64_t reserved() const { return reservations_.bytes(); }
  std::size_t segments() const { return order_.size(); }  // in memory
  /// Segments have to make way: next() first.
  bool over_budget() const;
  const SegmentKey& next() const { return order_.next(); }

 private:
  std::uint64_t left() const;
  Grant set_aside(JobId job, std::uint64_t bytes, bool others_go);
  Grant reserve_of_others(JobId job, std::uint64_t likely);

  const std::uint64_t budget_;
  const std::uint32_t writers_;
  std::uint64_t bytes_ = 0;
  EvictionOrder order_;
  Reservations reservations_;
};

}  // namespace weft::shuffle
