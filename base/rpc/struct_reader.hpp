// Plain structs out of Cap'n Proto structs, as base/rpc/versioned.hpp says. Private to that header.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/rpc/bulk.hpp"
#include "base/rpc/capnp.hpp"
#include "base/rpc/wire_struct.hpp"

namespace weft::rpc::detail {

/// What belongs to a message and not to one of its structs.
struct ReadContext {
  BulkReader bulk{{}};
  bool may_skip = false;  // elements of unknown kinds, in lists of which T::kSkipsUnknown says so
  unsigned skipped = 0;   // how many were
};

/// Reads values from the fields of one struct, one after the other. Throws kj::Exception.
class StructReader {
 public:
  StructReader(capnp::AnyStruct::Reader in, const WireStruct& wire, ReadContext& context)
      : data_(in.getDataSection()), pointers_(in.getPointerSection()), at_(wire.fields.cbegin()), context_(context) {}

  template <class T>
  static void read(capnp::AnyStruct::Reader in, const WireStruct& wire, T& value, ReadContext& context) {
    StructReader reader(in, wire, context);
    if constexpr (kIs<std::variant, T>) {
      const auto chosen = reader.stored<std::uint16_t>(wire.choice);
      KJ_REQUIRE(chosen < std::variant_size_v<T>, "it is of a kind that this version does not know", chosen);
      reader.at_ += chosen;
      reader.choice(chosen, value, std::make_index_sequence<std::variant_size_v<T>>());
    } else {
      reader.fields(value);
    }
  }

 private:
  template <class T, std::size_t... I>
  void choice(std::size_t chosen, T& value, std::index_sequence<I...>) {
    ((I == chosen ? field(value.template emplace<I>()) : void()), ...);
  }

  template <class T>
  void fields(T& value) {
    skips_ = requires { T::kSkipsUnknown; };
    std::apply([&](auto&... part) { (field(part), ...); }, parts_of(value));
  }

  template <class T>
  void field(T& value) {
    if constexpr (HasWireForm<T>) {
      typename WireForm<T>::Wire wire{};
      field(wire);
      Result<T> made = WireForm<T>::from_wire(std::move(wire));
      if (!made) refuse(made.error());
      value = std::move(*made);
    } else if constexpr (SharedList<T>::value) {
      typename SharedList<T>::List list;
      field(list);
      value = std::make_shared<const typename SharedList<T>::List>(std::move(list));
    } else {
      own_field(value);
    }
  }

  template <class T>
  void own_field(T& value) {
    if constexpr (kIsPlain<T>) {
      if (in_place<T>(at_->type)) return fields(value);
    }
    if constexpr (OptionalNumber<T>::value) {
      if (!at_->type.isText()) return optional(value);
    }
    if constexpr (WireNumber<T>) {
      value = number<T>();
    } else if constexpr (kIsBytes<T>) {
      value = T(take(number<std::uint64_t>()));
    } else {
      const WireStruct::Field& at = *at_++;
      if constexpr (!std::is_empty_v<T>) {
        if (at.offset < pointers_.size()) pointer(pointers_[at.offset], at.type, value);
      }
    }
  }

  template <class T>
  void optional(std::optional<T>& value) {
    const bool flagged = at_->type.isBool(), there = flagged && number<bool>();
    const T read = number<T>();
    if (flagged ? there : read != T{}) value = read;
  }

  template <class T>
  T number() {
    const std::uint32_t offset = (at_++)->offset;
    if constexpr (std::is_same_v<T, bool>) {
      return offset / 8 < data_.size() && (data_[offset / 8] >> offset % 8 & 1) != 0;
    } else {
      return from_number<T>(stored<Number<T>>(offset));
    }
  }
  /// 0 where the writer knew no such field.
  template <class N>
  N stored(std::size_t offset) const {
    N number{};
    if ((offset + 1) * sizeof(number) <= data_.size())
      std::memcpy(&number, data_.begin() + offset * sizeof(number), sizeof(number));
    return number;
  }

  template <class T>
  void pointer(capnp::AnyPointer::Reader in, const capnp::Type& type, T& value) {
    if (in.isNull()) return;
    if constexpr (TextForm<T>) {
      if (type.isText()) return parse(text_view(in.getAs<capnp::Text>()), value);
    }
    if constexpr (std::is_same_v<T, std::string>) {
      if (type.isText())
        value = text_view(in.getAs<capnp::Text>());
      else
        value = as_chars(data_view(in.getAs<capnp::Data>()));
    } else if constexpr (kIs<std::optional, T>) {
      if (type.isText() && in.getAs<capnp::Text>().size() == 0 && TextForm<typename T::value_type>) return;
      pointer(in, type, value.emplace());
    } else if constexpr (!WireNumber<T>) {
      if constexpr (kIsList<T>) {
        if (type.isList()) return list(in, type.asList().getElementType(), value);
      }
      read(in.getAs<capnp::AnyStruct>(), wire_struct<T>(type), value, context_);
    }
  }

  template <class T>
  void list(capnp::AnyPointer::Reader in, const capnp::Type& type, T& values) {
    using Element = typename T::value_type;
    if constexpr (std::is_same_v<Element, Buffer>) {
      fill(in.getAs<capnp::List<std::uint64_t>>(), values, [this](std::uint64_t size) { return take(size); });
    } else if constexpr (WireNumber<Element>) {
      fill(in.getAs<capnp::List<Number<Element>>>(), values, from_number<Element>);
    } else if constexpr (std::is_same_v<Element, std::string>) {
      if (type.isText())
        fill(in.getAs<capnp::List<capnp::Text>>(), values, [](capnp::Text::Reader text) { return std::string(text_view(text)); });
      else
        fill(in.getAs<capnp::List<capnp::Data>>(), values,
             [](capnp::Data::Reader data) { return std::string(as_chars(data_view(data))); });
    } else {
      const WireStruct& wire = wire_struct<Element>(type);
      const auto any = in.getAs<capnp::AnyList>();
      KJ_REQUIRE(any.getElementSize() != capnp::ElementSize::BIT, "a list of structs has bits");
      const auto list = any.as<capnp::List<capnp::AnyStruct>>();
      constexpr unsigned kTrusted = 1024;  // elements may be empty: they take nothing of the message, and memory here
      KJ_REQUIRE(list.size() <= kTrusted || !is_empty(list[0]), "a list has more empty structs than are taken");
      if constexpr (kIs<std::vector, T>) values.reserve(std::min<unsigned>(list.size(), kTrusted));
      if constexpr (is_flat<Element>()) {
        if (wire.flat && list.size() != 0 && list[0].getDataSection().size() >= sizeof(Element)) return copy(list, values);
      }
      for (unsigned i = 0; i < list.size(); ++i) element(list[i], wire, values);
    }
  }
  static bool is_empty(capnp::AnyStruct::Reader element) {
    return element.getDataSection().size() == 0 && element.getPointerSection().size() == 0;
  }
  template <class List, class T, class Made>
  static void fill(List list, std::vector<T>& values, Made made) {
    values.reserve(list.size());
    for (const auto element : list) values.push_back(made(element));
  }
  /// All elements of a list have numbers of one size, one behind the other.
  template <class T>
  static void copy(const capnp::List<capnp::AnyStruct>::Reader& list, std::vector<T>& values) {
    const capnp::byte* from = list[0].getDataSection().begin();
    const std::ptrdiff_t stride = list.size() > 1 ? list[1].getDataSection().begin() - from : 0;
    values.resize(list.size());
    for (T& value : values) {
      std::memcpy(&value, from, sizeof(T));
      from += stride;
    }
  }
  template <class T>
  void element(capnp::AnyStruct::Reader in, const WireStruct& wire, std::vector<T>& values) {
    if constexpr (kIs<std::variant, T>) {
      if (skips_ && context_.may_skip &&
          StructReader(in, wire, context_).stored<std::uint16_t>(wire.choice) >= std::variant_size_v<T>) {
        ++context_.skipped;
        return;
      }
    }
    read(in, wire, values.emplace_back(), context_);
  }
  template <class T>
  void element(capnp::AnyStruct::Reader in, const WireStruct& wire, std::map<std::string, T>& values) {
    std::pair<std::string, T> entry;
    read(in, wire, entry, context_);
    values.insert_or_assign(std::move(entry.first), std::move(entry.second));
  }

  /// An empty text leaves the value as it is.
  template <class T>
  static void parse(std::string_view text, T& value) {
    if (text.empty()) return;
    const Result<void> parsed = from_text(text, value);
    if (!parsed) refuse(parsed.error());
  }
  Buffer take(std::uint64_t size) {
    auto bytes = context_.bulk.take(size);
    if (!bytes) refuse(bytes.error());
    return std::move(*bytes);
  }
  [[noreturn]] static void refuse(const Error& error) {
    const char* const reason = error.message().c_str();
    KJ_FAIL_REQUIRE("it cannot be read", reason);
  }

  kj::ArrayPtr<const capnp::byte> data_;
  capnp::List<capnp::AnyPointer>::Reader pointers_;
  Fields::const_iterator at_;
  ReadContext& context_;
  bool skips_ = false;  // the struct has kSkipsUnknown
};

}  // namespace weft::rpc::detail
