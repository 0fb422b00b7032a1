#include "base/rpc/frame_reader.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

constexpr std::size_t kFirstHeaderStep = 1u << 20;

Error too_large(std::string_view what, std::uint64_t size, std::uint64_t bound) {
  return Error(Code::corrupt, fmt::format("frame with {} of {}, more than the {} allowed", what, size, bound));
}

}  // namespace

FrameReader::FrameReader(MutableBytes buffer, Bounds bounds, FindSink sink)
    : bounds_(bounds), sink_(std::move(sink)), buffer_(buffer) {
  WEFT_ASSERT(buffer_.size() >= kFixedSize);
}

std::array<MutableBytes, 2> FrameReader::space() {
  std::copy_n(kept_.begin(), kept_size_, buffer_.begin());
  begin_ = 0;
  end_ = std::exchange(kept_size_, 0);
  MutableBytes direct;
  if (part_ == Part::header) direct = frame_.header.span().subspan(filled_);
  if (part_ == Part::bulk && !sinks_) direct = frame_.bulk.span().subspan(filled_);
  if (part_ == Part::bulk && sinks_) {
    const std::size_t left = frame_.head.bulk_length - filled_;
    if (BulkSink* const sink = sink_(frame_.head)) direct = sink->room(left);
    direct = direct.first(std::min(direct.size(), left));
    // More of the same bulk would come to the buffer and be copied from there.
    if (direct.size() >= buffer_.size() && direct.size() < left) {
      direct_ = direct.size();
      return {direct, {}};
    }
  }
  direct_ = direct.size();
  return {direct, buffer_.subspan(end_)};
}

void FrameReader::received(std::size_t bytes, std::vector<Fd> fds) {
  const std::size_t direct = std::min(bytes, direct_);
  filled_ += direct;
  if (direct != 0 && sinks_ && part_ == Part::bulk) sink_(frame_.head)->filled(direct);
  direct_ = 0;
  end_ += bytes - direct;
  WEFT_ASSERT(end_ <= buffer_.size());
  for (auto& fd : fds) fds_.push_back(std::move(fd));
}

Result<std::optional<Frame>> FrameReader::next() {
  try {
    auto frame = advance();
    if (frame && !frame->has_value()) end_turn();
    return frame;
  } catch (const std::bad_alloc&) {
    return fail(Code::resource_exhausted, "no memory for a received message");
  }
}

/// What is left is less than a fixed part: everything else was taken.
void FrameReader::end_turn() {
  const ByteView rest = buffered();
  WEFT_ASSERT(rest.size() < kFixedSize);
  std::copy(rest.begin(), rest.end(), kept_.begin());
  kept_size_ = rest.size();
  begin_ = end_ = 0;
}

Result<std::optional<Frame>> FrameReader::advance() {
  if (part_ == Part::fixed) {
    WEFT_ASSIGN(const bool complete, take_fixed());
    if (!complete) return std::nullopt;
  }
  if (part_ == Part::header) {
    WEFT_ASSIGN(const bool complete, take_header());
    if (!complete) return std::nullopt;
  }
  if (!take_bulk()) return std::nullopt;
  part_ = Part::fixed;
  return std::exchange(frame_, Frame{});
}

Result<bool> FrameReader::take_fixed() {
  const auto bytes = buffered();
  WEFT_TRY(check_magic(bytes));
  if (bytes.size() < kFixedSize) return false;
  std::copy_n(bytes.begin(), kFixedSize, fixed_.begin());
  WEFT_ASSIGN(frame_.head, decode_head(fixed_));
  const auto& head = frame_.head;
  if (head.header_length > bounds_.max_header) return fail(too_large("a header", head.header_length, bounds_.max_header));
  if (head.bulk_length > bounds_.max_bulk) return fail(too_large("a bulk", head.bulk_length, bounds_.max_bulk));
  if (head.fd_count > bounds_.max_fds) return fail(too_large("a number of descriptors", head.fd_count, bounds_.max_fds));
  begin_ += kFixedSize;
  if (head.header_length != 0) frame_.header = Buffer(std::min<std::size_t>(head.header_length, kFirstHeaderStep));
  filled_ = 0;
  part_ = Part::header;
  return true;
}

Result<bool> FrameReader::take_header() {
  fill(frame_.header);
  while (filled_ == frame_.header.size() && filled_ < frame_.head.header_length) {
    Buffer larger(std::min<std::size_t>(frame_.head.header_length, filled_ * 2));
    std::memcpy(larger.data(), frame_.header.data(), filled_);
    frame_.header = std::move(larger);
    fill(frame_.header);
  }
  if (filled_ < frame_.head.header_length) return false;
  WEFT_TRY(check_sum(fixed_, frame_.header.view()));
  WEFT_TRY(take_fds());
  begin_bulk();
  return true;
}

void FrameReader::begin_bulk() {
  filled_ = 0;
  part_ = Part::bulk;
  const auto& head = frame_.head;
  BulkSink* const sink = sink_ && head.bulk_length != 0 ? sink_(head) : nullptr;
  sinks_ = sink != nullptr;
  if (sinks_) {
    sink->begin(frame_.header.view(), head.bulk_length);
  } else if (head.bulk_length != 0) {
    frame_.bulk = Buffer(head.bulk_length);
  }
}

bool FrameReader::take_bulk() {
  sinks_ ? pour() : fill(frame_.bulk);
  return filled_ == frame_.head.bulk_length;
}

/// What was received of the bulk with something before it, to its sink.
void FrameReader::pour() {
  while (begin_ != end_ && filled_ < frame_.head.bulk_length) {
    const std::size_t left = frame_.head.bulk_length - filled_;
    std::size_t step = std::min(end_ - begin_, left);
    BulkSink* const sink = sink_(frame_.head);
    if (const MutableBytes room = sink != nullptr ? sink->room(left) : MutableBytes(); !room.empty()) {
      step = std::min(step, room.size());
      std::memcpy(room.data(), buffer_.data() + begin_, step);
      sink->filled(step);
    }
    begin_ += step;
    filled_ += step;
  }
}

/// Descriptors arrive no later than the first byte of their frame, in the order of frames.
Result<void> FrameReader::take_fds() {
  if (fds_.size() > kMaxFdsPerFrame * 2) return fail(Code::corrupt, "descriptors that no frame announced");
  if (frame_.head.fd_count > fds_.size()) {
    return fail(Code::corrupt, fmt::format("frame with {} descriptors came with {}", frame_.head.fd_count, fds_.size()));
  }
  for (unsigned i = 0; i < frame_.head.fd_count; ++i) {
    frame_.fds.push_back(std::move(fds_.front()));
    fds_.pop_front();
  }
  return {};
}

void FrameReader::fill(Buffer& destination) {
  const std::size_t step = std::min(end_ - begin_, destination.size() - filled_);
  if (step == 0) return;
  std::memcpy(destination.data() + filled_, buffer_.data() + begin_, step);
  filled_ += step;
  begin_ += step;
}

}  // namespace weft::rpc
