// Cuts a stream of bytes and descriptors into frames. Does no I/O: the caller fills the space it offers.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/rpc/frame.hpp"

namespace weft::rpc {

struct Frame {
  FrameHead head;
  Buffer header;
  Buffer bulk;
  std::vector<Fd> fds;
};

/// The sink of the frame's bulk; null when there is none (any more).
using FindSink = std::function<BulkSink*(const FrameHead&)>;

/// Small frames pass through a receive buffer; the rest of a large header or bulk is received straight into its place.
class FrameReader {
 public:
  /// A good size of the receive buffer; kFixedSize is the least.
  static constexpr std::size_t kReceiveBuffer = 64u << 10;

  struct Bounds {
    std::size_t max_header = 0;
    std::size_t max_bulk = 0;
    std::size_t max_fds = 0;
  };

  /// `buffer` outlives the reader. Many readers may share it when they use it by turns: a turn begins with space() and ends when
  /// next() returns nothing or an error; what a reader needs later it has then put aside.
  /// `sink` is asked whenever something of a bulk comes; may be empty.
  FrameReader(MutableBytes buffer, Bounds bounds, FindSink sink = {});
  /// For the frames after those already returned.
  void set_bounds(Bounds bounds) { bounds_ = bounds; }

  /// Where the next bytes go, in this order; not both are empty. Only after next() returned nothing.
  std::array<MutableBytes, 2> space();
  /// `bytes` of space() were filled; `fds` came with them.
  void received(std::size_t bytes, std::vector<Fd> fds = {});
  /// The next whole frame, or nothing when more bytes are needed. After an error the stream is of no more use.
  /// Nothing is allocated for a length above the bounds; a header's memory grows with the bytes that really arrive; a bulk's is
  /// allocated (not touched) when the checksum of the frame was right, unless it goes to a sink.
  Result<std::optional<Frame>> next();
  /// Part of a frame has arrived.
  bool within_frame() const { return part_ != Part::fixed || begin_ != end_ || kept_size_ != 0; }
  /// The request whose reply's bulk has arrived in part.
  std::optional<std::uint64_t> partly_answered() const {
    return part_ == Part::bulk && frame_.head.kind == FrameKind::reply ? std::optional(frame_.head.request_id) : std::nullopt;
  }

 private:
  enum class Part : std::uint8_t { fixed, header, bulk };

  Result<std::optional<Frame>> advance();
  Result<bool> take_fixed();
  Result<bool> take_header();
  void begin_bulk();
  bool take_bulk();
  void pour();
  Result<void> take_fds();
  void fill(Buffer& destination);
  void end_turn();
  ByteView buffered() const { return ByteView(buffer_).subspan(begin_, end_ - begin_); }

  Bounds bounds_;
  const FindSink sink_;
  const MutableBytes buffer_;
  std::size_t begin_ = 0, end_ = 0;  // received and not yet taken
  FixedPart kept_{};                 // between turns: the beginning of a fixed part
  std::size_t kept_size_ = 0;
  Part part_ = Part::fixed;
  FixedPart fixed_{};
  Frame frame_;             // under construction
  bool sinks_ = false;      // its bulk goes to a sink, or nowhere
  std::size_t filled_ = 0;  // bytes of the current part in its place
  std::size_t direct_ = 0;  // size of the first span that space() gave
  std::deque<Fd> fds_;      // arrived, not yet claimed by a frame
};

}  // namespace weft::rpc
