#include "runtime/operators/arena.hpp"

#include <algorithm>

namespace weft::runtime {

void Arena::enter(std::size_t chunk) {
  current_ = chunk;
  cursor_ = chunks_[chunk].data.get();
  end_ = cursor_ + chunks_[chunk].size;
}

bool Arena::next_chunk(std::size_t size) {
  if (!chunks_.empty()) {
    chunks_[current_].used = static_cast<std::size_t>(cursor_ - chunks_[current_].data.get());
    if (current_ + 1 < chunks_.size() && chunks_[current_ + 1].size >= size) {
      enter(current_ + 1);
      return true;
    }
  }
  const std::size_t wanted = std::max(size, chunk_bytes_);
  if (!account_.try_take(wanted)) return false;
  Chunk fresh{std::unique_ptr<std::byte[]>(new std::byte[wanted]), wanted, 0};
  const std::size_t position = chunks_.empty() ? 0 : current_ + 1;
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(position), std::move(fresh));
  enter(position);
  return true;
}

void Arena::clear() {
  std::erase_if(chunks_, [&](const Chunk& chunk) {
    if (chunk.size == chunk_bytes_) return false;
    account_.give_back(chunk.size);
    return true;
  });
  cursor_ = end_ = nullptr;
  if (!chunks_.empty()) enter(0);
}

void Arena::release() {
  for (const Chunk& chunk : chunks_) account_.give_back(chunk.size);
  chunks_.clear();
  current_ = 0;
  cursor_ = end_ = nullptr;
}

std::size_t Arena::allocated() const {
  if (chunks_.empty()) return 0;
  auto bytes = static_cast<std::size_t>(cursor_ - chunks_[current_].data.get());
  for (std::size_t i = 0; i < current_; ++i) bytes += chunks_[i].used;
  return bytes;
}

}  // namespace weft::runtime
