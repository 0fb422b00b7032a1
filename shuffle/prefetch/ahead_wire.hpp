// Between AheadBytes and the struct Ahead of a message schema: those for workers and for clients each have one.
#pragma once

#include "shuffle/prefetch/ahead_bytes.hpp"

namespace weft::shuffle {

template <class Builder>
void write_ahead(Builder out, const AheadBytes& bytes) {
  out.setBrought(bytes.brought_bytes), out.setRead(bytes.read_bytes), out.setUnread(bytes.unread_bytes);
  out.setEvicted(bytes.evicted_bytes), out.setEvictedFile(bytes.evicted_file_bytes), out.setReturned(bytes.returned_bytes);
}

template <class Reader>
AheadBytes read_ahead(Reader in) {
  return {in.getBrought(), in.getRead(), in.getUnread(), in.getEvicted(), in.getEvictedFile(), in.getReturned()};
}

}  // namespace weft::shuffle
