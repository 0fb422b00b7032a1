#include "storage/compression/frame_reader.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace weft::storage {
namespace {

constexpr std::size_t kInputBytes = 256u << 10;
// A frame of the format in the data of another one (a file in an archive) is found out by following its headers past the block of
// the outer one that it lies in: at most 64 KiB of bgzip, 128 KiB of zstd.
constexpr std::uint64_t kConvincingBytes = 132u << 10;
constexpr std::size_t kConvincingHeaders = 64;
constexpr std::size_t kFirstFrameHeaders = 4096;  // of zstd: up to 512 MiB of text

Result<FrameKind> kind_at(InputFile& file, const FrameCodec& codec, std::uint64_t at) {
  std::array<std::byte, kFrameHead> head;
  WEFT_ASSIGN(const std::string_view bytes, peek(file, at, head));
  return codec.kind(bytes);
}

/// Behind the zeros that begin there, as far as `limit`.
Result<std::uint64_t> behind_zeros(InputFile& file, std::uint64_t at, std::uint64_t limit) {
  std::array<std::byte, 4096> piece;
  while (at < limit) {
    WEFT_ASSIGN(const std::string_view bytes,
                peek(file, at, std::span(piece).first(std::min<std::uint64_t>(piece.size(), limit - at))));
    const std::size_t zeros = std::min(bytes.find_first_not_of('\0'), bytes.size());
    at += zeros;
    if (zeros == 0 || zeros < bytes.size()) break;
  }
  return at;
}

/// Whether a block begins there, and frames follow it as it says.
Result<bool> is_block(InputFile& file, const FrameCodec& codec, std::uint64_t at) {
  const std::uint64_t limit = std::min(at + kConvincingBytes, file.size());
  for (std::uint64_t next = at; next < limit;) {
    WEFT_ASSIGN(const FrameKind kind, kind_at(file, codec, next));
    if (kind == FrameKind::none || (next == at && kind != FrameKind::block)) return false;
    WEFT_ASSIGN(const FrameExtent extent, codec.extent(file, next, kConvincingHeaders));
    if (!extent.valid) return false;
    if (extent.end == 0) break;
    WEFT_ASSIGN(next, behind_zeros(file, extent.end, limit));
  }
  return true;
}

}  // namespace

Result<std::string_view> peek(InputFile& file, std::uint64_t at, MutableBytes into) {
  std::size_t had = 0;
  while (had < into.size() && at + had < file.size()) {
    WEFT_ASSIGN(const std::size_t count, file.read(at + had, into.subspan(had)));
    if (count == 0) break;
    had += count;
  }
  return as_chars(into.first(had));
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

bool is_skippable_frame(std::string_view bytes) {
  return bytes.size() >= 8 && (bytes[0] & '\xf0') == '\x50' && bytes.substr(1).starts_with(std::string_view("\x2a\x4d\x18", 3));
}

std::uint64_t skippable_bytes(std::string_view bytes) { return 8 + little_endian(bytes.substr(4, 4)); }

Result<std::optional<std::uint64_t>> find_block(InputFile& file, const FrameCodec& codec, std::uint64_t from, std::uint64_t limit) {
  const std::string_view magic = codec.magic();
  if (magic.empty()) return std::nullopt;
  Buffer window(kInputBytes);
  while (from < limit) {
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(window.size(), limit - from + magic.size() - 1));
    WEFT_ASSIGN(const std::string_view bytes, peek(file, from, window.span().first(wanted)));
    if (bytes.size() < magic.size()) return std::nullopt;
    for (std::size_t at = bytes.find(magic); at != std::string_view::npos; at = bytes.find(magic, at + 1)) {
      WEFT_ASSIGN(const bool found, is_block(file, codec, from + at));
      if (found) return from + at;
    }
    from += bytes.size() - magic.size() + 1;
  }
  return std::nullopt;
}

Result<bool> has_more_blocks(InputFile& file, const FrameCodec& codec) {
  if (codec.magic().empty()) return false;
  std::uint64_t at = 0;
  while (at < file.size()) {
    WEFT_ASSIGN(const FrameKind kind, kind_at(file, codec, at));
    if (kind == FrameKind::none) return false;
    WEFT_ASSIGN(const FrameExtent extent, codec.extent(file, at, kFirstFrameHeaders));
    if (!extent.valid || extent.end == 0) return false;
    WEFT_ASSIGN(at, behind_zeros(file, extent.end, file.size()));
    if (kind == FrameKind::block) break;
  }
  return at < file.size();
}

FrameReader::FrameReader(InputFile& file, std::unique_ptr<FrameCodec> codec, std::uint64_t begin, std::uint64_t end)
    : input_(file, kInputBytes), codec_(std::move(codec)), begin_(begin), end_(end) {}

Result<void> FrameReader::start() {
  if (begin_ == 0) return {};
  WEFT_ASSIGN(const auto first, find_block(input_.file(), *codec_, begin_, end_));
  over_ = !first;
  if (first) input_.seek(*first);
  return {};
}

/// Behind a frame.
Result<void> FrameReader::skip_frame_padding() {
  const std::uint64_t begin = input_.offset();
  WEFT_ASSIGN(const std::uint64_t zeros, input_.skip_zeros());
  if (zeros % codec_->padding_unit() == 0) return {};
  return fail(damaged(input_.file(), begin,
                      std::to_string(zeros) + " zeros follow the " + std::string(codec_->noun()) +
                          " that ends here, which is no multiple of " + std::to_string(codec_->padding_unit())));
}

/// The reader of the next split begins with the same block (the size of the file: with none).
Result<void> FrameReader::agree_on(std::uint64_t block) const {
  if (codec_->magic().empty() || end_ >= input_.file().size()) return {};
  const std::uint64_t none = input_.file().size();
  WEFT_ASSIGN(const auto found, find_block(input_.file(), *codec_, end_, std::min(block + 1, none)));
  if (found.value_or(none) == block) return {};
  return fail(disagreement(input_.file(), std::min(found.value_or(none), block), codec_->noun()));
}

/// False at the end of the file.
Result<bool> FrameReader::next_frame() {
  if (frame_begin_ != input_.offset()) WEFT_TRY(skip_frame_padding());
  WEFT_TRY(input_.hold(kFrameHead));
  const std::string_view head = input_.text();
  const std::uint64_t at = input_.offset();
  if (head.empty()) {
    if (!past_end_) WEFT_TRY(agree_on(at));
    return false;
  }
  const FrameKind kind = codec_->kind(head);
  if (kind == FrameKind::none)
    return fail(damaged(input_.file(), at, "no " + std::string(codec_->noun()) + " begins here, and the file does not end"));
  if (kind == FrameKind::block && at >= end_ && !past_end_ && !codec_->magic().empty()) {
    WEFT_TRY(agree_on(at));
    past_end_ = true;
  }
  frame_begin_ = at;
  WEFT_TRY(codec_->begin());
  return true;
}

Result<std::size_t> FrameReader::read(MutableBytes into) {
  while (!over_) {
    if (!in_frame_) {
      WEFT_ASSIGN(in_frame_, next_frame());
      over_ = !in_frame_;
      continue;
    }
    const FrameCodec::Step step = codec_->step(input_.view(), into);
    input_.consume(step.consumed);
    if (!step.fault.empty())
      return fail(damaged(input_.file(), input_.offset(), step.fault + " (" + std::string(codec_->noun()) + ")"));
    in_frame_ = !step.ended;
    if (step.produced != 0) return step.produced;
    if (step.ended || step.consumed != 0) continue;
    WEFT_ASSIGN(const bool more, input_.full() ? Result<bool>(false) : input_.more());
    if (!more) return fail(truncated(input_.file(), codec_->noun(), frame_begin_));
  }
  return 0;
}

}  // namespace weft::storage
