// Memory of a store's budget that is set aside before it is used.
#pragma once

#include <cstdint>
#include <utility>

#include "base/ids.hpp"

namespace weft::shuffle {

class SegmentRoom;

/// Has a budget and sets parts of it aside. It outlives the rooms it gave.
class RoomGiver {
 public:
  virtual ~RoomGiver() = default;
  /// Memory for something of the job that is no segment of the store; an empty room when less than `bytes` is left.
  virtual SegmentRoom reserve_exactly(JobId job, std::uint64_t bytes) = 0;

 private:
  friend class SegmentRoom;
  virtual void give_back(JobId job, std::uint64_t bytes, bool others_go) = 0;
};

/// Memory set aside for one segment while it is written. Given back when destroyed: after put(), or when nothing comes of it.
class SegmentRoom {
 public:
  SegmentRoom() = default;
  /// `others_go`: it was given before there was room, since segments of other jobs make way.
  SegmentRoom(RoomGiver& giver, JobId job, std::uint64_t bytes, bool others_go = false)
      : giver_(&giver), job_(job), bytes_(bytes), others_go_(others_go) {}
  SegmentRoom(SegmentRoom&& other) noexcept { swap(other); }
  SegmentRoom& operator=(SegmentRoom&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SegmentRoom() {
    if (giver_ != nullptr) giver_->give_back(job_, bytes_, others_go_);
  }
  /// 0: write to disk from the start.
  std::uint64_t bytes() const { return bytes_; }

 private:
  void swap(SegmentRoom& other) noexcept {
    std::swap(giver_, other.giver_);
    std::swap(job_, other.job_);
    std::swap(bytes_, other.bytes_);
    std::swap(others_go_, other.others_go_);
  }

  RoomGiver* giver_ = nullptr;
  JobId job_;
  std::uint64_t bytes_ = 0;
  bool others_go_ = false;
};

}  // namespace weft::shuffle
