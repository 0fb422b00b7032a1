// Records of (key, value) ordered by (hash of the key, key bytes), and the groups in that order. Below Grouper and Joiner.
//
//   record := key bytes of a number | value        or        varint size | key bytes | value
#pragma once

#include <cstring>
#include <functional>
#include <utility>

#include "base/codec.hpp"
#include "base/lean/algorithm.hpp"
#include "runtime/operators/record_sorter.hpp"
#include "runtime/operators/values.hpp"

namespace weft::runtime {

template <class K>
struct KeyedRecord {
  static void write_key(const K& key, Encoder& out, Encoder& scratch) {
    if constexpr (ScalarKey<K> || TextLike<K>) {
      Codec<K>::encode(key, out);
    } else {
      scratch.clear();
      Codec<K>::encode(key, scratch);
      out.append_varint(scratch.size());
      out.append(scratch.view());
    }
  }
  /// Takes the key's bytes off the front.
  static ByteView take_key(Decoder& in) {
    if constexpr (ScalarKey<K>) {
      return {in.take(sizeof(K)), sizeof(K)};
    } else {
      const std::size_t size = in.take_count();
      return {in.take(size), size};
    }
  }
  static std::uint64_t hash(ByteView key) {
    if constexpr (ScalarKey<K>) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, key.data(), sizeof(K));
      return hash_key_bits(bits);
    } else {
      return hash_key_bytes(key);
    }
  }
  static K load(ByteView key) {
    if constexpr (TextLike<K>) {
      return K(as_chars(key));
    } else {
      Decoder in(key);
      return Codec<K>::decode(in);
    }
  }
};

inline int compare_bytes(ByteView a, ByteView b) {
  const std::size_t common = std::min(a.size(), b.size());
  const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  return order != 0 ? order : a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

template <class K>
struct KeyedOrder {
  static constexpr bool kPrefixDecides = ScalarKey<K>;  // the hash of a number is a bijection
  static std::uint64_t prefix(ByteView record) { return KeyedRecord<K>::hash(key(record)); }
  static bool less(ByteView a, ByteView b) { return compare_bytes(key(a), key(b)) < 0; }
  static ByteView key(ByteView record) {
    Decoder in(record);
    return KeyedRecord<K>::take_key(in);
  }
};

/// The same, and the values of a key in the order of less(key_of(value), key_of(value)); equal ones as they were added. The order
/// is the user's: one that contradicts itself is found out as in other sorts.
template <class K, class V, class KeyFn, class Less>
class KeyedValueOrder {
 public:
  static constexpr bool kPrefixDecides = false;
  static constexpr bool kUserDefined = true;
  KeyedValueOrder(KeyFn key_of, Less less) : key_of_(std::move(key_of)), less_(std::move(less)) {}

  static std::uint64_t prefix(ByteView record) { return KeyedOrder<K>::prefix(record); }
  bool less(ByteView a, ByteView b) const {
    Decoder left(a), right(b);
    const int order = compare_bytes(KeyedRecord<K>::take_key(left), KeyedRecord<K>::take_key(right));
    if (order != 0) return order < 0;
    const V x = Codec<V>::decode(left), y = Codec<V>::decode(right);
    return static_cast<bool>(std::invoke(less_, std::invoke(key_of_, x), std::invoke(key_of_, y)));
  }

 private:
  [[no_unique_address]] KeyFn key_of_;
  [[no_unique_address]] Less less_;
};

/// Collects records, then is the source of one group's values after another.
template <class K, class Order = KeyedOrder<K>>
class KeyedSorter final : public ValueSource {
 public:
  KeyedSorter(OperatorContext& context, const char* operator_name, Order order = Order())
      : sorter_(context, operator_name, std::move(order)) {}

  template <class V>
  void add(const K& key, const V& value) {
    Encoder& out = begin(key);
    Codec<V>::encode(value, out);
    sorter_.end(hash_);
  }
  void add_encoded(const K& key, ByteView value) {
    begin(key).append(value);
    sorter_.end(hash_);
  }
  void spill_all() { sorter_.spill_all(); }
  void finish() { sorter_.finish(); }

  /// Goes to the next group, skipping what is left of this one. False at the end.
  bool next_group() {
    ByteView skipped;
    while (next(skipped)) continue;
    if (!at_next_ && !sorter_.next()) return false;
    at_next_ = false;
    fresh_ = true;
    hash_ = sorter_.prefix();
    Decoder in(sorter_.record());
    const ByteView key = KeyedRecord<K>::take_key(in);
    key_.clear();
    key_.append(key);
    value_ = in.rest();
    in_group_ = true;
    return true;
  }

  /// The next value of the group.
  bool next(ByteView& value) override {
    if (!in_group_) return false;
    if (!std::exchange(fresh_, false)) {
      if (!sorter_.next()) return in_group_ = false;
      Decoder in(sorter_.record());
      if (sorter_.prefix() != hash_ || compare_bytes(KeyedRecord<K>::take_key(in), key_.view()) != 0) {
        at_next_ = true;
        return in_group_ = false;
      }
      value_ = in.rest();
    }
    value = value_;
    return true;
  }

  /// The key of the group; views in it are valid until next_group().
  K key() const { return KeyedRecord<K>::load(key_.view()); }

  /// How the groups of two sorters are ordered: < 0, 0, > 0.
  int compare_group(const KeyedSorter& other) const {
    if (hash_ != other.hash_) return hash_ < other.hash_ ? -1 : 1;
    return compare_bytes(key_.view(), other.key_.view());
  }

 private:
  Encoder& begin(const K& key) {
    hash_ = key_hash(key);
    Encoder& out = sorter_.begin();
    KeyedRecord<K>::write_key(key, out, key_);
    return out;
  }

  RecordSorter<Order> sorter_;
  Encoder key_;
  std::uint64_t hash_ = 0;
  ByteView value_;
  bool in_group_ = false;
  bool fresh_ = false;    // value_ has not been given out
  bool at_next_ = false;  // the sorter already stands on the next group's first record
};

}  // namespace weft::runtime
