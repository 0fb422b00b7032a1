// Frame after frame of one format, from the first block of a split on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "storage/compression/decompressor.hpp"
#include "storage/compression/frame_codec.hpp"
#include "storage/compression/input_buffer.hpp"

namespace weft::storage {

class FrameReader final : public Decompressor {
 public:
  FrameReader(InputFile& file, std::unique_ptr<FrameCodec> codec, std::uint64_t begin, std::uint64_t end);
  /// Goes to the first block of the split.
  Result<void> start();
  Result<std::size_t> read(MutableBytes into) override;
  bool past_end() const override { return past_end_; }

 private:
  Result<bool> next_frame();
  Result<void> skip_frame_padding();
  Result<void> agree_on(std::uint64_t block) const;

  InputBuffer input_;
  const std::unique_ptr<FrameCodec> codec_;
  const std::uint64_t begin_, end_;
  std::uint64_t frame_begin_ = 0;
  bool in_frame_ = false;
  bool past_end_ = false;
  bool over_ = false;
};

/// The first block that begins in [from, limit).
Result<std::optional<std::uint64_t>> find_block(InputFile& file, const FrameCodec& codec, std::uint64_t from, std::uint64_t limit);

/// Whether there are frames behind the first block, as far as its first headers tell.
Result<bool> has_more_blocks(InputFile& file, const FrameCodec& codec);

}  // namespace weft::storage
