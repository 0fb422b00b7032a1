#include "runtime/operators/arena.hpp"

#include <algorithm>

namespace weft::runtime {

void Arena::enter(std::size_t chunk) {
  current_ = chunk;
  cursor_ = chunks_[chunk].data.data();
  end_ = cursor_ + chunks_[chunk].data.size();
}

bool Arena::next_chunk(std::size_t size) {
  if (!chunks_.empty()) {
    chunks_[current_].used = static_cast<std::size_t>(cursor_ - chunks_[current_].data.data());
    if (current_ + 1 < chunks_.size() && chunks_[current_ + 1].data.size() >= size) {
      enter(current_ + 1);
      return true;
    }
  }
  const std::size_t wanted = std::max(size, chunk_bytes_);
  if (!account_.try_take(wanted)) return false;
  Chunk fresh{Pages::uninitialized(wanted, account_.context().pages), 0};
  const std::size_t position = chunks_.empty() ? 0 : current_ + 1;
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(position), std::move(fresh));
  enter(position);
  return true;
}

void Arena::clear() {
  std::erase_if(chunks_, [&](const Chunk& chunk) {
    if (chunk.data.size() == chunk_bytes_) return false;
    account_.give_back(chunk.data.size());
    return true;
  });
  cursor_ = end_ = nullptr;
  if (!chunks_.empty()) enter(0);
}

void Arena::release() {
  for (const Chunk& chunk : chunks_) account_.give_back(chunk.data.size());
  chunks_.clear();
  current_ = 0;
  cursor_ = end_ = nullptr;
}

std::size_t Arena::allocated() const {
  if (chunks_.empty()) return 0;
  auto bytes = static_cast<std::size_t>(cursor_ - chunks_[current_].data.data());
  for (std::size_t i = 0; i < current_; ++i) bytes += chunks_[i].used;
  return bytes;
}

}  // namespace weft::runtime
