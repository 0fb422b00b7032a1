// Between PrefetchStats and the struct Ahead of a message schema: those for workers and for clients each have one.
#pragma once

#include "shuffle/prefetch/prefetch_stats.hpp"

namespace weft::shuffle {

template <class Builder>
void write_prefetch_stats(Builder out, const PrefetchStats& bytes) {
  out.setBrought(bytes.prefetched_bytes), out.setRead(bytes.read_bytes), out.setUnread(bytes.wasted_bytes);
  out.setEvicted(bytes.evicted_bytes), out.setEvictedFile(bytes.evicted_file_bytes), out.setReturned(bytes.returned_bytes);
}

template <class Reader>
PrefetchStats read_prefetch_stats(Reader in) {
  return {in.getBrought(), in.getRead(), in.getUnread(), in.getEvicted(), in.getEvictedFile(), in.getReturned()};
}

}  // namespace weft::shuffle
