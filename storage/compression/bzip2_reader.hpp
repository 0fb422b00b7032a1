// Block after block of bzip2, from the first one of a split on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "storage/compression/decompressor.hpp"
#include "storage/compression/input_buffer.hpp"

namespace weft::storage {

class Bzip2Reader final : public Decompressor {
 public:
  Bzip2Reader(InputFile& file, std::uint64_t begin, std::uint64_t end);
  ~Bzip2Reader() override;
  /// Goes to the first block of the split.
  Result<void> start();
  Result<std::size_t> read(MutableBytes into) override;
  bool past_end() const override { return past_end_; }

 private:
  struct Library;

  Result<std::optional<std::uint64_t>> find_block(std::uint64_t from, std::uint64_t limit) const;
  Result<void> go_to(std::uint64_t bit);
  Result<void> start_stream();
  Result<void> finish_stream();
  Result<void> start_block();
  Result<void> extend_block();
  void finish_block();

  InputBuffer input_;  // from the byte on in which the block begins
  const std::uint64_t begin_, end_;
  unsigned bit_ = 0;  // of that byte
  std::size_t block_bits_ = 0;
  std::vector<std::byte> stream_;  // what the library reads: the block as a stream of its own
  const std::unique_ptr<Library> library_;
  std::uint32_t stream_checksum_ = 0;
  bool checks_stream_ = false;  // all of its blocks were read
  bool in_block_ = false;
  bool gave_ = false;  // bytes of this block
  bool past_end_ = false;
  bool over_ = false;
};

}  // namespace weft::storage
