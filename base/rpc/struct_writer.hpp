// Plain structs into Cap'n Proto structs, as base/rpc/versioned.hpp says. Private to that header.
#pragma once

#include <cstring>

#include "base/rpc/capnp.hpp"
#include "base/rpc/rpc.hpp"
#include "base/rpc/wire_struct.hpp"

namespace weft::rpc::detail {

/// About how many words the value takes beside the struct it is a field of.
template <class T>
std::size_t words_beside(const T& value) {
  if constexpr (HasWireForm<T>) {
    return WireForm<T>::bytes(value) / sizeof(capnp::word) + 4;
  } else if constexpr (SharedList<T>::value) {
    return words_beside(*value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.size() / sizeof(capnp::word) + 1;
  } else if constexpr (kIs<std::optional, T>) {
    return value ? words_beside(*value) : 0;
  } else if constexpr (kIsList<T>) {
    std::size_t words = 1 + value.size();
    if constexpr (is_flat<typename T::value_type>()) {
      words += value.size() * (sizeof(typename T::value_type) / sizeof(capnp::word));
    } else if constexpr (!WireNumber<typename T::value_type>) {
      for (const auto& element : value) words += words_beside(element);
    }
    return words;
  } else if constexpr (kIs<std::variant, T>) {
    return std::visit([](const auto& chosen) { return words_beside(chosen); }, value) + 2;
  } else if constexpr (kIsPlain<T> || kIs<std::pair, T>) {
    return std::apply([](const auto&... part) { return (words_beside(part) + ... + sizeof...(part)); }, parts_of(value));
  } else {
    return 0;
  }
}

/// Writes values into the fields of one struct, one after the other.
class StructWriter {
 public:
  StructWriter(capnp::AnyStruct::Builder out, const WireStruct& wire, std::vector<SharedBytes>& bulk)
      : data_(out.getDataSection()), pointers_(out.getPointerSection()), at_(wire.fields.cbegin()), bulk_(bulk) {
    if constexpr (kLaterFields != 0) write_later_fields();
  }

  template <class T>
  static void write(capnp::AnyStruct::Builder out, const WireStruct& wire, const T& value, std::vector<SharedBytes>& bulk) {
    StructWriter writer(out, wire, bulk);
    if constexpr (kIs<std::variant, T>) {
      const auto chosen = static_cast<std::uint16_t>(value.index());
      std::memcpy(writer.data_.begin() + wire.choice * sizeof(chosen), &chosen, sizeof(chosen));
      writer.at_ += chosen;
      std::visit([&](const auto& alternative) { writer.field(alternative); }, value);
    } else {
      writer.fields(value);
    }
  }

 private:
  template <class T>
  void fields(const T& value) {
    skips_ = requires { T::kSkipsUnknown; };
    std::apply([&](const auto&... part) { (field(part), ...); }, parts_of(value));
  }

  template <class T>
  void field(const T& value) {
    if constexpr (HasWireForm<T>) {
      return field(WireForm<T>::to_wire(value));
    } else if constexpr (SharedList<T>::value) {
      return field(*value);
    } else {
      own_field(value);
    }
  }

  template <class T>
  void own_field(const T& value) {
    if constexpr (kIsPlain<T>) {
      if (in_place<T>(at_->type)) return fields(value);
    }
    if constexpr (OptionalNumber<T>::value) {
      if (at_->type.isBool()) number(value.has_value());
      if (!at_->type.isText()) return number(value.value_or(typename T::value_type()));
    }
    if constexpr (WireNumber<T>) {
      number(value);
    } else if constexpr (kIsBytes<T>) {
      number(std::uint64_t{bytes_of(value).size()});
      append(value);
    } else if constexpr (std::is_empty_v<T>) {
      ++at_;
    } else if constexpr (kIs<Pieces, T>) {
      put_together(pointers_[(at_++)->offset], value);
    } else {
      const WireStruct::Field& at = *at_++;
      if constexpr (std::is_same_v<T, std::string> || kIsList<T>) {
        if (value.empty() && !at.type.isStruct()) return;
      }
      pointer(pointers_[at.offset], at.type, value);
    }
  }

  template <class T>
  void number(const T& value) {
    const auto number = to_number(value);
    const std::uint32_t offset = (at_++)->offset;
    if constexpr (std::is_same_v<T, bool>) {
      if (value) data_[offset / 8] = static_cast<capnp::byte>(data_[offset / 8] | 1u << offset % 8);
    } else {
      std::memcpy(data_.begin() + offset * sizeof(number), &number, sizeof(number));
    }
  }

  template <class T>
  void pointer(capnp::AnyPointer::Builder out, const capnp::Type& type, const T& value) {
    if constexpr (TextForm<T>) {
      if (type.isText()) return out.setAs<capnp::Text>(text_reader(std::string(to_string(value))));
    }
    if constexpr (std::is_same_v<T, std::string>) {
      if (type.isText())
        out.setAs<capnp::Text>(text_reader(value));
      else
        out.setAs<capnp::Data>(data_reader(as_bytes(value)));
    } else if constexpr (kIs<std::optional, T>) {
      if (value) pointer(out, type, *value);
    } else if constexpr (!WireNumber<T>) {
      if constexpr (kIsList<T>) {
        if (type.isList()) return list(out, type.asList().getElementType(), value);
      }
      const WireStruct& wire = wire_struct<T>(type);
      write(out.initAsAnyStruct(wire.words, wire.pointers), wire, value, bulk_);
    }
  }

  template <class T>
  void list(capnp::AnyPointer::Builder out, const capnp::Type& type, const T& values) {
    using Element = typename T::value_type;
    const auto size = static_cast<unsigned>(values.size());
    if constexpr (kLaterFields != 0 && kIs<std::variant, Element>) {
      if (skips_) return write_with_later_kind(out, wire_struct<Element>(type), values);
    }
    if constexpr (std::is_same_v<Element, Buffer>) {
      fill(out.initAs<capnp::List<std::uint64_t>>(size), values, [](const Buffer& bytes) { return bytes.size(); });
      for (const Buffer& bytes : values) append(bytes);
    } else if constexpr (WireNumber<Element>) {
      fill(out.initAs<capnp::List<Number<Element>>>(size), values, to_number<Element>);
    } else if constexpr (std::is_same_v<Element, std::string>) {
      if (type.isText())
        fill(out.initAs<capnp::List<capnp::Text>>(size), values, text_reader);
      else
        fill(out.initAs<capnp::List<capnp::Data>>(size), values,
             [](const std::string& bytes) { return data_reader(as_bytes(bytes)); });
    } else {
      const WireStruct& wire = wire_struct<Element>(type);
      auto list = out.initAsListOfAnyStruct(wire.words, wire.pointers, size);
      if constexpr (is_flat<Element>()) {
        if (wire.flat && size != 0) return copy(values, list[0].getDataSection().begin(), wire);
      }
      unsigned i = 0;
      for (const auto& value : values) write(list[i++], wire, value, bulk_);
    }
  }

  template <class T>
  static void copy(const std::vector<T>& values, capnp::byte* to, const WireStruct& wire) {
    const std::size_t stride = (std::size_t{wire.words} + wire.pointers) * sizeof(capnp::word);
    for (const T& value : values) {
      std::memcpy(to, &value, sizeof(T));
      to += stride;
    }
  }

  template <class N>
  static void put_together(capnp::AnyPointer::Builder out, const Pieces<N>& value) {
    std::size_t size = 0;
    for (const std::span<const N> piece : value.pieces) size += piece.size();
    if (size == 0) return;
    auto list = out.initAs<capnp::List<N>>(static_cast<unsigned>(size));
    auto* to = const_cast<capnp::byte*>(capnp::AnyList::Reader(list.asReader()).getRawBytes().begin());  // which the builder owns
    for (const std::span<const N> piece : value.pieces) {
      if (!piece.empty()) std::memcpy(to, piece.data(), piece.size_bytes());
      to += piece.size_bytes();
    }
  }

  template <class List, class T, class Made>
  static void fill(List list, const T& values, Made made) {
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, made(values[i]));
  }

  /// Bytes are moved out of the message, which encode_versioned() has to itself when it has any.
  void append(const Buffer& bytes) {
    if (!bytes.empty()) bulk_.emplace_back(std::move(const_cast<Buffer&>(bytes)));
  }
  void append(const SharedBytes& bytes) {
    if (!bytes.bytes.empty()) bulk_.push_back(bytes);
  }
  static ByteView bytes_of(const Buffer& bytes) { return bytes.view(); }
  static ByteView bytes_of(const SharedBytes& bytes) { return bytes.bytes; }

  /// The list, and behind it an element of a kind that no reader of this release knows.
  template <class T>
  void write_with_later_kind(capnp::AnyPointer::Builder out, const WireStruct& wire, const T& values) {
    const auto size = static_cast<unsigned>(values.size());
    auto list = out.initAsListOfAnyStruct(wire.words, wire.pointers, size + 1);
    for (unsigned i = 0; i < size; ++i) write(list[i], wire, values[i], bulk_);
    constexpr std::uint16_t kLater = UINT16_MAX;
    std::memcpy(list[size].getDataSection().begin() + wire.choice * sizeof(kLater), &kLater, sizeof(kLater));
  }
  /// What no reader of this release knows.
  void write_later_fields() {
    std::memset(data_.end() - sizeof(capnp::word), 0xa5, sizeof(capnp::word));
    pointers_[pointers_.size() - 1].setAs<capnp::Text>("of a later release");
  }

  kj::ArrayPtr<capnp::byte> data_;
  capnp::List<capnp::AnyPointer>::Builder pointers_;
  Fields::const_iterator at_;
  std::vector<SharedBytes>& bulk_;
  bool skips_ = false;  // the struct has kSkipsUnknown
};

}  // namespace weft::rpc::detail
