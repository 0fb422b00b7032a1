// Values<V>: the values of one key, as a single-pass range over records that may be in memory or on disk.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

#include "base/codec.hpp"

namespace weft::runtime {

/// Where values come from: encoded, one after another.
class ValueSource {
 public:
  virtual ~ValueSource() = default;
  /// False at the end. The bytes are valid until the next call.
  virtual bool next(ByteView& value) = 0;
};

/// A light handle; copies share the position, so that a const one can be read like any other. Valid while the operator's emit()
/// call runs. Views in a value are valid until the next value is read.
template <Encodable V>
class Values {
 public:
  using value_type = V;

  explicit Values(ValueSource& source) : source_(&source) {}

  /// The next value, or nothing at the end.
  std::optional<V> next() const {
    ByteView bytes;
    if (!source_->next(bytes)) return std::nullopt;
    Decoder in(bytes);
    return Codec<V>::decode(in);
  }

  /// Reads the rest of them into memory; what they refer to is copied. For groups that fit the memory of a task.
  std::vector<Owned<V>> to_vector() const {
    static_assert(!kHoldsViews<Owned<V>>,
                  "weft to_vector: the values have std::string_view members, which would be kept longer than their texts; use "
                  "std::string");
    std::vector<Owned<V>> owned;
    while (auto value = next()) owned.push_back(to_owned(std::move(*value)));
    return owned;
  }
  template <class U>
  operator std::vector<U>() const {  // NOLINT(google-explicit-constructor): never made, only explained
    static_assert(sizeof(U) == 0,
                  "weft Values: the values of a key may be more than fits in memory and can be read once; loop over "
                  "them, or take them all with values.to_vector()");
    return {};
  }

  class Iterator {
   public:
    using value_type = V;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    Iterator() = default;
    explicit Iterator(Values values) : source_(values.source_) { ++*this; }
    const V& operator*() const { return *value_; }
    const V* operator->() const { return &*value_; }
    Iterator& operator++() {
      value_ = Values(*source_).next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return !it.value_.has_value(); }

   private:
    ValueSource* source_ = nullptr;
    std::optional<V> value_;
  };

  Iterator begin() const { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  ValueSource* source_;
};

}  // namespace weft::runtime

/// Reads the rest of the values into a vector.
template <class V>
struct weft::OwnedType<weft::runtime::Values<V>> {
  using type = std::vector<Owned<V>>;
  static type from(runtime::Values<V> values) { return values.to_vector(); }
};
