#include "tests/releases/grown.hpp"

#include <cstring>

#include <capnp/any.h>

#include "base/rpc/capnp.hpp"

namespace weft::releases {
namespace {

void copy_grown(capnp::AnyStruct::Reader from, capnp::AnyStruct::Builder to);

unsigned words_of(capnp::AnyStruct::Reader in) { return static_cast<unsigned>(in.getDataSection().size() / sizeof(capnp::word)); }

void copy_grown(capnp::AnyPointer::Reader from, capnp::AnyPointer::Builder to) {
  switch (from.getPointerType()) {
    case capnp::PointerType::STRUCT: {
      const auto in = from.getAs<capnp::AnyStruct>();
      copy_grown(in, to.initAsAnyStruct(static_cast<std::uint16_t>(words_of(in) + 1),
                                        static_cast<std::uint16_t>(in.getPointerSection().size() + 1)));
      return;
    }
    case capnp::PointerType::LIST: {
      const auto any = from.getAs<capnp::AnyList>();
      if (any.getElementSize() != capnp::ElementSize::INLINE_COMPOSITE || any.size() == 0) break;
      const auto list = any.as<capnp::List<capnp::AnyStruct>>();
      auto grown = to.initAsListOfAnyStruct(static_cast<std::uint16_t>(words_of(list[0]) + 1),
                                            static_cast<std::uint16_t>(list[0].getPointerSection().size() + 1), list.size());
      for (unsigned i = 0; i < list.size(); ++i) copy_grown(list[i], grown[i]);
      return;
    }
    default:
      break;
  }
  to.set(from);
}

void copy_grown(capnp::AnyStruct::Reader from, capnp::AnyStruct::Builder to) {
  const auto data = from.getDataSection();
  auto more = to.getDataSection();
  if (data.size() != 0) std::memcpy(more.begin(), data.begin(), data.size());
  std::memset(more.begin() + data.size(), 0xa5, more.size() - data.size());
  const auto pointers = from.getPointerSection();
  auto all = to.getPointerSection();
  for (unsigned i = 0; i < pointers.size(); ++i) copy_grown(pointers[i], all[i]);
  all[pointers.size()].setAs<capnp::Text>("of a later release");
}

/// make(the message's struct, where another one begins).
template <class Make>
Buffer made_of(ByteView message, Make make) {
  Buffer aligned;
  const auto words = rpc::detail::words_of(message, aligned);
  capnp::FlatArrayMessageReader reader(words);
  capnp::MallocMessageBuilder out;
  make(reader.getRoot<capnp::AnyPointer>(), out.getRoot<capnp::AnyPointer>());
  return rpc::flatten(out);
}

constexpr std::uint16_t kLater = 9999;

}  // namespace

Buffer grown(ByteView message) {
  return made_of(message, [](capnp::AnyPointer::Reader from, capnp::AnyPointer::Builder to) { copy_grown(from, to); });
}

Buffer with_nothing_in(ByteView message) {
  return made_of(message, [](capnp::AnyPointer::Reader, capnp::AnyPointer::Builder to) { to.initAsAnyStruct(0, 0); });
}

Buffer with_later_kind(ByteView message) {
  return made_of(message, [](capnp::AnyPointer::Reader from, capnp::AnyPointer::Builder to) {
    const auto in = from.getAs<capnp::AnyStruct>();
    if (in.getDataSection().size() != 0) {  // of a union: its first number is the kind
      to.set(from);
      std::memcpy(to.getAs<capnp::AnyStruct>().getDataSection().begin(), &kLater, sizeof(kLater));
      return;
    }
    const auto list = in.getPointerSection()[0].getAs<capnp::AnyList>().as<capnp::List<capnp::AnyStruct>>();
    auto out = to.initAsAnyStruct(0, 1).getPointerSection()[0].initAsListOfAnyStruct(
        static_cast<std::uint16_t>(words_of(list[0])), static_cast<std::uint16_t>(list[0].getPointerSection().size()),
        list.size() + 1);
    for (unsigned i = 0; i < list.size(); ++i) {
      std::memcpy(out[i].getDataSection().begin(), list[i].getDataSection().begin(), list[i].getDataSection().size());
      for (unsigned pointer = 0; pointer < list[i].getPointerSection().size(); ++pointer)
        out[i].getPointerSection()[pointer].set(list[i].getPointerSection()[pointer]);
    }
    std::memcpy(out[list.size()].getDataSection().begin(), &kLater, sizeof(kLater));
  });
}

}  // namespace weft::releases
